"""What a reply says about its drafting."""

from engine.events import DraftingState, Round
from support.chain import ChainDrafter, ChainTarget, write


def test_that_a_drafter_with_broken_numbers_is_left_and_said_to_be():
    plain, _ = write(ChainTarget(), [8, 9], max_tokens=30)
    drafter = ChainDrafter(breaks_at=3)
    events, _ = write(ChainTarget(), [8, 9], drafter=drafter, max_tokens=30)
    assert events[-1].token_ids == plain[-1].token_ids
    assert drafter.calls == 3
    [state] = [e for e in events if isinstance(e, DraftingState)]
    assert (state.state, events[-1].drafting) == ("off", "off")
    assert "drafter" in state.reason
    after = events[events.index(state) :]
    assert {e.mode for e in after if isinstance(e, Round)} == {"plain"}


def test_that_the_counts_are_those_of_the_rounds():
    events, _ = write(ChainTarget(), [8, 9], drafter=ChainDrafter(), drafts=1, max_tokens=22)
    done, rounds = events[-1], [e for e in events if isinstance(e, Round)]
    # The first token comes alone, the second for its time, then ten rounds of a draft and a token.
    assert [len(r.committed_ids) for r in rounds] == [1, 1] + [2] * 10
    assert (done.proposed, done.accepted) == (10, 10)
    assert done.acceptance_length == 2.0
    assert done.proposed_at == done.accepted_at == (10,)
    assert done.speedup is None  # fewer than eight plain steps were timed


def test_that_three_matching_tokens_are_copied_only_where_no_drafter_can_be_asked():
    prompt = [9, 10, 11, 12, 13, 14, 15, 16, 50, 9]  # the chain goes on with 10, 11, 12 …

    def modes(**fields):
        events, _ = write(ChainTarget(), prompt, copies=True, max_tokens=8, **fields)
        assert events[-1].token_ids == (10, 11, 12, 13, 14, 15, 16, 17)
        return [(e.mode, len(e.committed_ids)) for e in events if isinstance(e, Round)]

    # After 10 and 11 three tokens match.
    assert modes() == [("plain", 1), ("plain", 1), ("copy", 6)]
    asked = [("plain", 1), ("plain", 1), ("drafter", 2), ("copy", 4)]
    assert modes(drafter=ChainDrafter(), drafts=1) == asked
