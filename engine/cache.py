"""What the target remembers of a text, and how to take the newest part of it back."""

from collections.abc import Sequence

import mlx.core as mx

from engine.layers import LayerCache


class Cache:
    """The layer caches of one target for one text, in layer order, all of the same `length`."""

    def __init__(self, layers: Sequence[LayerCache]) -> None:
        self.layers = list(layers)
        self.length = 0

    @property
    def nbytes(self) -> int:
        """Bytes of keys and values held."""
        return sum(layer.nbytes for layer in self.layers)

    def grew(self, n: int) -> None:
        """Note that a forward pass has appended `n` rows to every layer."""
        self.length += n

    def can_rollback(self, length: int) -> bool:
        """Whether `rollback(length)` can be exact; a sliding window forgets what is far back."""
        if not 0 <= length <= self.length:
            return False
        return all(
            layer.can_rollback(length) if hasattr(layer, "can_rollback") else layer.is_trimmable()
            for layer in self.layers
        )

    def reachable(self, length: int) -> int:
        """The largest length up to `length` that `rollback` reaches exactly; 0 if none does."""
        if self.can_rollback(length):
            return length
        known = {at for layer in self.layers for at in getattr(layer, "snapshots", ())}
        return max((at for at in known if at <= length and self.can_rollback(at)), default=0)

    def remember(self, length: int) -> None:
        """Make sure that `length` stays reachable, now or once the text has grown to it."""
        for layer in self.layers:
            if hasattr(layer, "remember"):
                layer.remember(length)

    def rollback(self, length: int) -> None:
        """Forget every row from `length` on.

        Raises:
            AssertionError: a layer could not forget that much, so the layers would disagree.
        """
        surplus = self.length - length
        assert surplus >= 0, (self.length, length)
        if surplus == 0:
            return
        for layer in self.layers:
            trimmed = layer.trim(surplus)
            assert trimmed == surplus, (type(layer).__name__, trimmed, surplus)
        self.length = length

    def settle(self) -> None:
        """Evaluate the rows: what is left lazy belongs to the thread and the graph that made it."""
        mx.eval([layer.state for layer in self.layers if self.length])
