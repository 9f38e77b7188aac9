"""What one round did, as the session tells it."""

import time
from dataclasses import dataclass

import mlx.core as mx

from engine.events import Mode


@dataclass(frozen=True, slots=True)
class Step:
    """What one round did, before its end is cut. Times are seconds.

    `settle_s` is the part of `verify_s` that went into rows written anew for a near-tie. Nothing is
    committed when that was stopped.
    """

    mode: Mode
    proposed: tuple[int, ...]
    accepted: int
    committed: tuple[int, ...]  # the accepted proposals, then the target's own token
    gap: float | None
    draft_s: float
    verify_s: float
    width: int
    recheck: bool = False
    settle_s: float = 0.0
    sound: bool = True  # False: the drafter's numbers were broken and its guesses dropped
    fed: tuple[int, ...] = ()  # tokens whose rows are now in the cache
    taps: mx.array | None = None  # (len(fed), taps * hidden)

    @property
    def rejected_id(self) -> int | None:
        """The first proposal that was wrong, None if none was."""
        at = self.accepted
        if at >= len(self.proposed) or at >= len(self.committed):
            return None
        return self.proposed[at]


def stopped(mode: Mode, begun: float) -> Step:
    """A round that began at the clock's `begun` and was stopped before it committed anything."""
    return Step(mode, (), 0, (), None, 0.0, time.perf_counter() - begun, 1)
