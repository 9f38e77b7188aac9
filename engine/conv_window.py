"""What a short convolution remembers of a text: the last few of its gated inputs."""

from collections import deque
from dataclasses import dataclass

import mlx.core as mx

_SLACK = 64  # rows of recent passes that can be taken back
_EVERY = 1024  # rows between two snapshots


@dataclass(frozen=True, slots=True)
class _Pass:
    """One forward pass.

    Attributes:
        joined: (1, width + rows, hidden), the window before the pass and then its own rows.
        rows: how many of them can be taken back.
    """

    joined: mx.array
    rows: int


class ConvWindow:
    """The window of a short-conv layer, whose newest rows can be taken back exactly.

    Each pass leaves the window before it and the gated inputs it computed, so the window after any
    shorter pass is a slice of what was computed: nothing is projected a second time, and no kernel
    that rounds by row count comes in. Further back there are snapshots, one every 1,024 rows and
    one wherever `remember` asked for it.

    Args:
        width: rows that the next row looks back on, the kernel size less one.
    """

    reversible = True

    def __init__(self, width: int) -> None:
        assert width >= 0, width
        self.width = width
        self.offset = 0  # rows seen so far
        self.lengths = None  # mlx-lm's layers look for it; there is no padding here
        self._window: mx.array | None = None  # (1, width, hidden); None: nothing seen yet
        self._passes: deque[_Pass] = deque()
        self._snapshots: dict[int, mx.array] = {}
        self._asked: set[int] = set()

    @property
    def state(self) -> list[mx.array]:
        """Everything held, for evaluation."""
        window = [] if self._window is None else [self._window]
        return [*window, *(each.joined for each in self._passes), *self._snapshots.values()]

    @property
    def nbytes(self) -> int:
        """Bytes held; the window itself is part of the newest pass."""
        held = (*(each.joined for each in self._passes), *self._snapshots.values())
        return sum(array.nbytes for array in held)

    def append(self, rows: mx.array) -> mx.array:
        """Take in gated inputs (1, n, hidden); return them behind the window before them."""
        n, begun = rows.shape[1], self.offset
        joined = mx.concatenate([self._before(rows), rows], axis=1)
        self.offset += n
        for at in self._due(begun, self.offset):
            self._snapshots[at] = _copied(joined, at - begun, self.width)
        if n > _SLACK:  # a prompt: its buffer must not stay for the sake of its last rows
            kept = _Pass(_copied(joined, n - _SLACK, self.width + _SLACK), _SLACK)
        else:
            kept = _Pass(joined, n)
        self._passes.append(kept)
        while sum(each.rows for each in self._passes) - self._passes[0].rows >= _SLACK:
            self._passes.popleft()
        self._window = kept.joined[:, kept.rows :]
        return joined

    def can_rollback(self, length: int) -> bool:
        """Whether the window at `length` can be had exactly."""
        if not 0 <= length <= self.offset:
            return False
        recent = sum(each.rows for each in self._passes)
        return length in {0, self.offset} | set(self._snapshots) or self.offset - length <= recent

    def is_trimmable(self) -> bool:
        """Always, to where `can_rollback` says."""
        return True

    def trim(self, n: int) -> int:
        """Forget the newest `n` rows; return `n`, or 0 when their window is gone."""
        length = self.offset - n
        if not self.can_rollback(length):
            return 0
        if n <= sum(each.rows for each in self._passes):
            self._take_back(n)
        else:
            self._passes.clear()
            self._window = self._snapshots.get(length)
        self.offset = length
        for at in [at for at in self._snapshots if at > length]:
            del self._snapshots[at]
        return n

    def remember(self, length: int) -> None:
        """Keep a snapshot at `length`: now when that is here, else when a pass comes by."""
        if length > self.offset:
            self._asked.add(length)
        elif length == self.offset and self._window is not None:
            self._snapshots.setdefault(length, _copied(self._window, 0, self.width))

    @property
    def snapshots(self) -> list[int]:
        """Lengths that can be gone back to from anywhere, ascending."""
        return sorted({0, *self._snapshots})

    def __getitem__(self, _: int) -> mx.array | None:
        """The window as mlx-lm's own layer reads it."""
        return self._window

    def __setitem__(self, _: int, window: mx.array) -> None:
        """The window as mlx-lm's own layer leaves it: what came before is not known."""
        self._window = window
        self._passes.clear()
        self._snapshots.clear()

    def advance(self, n: int) -> None:
        """Called by mlx-lm's own layer after `n` rows."""
        self.offset += n

    def make_mask(self, _: int) -> None:
        """No row of a single text is padding."""
        return

    def _before(self, rows: mx.array) -> mx.array:
        if self._window is not None:
            return self._window
        return mx.zeros((1, self.width, rows.shape[2]), dtype=rows.dtype)

    def _due(self, begun: int, ended: int) -> list[int]:
        """Where a pass from `begun` to `ended` owes a snapshot."""
        regular = range((begun // _EVERY + 1) * _EVERY, ended + 1, _EVERY)
        asked = {at for at in self._asked if begun < at <= ended}
        self._asked -= asked
        return sorted(asked.union(regular))

    def _take_back(self, n: int) -> None:
        while n:
            last = self._passes.pop()
            left = max(0, last.rows - n)
            n -= last.rows - left
            self._window = last.joined[:, left : left + self.width]
            if left:
                self._passes.append(_Pass(last.joined[:, : self.width + left], left))


def _copied(rows: mx.array, begin: int, count: int) -> mx.array:
    """Rows in a buffer of their own; a slice would keep the whole of the other alive."""
    return mx.take(rows, mx.arange(begin, begin + count), axis=1)
