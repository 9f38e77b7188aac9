"""The caches of conversations between their turns, within a budget of bytes."""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field

from engine.guard import Guard, Times
from engine.proposers import Drafter
from engine.proposers.copy import PromptCopy
from engine.session import Session


@dataclass(slots=True)
class Kept:
    """What a conversation leaves behind for its next turn."""

    session: Session
    guard: Guard
    drafter: Drafter | None = None
    copies: PromptCopy = field(default_factory=PromptCopy)

    @property
    def nbytes(self) -> int:
        """Bytes of the target's and the drafter's memory of the text."""
        return self.session.cache.nbytes + (self.drafter.nbytes() if self.drafter else 0)

    def resume(self, prompt: Sequence[int]) -> int:
        """Go back to what all parts share with a new prompt; returns the rows reused."""
        reused = self.session.resume(prompt)
        self.copies.forget(reused)
        if self.drafter is not None:
            self.drafter.forget(reused)
        return reused

    def feed(self, ids: Sequence[int]) -> None:
        """Append prompt tokens to all parts."""
        rows = self.session.feed(ids)
        if self.drafter is not None and rows.taps is not None:
            self.drafter.observe(ids, rows.taps)

    def settle(self) -> None:
        """End a reply: every part ends where the session's rows do."""
        self.session.settle()
        self.copies.forget(len(self.session.tokens))
        if self.drafter is not None:
            self.drafter.forget(self.session.cache.length)


class Sessions:
    """Least recently used conversations are dropped first; the newest always stays."""

    def __init__(self, budget: int) -> None:
        self._budget = budget
        self._kept: OrderedDict[str, Kept] = OrderedDict()
        self.times = Times()

    def take(self, conversation: str | None) -> Kept | None:
        """Hand out what is kept of a conversation; it is kept again by `put`."""
        return None if conversation is None else self._kept.pop(conversation, None)

    def put(self, conversation: str | None, kept: Kept) -> None:
        """Keep it as the most recent, and drop what exceeds the budget."""
        if conversation is None:
            return
        self._kept[conversation] = kept
        while len(self._kept) > 1 and self.nbytes > self._budget:
            self._kept.popitem(last=False)

    def forget(self, conversation: str) -> None:
        """Drop one conversation."""
        self._kept.pop(conversation, None)

    def bytes_of(self, conversation: str) -> int:
        """Bytes of the caches of one conversation, 0 if none are kept."""
        kept = self._kept.get(conversation)
        return 0 if kept is None else kept.nbytes

    @property
    def nbytes(self) -> int:
        """Bytes of all caches."""
        return sum(kept.nbytes for kept in self._kept.values())
