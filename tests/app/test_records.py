import random
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.conversation import DraftMark
from app.records import Trace, UnreadableError, ids_to_bytes, packed, unpacked
from engine.events import Round

ids = st.lists(st.integers(0, 300_000), max_size=9).map(tuple)
maybe_id = st.none() | st.integers(0, 300_000)
finite = st.floats(allow_nan=False)
rounds = st.builds(
    Round,
    index=st.integers(0, 2**32 - 1),
    mode=st.sampled_from(["drafter", "copy", "plain"]),
    proposed_ids=ids,
    accepted=st.integers(0, 600),
    committed_ids=ids,
    rejected_id=maybe_id,
    target_id=maybe_id,
    gap=st.none() | finite,
    draft_ms=finite,
    verify_ms=finite,
    width=st.integers(0, 600),
    recheck=st.booleans(),
)
marks = st.builds(
    DraftMark, st.integers(0, 10_000), st.sampled_from(["on", "paused", "off"]), st.text()
)
spans = st.tuples(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**6)).map(
    lambda t: (t[0], t[0] + t[1], t[2])
)


@given(st.lists(st.lists(rounds | marks | spans, max_size=8), max_size=4))
def test_that_a_trace_comes_back_equal_however_it_was_cut_into_parts(parts):
    flat = [record for part in parts for record in part]
    expected = Trace(
        tuple(r for r in flat if isinstance(r, Round)),
        tuple(r for r in flat if isinstance(r, DraftMark)),
        tuple(r for r in flat if isinstance(r, tuple)),
    )
    assert unpacked([packed(part) for part in parts]) == expected


@given(st.lists(rounds | marks | spans, min_size=1, max_size=5), st.data())
def test_that_any_changed_or_missing_byte_is_noticed(records, data):
    part = packed(records)
    at = data.draw(st.integers(0, len(part) - 1))
    flipped = part[:at] + bytes([part[at] ^ data.draw(st.integers(1, 255))]) + part[at + 1 :]
    for broken in (flipped, part[:at], part[at + 1 :]):
        with pytest.raises(UnreadableError):
            unpacked([broken])


def part_of(payload):
    body = b"\x01" + zlib.compress(payload)
    return body + zlib.crc32(body).to_bytes(4, "little")


@pytest.mark.parametrize(
    "payload",
    [b"", bytes(8), bytes(7), ids_to_bytes((1, 0)), ids_to_bytes((0, 1)) + b"[]", bytes(8) + b"{", bytes(8) + b"7",
     bytes(8) + b'[[1, "odd", "why"]]', bytes(8) + b"[[1]]", bytes(8) + b"\xff",
     ids_to_bytes((1, 0)) + b"\x03" + ids_to_bytes([0] * 7) + bytes(16) + b"[]"],
)  # fmt: skip
def test_that_a_part_with_a_right_checksum_and_wrong_content_is_unreadable(payload):
    with pytest.raises(UnreadableError):
        unpacked([part_of(payload)])


@pytest.mark.parametrize("body", [b"\x02", b"\x01not compressed"])
def test_that_a_part_of_another_version_or_kind_is_unreadable(body):
    with pytest.raises(UnreadableError):
        unpacked([body + zlib.crc32(body).to_bytes(4, "little")])


def test_that_a_token_costs_less_than_sixty_bytes_also_when_every_token_is_a_measured_round():
    chance = random.Random(3)
    records = []
    for index in range(1_000):  # the worst case: nothing was accepted
        wrong, right = chance.sample(range(150_000), 2)
        gap, draft, verify = chance.random(), chance.random(), 30 * chance.random()
        records.append(
            Round(index, "copy", (wrong,), 0, (right,), wrong, right, gap, draft, verify, 2)
        )
        records.append((index * 4, index * 4 + 4, index))
    parts = [
        packed(records[at : at + 60]) for at in range(0, len(records), 60)
    ]  # saved each second
    assert sum(map(len, parts)) / 1_000 < 60
    assert len(packed(records)) / 1_000 < 45
