import math
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.conversation import DraftMark
from app.records import (
    Trace,
    UnreadableError,
    packed,
    packed_summary,
    unpacked,
    unpacked_summary,
)
from engine.events import Finished, Round

ids = st.lists(st.integers(0, 300_000), max_size=9).map(tuple)
maybe_id = st.none() | st.integers(0, 300_000)
finite = st.floats(allow_nan=False)
rounds = st.builds(
    Round,
    index=st.integers(0, 2**40),
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


@pytest.mark.parametrize(
    "body",
    [
        b"\x02",
        b"\x01\x03",
        b"\x01\x0c",
        b"\x01\x00\x80",
        b"\x01\x01\x00\x05ab",
        b"\x01\x01\x00\x01\xff",
    ],
    ids=["version", "kind", "mode", "number", "short text", "not text"],
)
def test_that_a_part_with_a_right_checksum_and_wrong_content_is_unreadable(body):
    if body == b"\x01\x0c":  # a round of mode 3, otherwise whole
        body += bytes(7) + bytes(8)
    with pytest.raises(UnreadableError):
        unpacked([body + zlib.crc32(body).to_bytes(4, "little")])


FINISHED = Finished(
    reason="stop",
    prompt_ids=tuple(range(0, 60_000, 7)),
    token_ids=(5, 6, 7),
    text="said",
    rounds=2,
    proposed=3,
    accepted=1,
    tokens_per_s=12.5,
    drafting="paused",
    thinking="thought",
    plain_ms=None,
    saved_s=(0.25, 1.5),
    accepted_at=(3, 2),
    proposed_at=(4, 3),
    replay=(40, 1),
)


@pytest.mark.parametrize(("text", "thinking"), [("said", "thought"), ("said on", ""), ("", "x")])
def test_that_a_summary_comes_back_equal_whatever_the_message_keeps(text, thinking):
    body = packed_summary(FINISHED, text, thinking)
    assert unpacked_summary(body, text, thinking) == FINISHED


def test_that_a_summary_with_a_rate_that_is_no_number_comes_back():
    finished = Finished("stop", (), (), "", 0, 0, 0, math.inf, "off")
    assert unpacked_summary(packed_summary(finished, "", ""), "", "") == finished


@pytest.mark.parametrize(
    "body",
    [b"", b"not zlib", zlib.compress(b"{"), zlib.compress(b"[]\0\0\0"), zlib.compress(b"{}\0\0\0"),
     zlib.compress(b'{"reason": "stop"}\0\x05')],
)  # fmt: skip
def test_that_a_broken_summary_is_unreadable(body):
    with pytest.raises(UnreadableError):
        unpacked_summary(body, "", "")


def test_that_a_field_of_a_later_version_is_passed_over():
    body = zlib.decompress(packed_summary(FINISHED, "said", "thought"))
    later = zlib.compress(body.replace(b'{"reason"', b'{"later": 1, "reason"', 1))
    assert unpacked_summary(later, "said", "thought") == FINISHED


def test_that_a_token_costs_less_than_sixty_bytes():
    tokens, records = 0, []
    for index in range(1_000):  # worst case: every round one token, all measured
        records.append(
            Round(index, "copy", (150_000,), 0, (151_000,), 150_000, 151_000, 0.123, 0.9, 31.7, 2)
        )
        records.append((index * 4, index * 4 + 4, index))
        tokens += 1
    assert len(packed(records)) / tokens < 60
