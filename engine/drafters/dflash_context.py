"""What a DFlash drafter remembers of a text: the newest rows of each layer, in temporal order.

mlx-lm's rotating cache does not fit here: after a single row it returns ring order, and a mask by
index then hides the wrong keys, after every round without an accepted guess (measured).
"""

import mlx.core as mx

SPARE = 64  # rows beyond the window, so that a short cut leaves a whole window


class Window:
    """Keys and values (1, kv_heads, n, dim) of one layer, the positions before `end`."""

    def __init__(self, window: int) -> None:
        self.window = window
        self.end = 0  # position of the next context row
        self._keys: mx.array | None = None
        self._values: mx.array | None = None

    @property
    def arrays(self) -> list[mx.array]:
        """What is held."""
        return [] if self._keys is None or self._values is None else [self._keys, self._values]

    @property
    def rows(self) -> int:
        """How many positions before `end` are held."""
        return 0 if self._keys is None else self._keys.shape[2]

    def append(self, keys: mx.array, values: mx.array) -> None:
        """Keep rows from `end` on; the oldest go."""
        keys, values = self._joined(keys, values, self.rows)
        most = self.window - 1 + SPARE
        begin = max(0, keys.shape[2] - most)
        self.end += keys.shape[2] - self.rows
        self._keys, self._values = keys[..., begin:, :], values[..., begin:, :]

    def with_block(self, keys: mx.array, values: mx.array) -> tuple[mx.array, mx.array, mx.array]:
        """The rows that a block may see, the block behind them, and its mask (block, rows).

        The block is not kept. A row sees itself and the `window - 1` positions before it.
        """
        n, held = keys.shape[2], min(self.rows, self.window - 1)
        keys, values = self._joined(keys, values, held)
        rows = mx.arange(held, held + n)[:, None]
        columns = mx.arange(held + n)[None]
        return keys, values, (columns <= rows) & (rows - columns < self.window)

    def forget(self, length: int) -> None:
        """Hold no position from `length` on; nothing at all when rows before it are missing."""
        left = self.rows - (self.end - length)
        if not 0 < left <= self.rows:
            self._keys = self._values = None
        elif self._keys is not None and self._values is not None and left < self.rows:
            self._keys, self._values = self._keys[..., :left, :], self._values[..., :left, :]
        self.end = length

    def _joined(self, keys: mx.array, values: mx.array, held: int) -> tuple[mx.array, mx.array]:
        """The newest `held` rows and those given."""
        if self._keys is None or self._values is None or not held:
            return keys, values
        begin = self.rows - held
        return (
            mx.concatenate([self._keys[..., begin:, :], keys], axis=2),
            mx.concatenate([self._values[..., begin:, :], values], axis=2),
        )
