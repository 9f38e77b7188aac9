"""Layer caches that can really forget their newest rows."""

from typing import Any

import mlx.core as mx

_STEP = 256


class SlidingCache:
    """Keys and values of a sliding-window layer, in temporal order, with rows to spare.

    A rotating buffer overwrites the row that a rejected draft pushed out; this one keeps `slack`
    rows more than the window needs, so that up to `slack` of the newest rows can be taken back.
    Stands in for mlx-lm's RotatingKVCache, whose `trim` silently does nothing once it has wrapped
    (mlx-lm issues 1427 and 1914). Memory: about twice the window; the oldest rows are dropped when
    the buffer is full, so the cost of dropping is spread over many steps.
    """

    reversible = True

    def __init__(self, window: int, slack: int = 64) -> None:
        assert window > 0, window
        self.window, self.slack = window, slack
        self.offset = 0  # rows seen so far, the position of the next one
        self._first = 0  # position of the oldest row kept
        self._keys: mx.array | None = None  # (batch, heads, capacity, dim)
        self._values: mx.array | None = None

    @property
    def state(self) -> list[mx.array]:
        """The buffers, for evaluation."""
        return [] if self._keys is None or self._values is None else [self._keys, self._values]

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return sum(array.nbytes for array in self.state)

    def update_and_fetch(self, keys: mx.array, values: mx.array) -> tuple[mx.array, mx.array]:
        """Append rows (batch, heads, n, dim); return what they may attend to."""
        n = keys.shape[2]
        old_keys, old_values = self._make_room(keys, values)
        at = self.offset - self._first
        old_keys[..., at : at + n, :] = keys
        old_values[..., at : at + n, :] = values
        begin = max(self._first, self.offset - (self.window - 1)) - self._first
        self.offset += n
        return old_keys[..., begin : at + n, :], old_values[..., begin : at + n, :]

    def make_mask(
        self, n: int, *, return_array: bool = False, window_size: int | None = None
    ) -> mx.array | str | None:
        """The mask (n, keys) for the next `n` rows; None where every key is visible."""
        assert window_size in (None, self.window), (window_size, self.window)
        if n == 1 and not return_array:
            return None
        begin = max(self._first, self.offset - (self.window - 1))
        rows = mx.arange(self.offset, self.offset + n)[:, None]
        columns = mx.arange(begin, self.offset + n)[None]
        return (columns <= rows) & (columns > rows - self.window)

    def can_rollback(self, length: int) -> bool:
        """Whether every row that position `length` needs is still here."""
        return length <= self.offset and self._first <= max(0, length - (self.window - 1))

    def is_trimmable(self) -> bool:
        """Always, within the slack."""
        return True

    def trim(self, n: int) -> int:
        """Forget the newest `n` rows; return `n`, or 0 when older rows are gone already."""
        if not self.can_rollback(self.offset - n):
            return 0
        self.offset -= n
        return n

    def _make_room(self, keys: mx.array, values: mx.array) -> tuple[mx.array, mx.array]:
        """Buffers with room for the new rows after `offset`."""
        n, used = keys.shape[2], self.offset - self._first
        if self._keys is not None and self._values is not None:
            if used + n <= self._keys.shape[2]:
                return self._keys, self._values
            kept = max(self._first, self.offset - (self.window - 1) - self.slack)
            begin = kept - self._first
            held = [self._keys[..., begin:used, :], self._values[..., begin:used, :]]
            self._first, used = kept, used - begin
        else:
            held = [keys[..., :0, :], values[..., :0, :]]
        # Once the window has wrapped, a buffer of twice its rows drops some only now and then.
        wanted = used + n + min(used, self.window + self.slack)
        capacity = -(-wanted // _STEP) * _STEP
        self._keys, self._values = (
            mx.concatenate(
                [old, mx.zeros((*new.shape[:2], capacity - used, new.shape[3]), new.dtype)], axis=2
            )
            for old, new in zip(held, (keys, values), strict=True)
        )
        return self._keys, self._values


LayerCache = Any  # mlx-lm's caches share no type: offset, state, nbytes, trim, update_and_fetch
