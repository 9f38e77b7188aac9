"""Drafting that is kept on by a person although plain decoding is faster."""

import math

from engine.controls import Controls
from engine.events import DraftingState, Round
from engine.guard import Guard, Times
from support.chain import ChainDrafter, ChainTarget, write


def slow(guard, rounds):
    """Rounds of a drafter that is never right and takes as long as the target."""
    depths = []
    for _ in range(rounds):
        depth = guard.drafter_depth(4)
        if depth:
            guard.saw("drafter", depth, 0, 1.0 + depth)
        else:
            guard.saw_plain(1.0)
        depths.append(depth)
    return depths


def test_that_a_paused_guard_drafts_on_while_it_is_wished_and_says_what_loses():
    guard = Guard(Times())
    slow(guard, 60)
    assert (guard.paused("drafter"), guard.kept_on("drafter")) == (True, False)
    guard.always = True
    assert all(slow(guard, 60))
    assert (guard.paused("drafter"), guard.kept_on("drafter")) == (False, True)
    guard.always = False
    assert (guard.paused("drafter"), guard.kept_on("drafter")) == (True, False)
    assert sum(d > 0 for d in slow(guard, 60)) <= 8


def test_that_a_drafter_that_begins_to_lose_while_it_is_wished_is_said_to():
    guard = Guard(Times(), always=True)
    guard.saw_plain(1.0)
    assert all(slow(guard, 40))
    assert guard.kept_on("drafter")


def test_that_a_drafter_that_pays_is_not_said_to_be_kept_on():
    guard = Guard(Times(), always=True)
    guard.saw_plain(1.0)
    for _ in range(40):
        depth = guard.drafter_depth(4)
        guard.saw("drafter", depth, depth, 1.0 + 0.1 * depth)
    assert not guard.kept_on("drafter")


def test_that_nothing_is_said_to_lose_before_plain_decoding_was_timed():
    guard = Guard(Times(), always=True)
    for _ in range(20):
        guard.saw("drafter", guard.drafter_depth(4), 0, 2.0)
    assert not guard.kept_on("drafter")


def test_that_insisting_in_a_reply_holds_until_it_is_taken_back():
    controls, seen = Controls(), []

    class Target(ChainTarget):
        """Sees how often it is asked, and plays the person."""

        def forward(self, ids, cache):
            if self.forwards == 60:
                controls.insist = True
            if self.forwards == 100:
                controls.insist = False
            seen.append((self.forwards, len(ids)))
            return super().forward(ids, cache)

    plain, _ = write(ChainTarget(), [8, 9], max_tokens=150)
    events, _ = write(
        Target(ms=10), [8, 9], drafter=ChainDrafter(shift=1, ms=8), drafts=4, wish="auto",
        max_tokens=150, controls=controls,
    )  # fmt: skip
    assert events[-1].token_ids == plain[-1].token_ids
    widths = dict(seen)
    assert all(widths[n] > 1 for n in range(65, 100))
    assert sum(widths[n] > 1 for n in range(105, len(widths))) <= 8
    states = [e for e in events if isinstance(e, DraftingState)]
    told = [state.state for state in states]
    assert told[told.index("paused") :] == ["paused", "on", "paused"]
    on = states[-2]
    low, high = math.floor(on.drafted_rate), math.ceil(on.plain_rate)
    assert on.reason == f"Kept on as you wish: {low} tokens a second, {high} without guesses."
    assert low < high
    assert events[-1].drafting == "paused"


def test_that_a_conversation_that_insists_never_pauses():
    events, _ = write(
        ChainTarget(ms=10), [8, 9], drafter=ChainDrafter(shift=1, ms=8), drafts=4, wish="on",
        max_tokens=80,
    )  # fmt: skip
    rounds = [e for e in events if isinstance(e, Round)]
    assert all(r.mode == "drafter" for r in rounds[2:-1])
    assert "paused" not in [e.state for e in events if isinstance(e, DraftingState)]
