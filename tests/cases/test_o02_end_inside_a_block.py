"""O-02: an end token inside an accepted block, and a length cap in the same block."""

import pytest

from support.chain import ChainDrafter, ChainTarget, write

EOS = 63
SHORT = {9: 10, 10: 11, 11: EOS, EOS: 20, 20: 21, 21: 22}
LONG = {9: 10, 10: 11, 11: 12, 12: 13, 13: 14, 14: EOS, EOS: 20}


@pytest.mark.parametrize("drafting", [False, True], ids=["plain", "drafted"])
@pytest.mark.parametrize(
    ("table", "cap", "ids", "reason"),
    [
        (SHORT, 5, (10, 11), "stop"),
        (SHORT, 2, (10, 11), "length"),
        (SHORT, 3, (10, 11), "stop"),
        (LONG, 5, (10, 11, 12, 13, 14), "length"),
    ],
)
def test_that_nothing_past_the_end_is_written(table, cap, ids, reason, drafting):
    drafter = ChainDrafter(table) if drafting else None
    events, session = write(ChainTarget(table), [8, 9], drafter=drafter, ends={EOS}, max_tokens=cap)
    done = events[-1]
    assert (done.token_ids, done.reason) == (ids, reason)
    assert done.text == "".join(f"{i} " for i in ids)
    assert not {20, 21, 22} & set(session.tokens)
    assert session.cache.length < len(session.tokens) <= 2 + len(ids) + 1
    if drafter is not None:
        assert drafter.rows <= session.cache.length


@pytest.mark.parametrize("drafting", [False, True], ids=["plain", "drafted"])
def test_that_a_stop_string_inside_a_block_ends_it(drafting):
    drafter = ChainDrafter() if drafting else None
    events, session = write(ChainTarget(), [8, 9], drafter=drafter, stop=("13 1",), max_tokens=20)
    done = events[-1]
    assert (done.text, done.reason) == ("10 11 12 ", "stop")
    assert done.token_ids == (10, 11, 12, 13, 14)
    assert session.tokens == [8, 9, 10, 11, 12, 13, 14]


@pytest.mark.parametrize("drafting", [False, True], ids=["plain", "drafted"])
def test_that_the_context_ends_a_reply(drafting):
    drafter = ChainDrafter() if drafting else None
    events, session = write(ChainTarget(), [8, 9], drafter=drafter, limit=7, max_tokens=20)
    assert (events[-1].token_ids, events[-1].reason) == ((10, 11, 12, 13, 14), "context")
    assert len(session.tokens) == 7
