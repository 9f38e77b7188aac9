"""What a DSpark drafter remembers of a text: one key and one value a row and layer.

Written in place with room for a block behind them, as in mlx-dspark 0.20.3.
"""

import mlx.core as mx

_STEP = 512  # rows a buffer grows by at least


class Buffer:
    """Rows (1, heads, n, dim) of one layer, with a tail for a block that is never kept."""

    def __init__(self) -> None:
        self.length = 0
        self._keys: mx.array | None = None
        self._values: mx.array | None = None

    @property
    def arrays(self) -> list[mx.array]:
        """What is held."""
        return [] if self._keys is None or self._values is None else [self._keys, self._values]

    def append(self, keys: mx.array, values: mx.array) -> None:
        """Keep rows."""
        self._written(keys, values)
        self.length += keys.shape[2]

    def with_block(self, keys: mx.array, values: mx.array) -> tuple[mx.array, mx.array]:
        """All rows and the block's behind them; the next append overwrites the block."""
        held_keys, held_values = self._written(keys, values)
        end = self.length + keys.shape[2]
        return held_keys[..., :end, :], held_values[..., :end, :]

    def _written(self, keys: mx.array, values: mx.array) -> tuple[mx.array, mx.array]:
        n, at = keys.shape[2], self.length
        held_keys, held_values = self._keys, self._values
        if held_keys is None or held_values is None or at + n > held_keys.shape[2]:
            # A quarter more each time: the cost of growing stays a small part of the text's.
            capacity = -(-(at + n + at // 4) // _STEP) * _STEP
            held_keys = _grown(held_keys, keys, at, capacity)
            held_values = _grown(held_values, values, at, capacity)
        held_keys[..., at : at + n, :] = keys
        held_values[..., at : at + n, :] = values
        self._keys, self._values = held_keys, held_values
        return held_keys, held_values


def _grown(held: mx.array | None, like: mx.array, used: int, capacity: int) -> mx.array:
    spare = mx.zeros((*like.shape[:2], capacity - used, like.shape[3]), like.dtype)
    return spare if held is None else mx.concatenate([held[..., :used, :], spare], axis=2)
