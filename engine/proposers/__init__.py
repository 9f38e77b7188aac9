"""Everything that guesses the target's next tokens. A wrong guess costs time, never a word."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import mlx.core as mx

from engine.events import Mode
from engine.request import Sampling


@dataclass(frozen=True, slots=True)
class Context:
    """What a proposer is told before a round.

    Attributes:
        tokens: every committed token; the last one is pending, that is not yet in a cache.
        first: the reply's index of the first token to be proposed, for the shared noise.
        sampling: how the target draws.
    """

    tokens: Sequence[int]
    first: int
    sampling: Sampling


@dataclass(frozen=True, slots=True)
class Proposal:
    """Guesses for the tokens after the pending one.

    Attributes:
        mode: who guessed.
        ids: (k,) uint32, not necessarily evaluated.
        sound: a float32 scalar, 0 when the drafter met a NaN or an impossible id; None: sure.
    """

    mode: Mode
    ids: mx.array
    sound: mx.array | None = None


class Drafter(Protocol):
    """Proposes for one text. It never touches the target's caches."""

    def propose(self, context: Context, k: int) -> Proposal:
        """Guess `k` tokens after the pending one. Lazy: nothing is read from the device."""
        ...

    def observe(self, tokens: Sequence[int], taps: mx.array) -> None:
        """Take in committed tokens with their rows (n, taps * hidden). Staged, absorbed later."""
        ...

    def forget(self, length: int) -> None:
        """Drop what was observed from position `length` of the text on."""
        ...

    def nbytes(self) -> int:
        """Bytes of context held for this text."""
        ...


class DrafterModel(Protocol):
    """A loaded drafter, bound to its target.

    Attributes:
        name: of its folder.
        tapped: the target's layers whose streams it wants, ascending.
        block: the tokens it was trained to propose at once.
        most: the tokens it can propose at once when it is asked for more.
        nbytes: bytes of its own weights.
    """

    name: str
    tapped: tuple[int, ...]
    block: int
    most: int
    nbytes: int

    def start(self) -> Drafter:
        """A drafter for a new text."""
        ...
