"""How a family's model is run layer by layer, so that its inner streams can be read."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import mlx.core as mx

from engine.layers import LayerCache


@dataclass(frozen=True, slots=True)
class Pass:
    """What the layers say about `n` rows.

    Attributes:
        stream: (1, n, hidden) after the last layer, before the final norm.
        taps: (n, taps * hidden), the streams after the tapped layers side by side, or None.
    """

    stream: mx.array
    taps: mx.array | None = None


class Adapter(Protocol):
    """The modules of one mlx-lm model, called in order. Bit-equal to the model's own call."""

    def caches(self) -> list[LayerCache]:
        """Empty caches in layer order, each able to take its newest rows back."""
        ...

    def run(self, ids: mx.array, caches: Sequence[LayerCache], tapped: Sequence[int]) -> Pass:
        """Append `ids` (1, n) to the caches; `tapped` are layer indices, ascending."""
        ...

    def head(self, stream: mx.array) -> mx.array:
        """Logits (1, n, vocab) of a stream: final norm and head."""
        ...
