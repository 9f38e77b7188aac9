"""The caches of conversations between their turns, within a budget of bytes."""

from collections import OrderedDict
from dataclasses import dataclass, field

from engine.guard import Guard, Times
from engine.proposers.copy import PromptCopy
from engine.session import Session


@dataclass(slots=True)
class Kept:
    """What a conversation leaves behind for its next turn."""

    session: Session
    guard: Guard
    copies: PromptCopy = field(default_factory=PromptCopy)


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

    @property
    def nbytes(self) -> int:
        """Bytes of all caches."""
        return sum(kept.session.cache.nbytes for kept in self._kept.values())
