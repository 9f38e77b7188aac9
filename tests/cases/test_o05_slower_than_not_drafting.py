"""O-05: a drafter that is slow and always wrong."""

from engine.events import DraftingState, Round
from support.chain import ChainDrafter, ChainTarget, write


def test_that_a_hopeless_drafter_is_paused_and_said_to_be():
    plain, _ = write(ChainTarget(), [8, 9], max_tokens=512)
    drafter = ChainDrafter(shift=1, ms=8)
    events, _ = write(
        ChainTarget(ms=10), [8, 9], drafter=drafter, drafts=4, wish="auto", max_tokens=512
    )
    done = events[-1]
    assert done.token_ids == plain[-1].token_ids
    rounds = [e for e in events if isinstance(e, Round)]
    late = [r for r in rounds if r.mode == "drafter" and r.index >= 32]
    assert len(late) <= len(done.token_ids) / 8
    assert drafter.calls <= 40
    assert (done.accepted, done.drafting) == (0, "paused")
    assert done.proposed > 0
    assert done.speedup is not None
    assert done.speedup <= 512 / (512 - 40)  # even if its 40 rounds had taken no time
    states = [e for e in events if isinstance(e, DraftingState)]
    assert states[-1].state == "paused"
    assert states[-1].drafted_rate <= states[-1].plain_rate
