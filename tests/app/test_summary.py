import math
import zlib
from dataclasses import replace

import pytest

from app.records import UnreadableError
from app.summary import PIECE_IDS, packed_summary, unpacked_summary
from engine.events import Finished
from engine.origin import Machine, Origin
from engine.request import Sampling

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
    end_id=2,
    passes=((40, 512), (1, 1)),
    origin=Origin(
        "/m",
        "a1",
        "/d",
        "b2",
        Machine("1", "0.3", "0.2", "cpu reference", "chip", "Linux"),
        "exact",
        Sampling(0.7, 0.9, seed=2**64 - 1),
    ),
)


@pytest.mark.parametrize(("text", "thinking"), [("said", "thought"), ("said on", ""), ("", "x")])
def test_that_a_summary_comes_back_equal_whatever_the_message_keeps(text, thinking):
    summary = packed_summary(FINISHED, text, thinking)
    assert unpacked_summary(summary.body, text, thinking, summary.pieces.get) == FINISHED


@pytest.mark.parametrize("length", [0, 1, PIECE_IDS - 1, PIECE_IDS, PIECE_IDS + 1])
def test_that_a_prompt_of_any_length_comes_back(length):
    finished = replace(FINISHED, prompt_ids=tuple(range(length)))
    summary = packed_summary(finished, "", "")
    assert unpacked_summary(summary.body, "", "", summary.pieces.get) == finished


def test_that_without_the_pieces_only_the_prompt_is_missing():
    body = packed_summary(FINISHED, "said", "").body
    assert unpacked_summary(body, "said", "") == replace(FINISHED, prompt_ids=())


def test_that_a_longer_prompt_shares_the_pieces_of_the_shorter():
    longer = replace(FINISHED, prompt_ids=(*FINISHED.prompt_ids, 1, 2, 3))
    one, two = packed_summary(FINISHED, "", ""), packed_summary(longer, "", "")
    assert len(two.pieces) > 30
    assert len(two.pieces.keys() - one.pieces.keys()) == 1


def test_that_a_summary_with_a_rate_that_is_no_number_comes_back():
    finished = Finished("stop", (), (), "", 0, 0, 0, math.inf, "off")
    assert unpacked_summary(packed_summary(finished, "", "").body, "", "") == finished


@pytest.mark.parametrize(
    "body",
    [b"", b"not zlib", zlib.compress(b"{"), zlib.compress(b"[]\0"), zlib.compress(b"{}\0"), zlib.compress(b"\xff\0"),
     zlib.compress(b'{"reason": "stop", "pieces": 0}\0'), zlib.compress(b'{"pieces": "x"}\0'),
     zlib.compress(b'{"pieces": 0}\0\1\2\3')],
)  # fmt: skip
def test_that_a_broken_summary_is_unreadable(body):
    with pytest.raises(UnreadableError):
        unpacked_summary(body, "", "", {}.get)


def test_that_a_prompt_with_a_lost_or_changed_piece_is_unreadable():
    summary = packed_summary(FINISHED, "", "")
    spoiled = {digest: zlib.compress(b"abcd") for digest in summary.pieces}
    for pieces in ({}, spoiled, dict.fromkeys(summary.pieces, b"not zlib")):
        with pytest.raises(UnreadableError):
            unpacked_summary(summary.body, "", "", pieces.get)


def test_that_a_field_of_a_later_version_is_passed_over():
    summary = packed_summary(FINISHED, "said", "thought")
    body = zlib.decompress(summary.body)
    later = zlib.compress(body.replace(b'{"reason"', b'{"later": 1, "reason"', 1))
    assert later != summary.body
    assert unpacked_summary(later, "said", "thought", summary.pieces.get) == FINISHED
