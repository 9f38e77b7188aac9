"""The text on which passes of several rows are measured: its one-row steps, and blocks."""

from collections.abc import Callable, Sequence

import mlx.core as mx

from engine.sampling import to_host
from engine.target import Target

_CHUNK = 512  # rows of a prompt fed at once
# What MLX and the caches raise when a pass or a rollback is impossible.
CANNOT_RUN = (RuntimeError, ValueError, AssertionError, MemoryError)


class Interrupted(Exception):
    """A measurement was stopped between two passes."""


class GrowingText:
    """A text that grows from prompt to prompt, its one-row steps, and blocks to hold against them.

    A pass is scheduled while the one before it runs, so that building overlaps with running; no
    more than that, so that the end of what runs is near whenever `stop` is asked.

    Args:
        target: the model.
        length: tokens of the whole text.
        seed: of its ids.
        stop: asked before each pass; every method raises `Interrupted` once it says so.
    """

    def __init__(self, target: Target, length: int, seed: int, stop: Callable[[], bool]) -> None:
        self._stop = stop
        self._target, self._ids = target, _ids(target.vocab_size, length, seed)
        self._cache, self._length = target.new_cache(), 0
        self.spread = self.magnitude = 0.0
        self.steps = mx.zeros((0, 0))  # (rows, vocab)

    def read(self, length: int, rows: int) -> None:
        """Read on to `length` tokens, in chunks, and make `rows` one-row steps after them."""
        self._cache.rollback(self._length)
        for begin in range(self._length, length, _CHUNK):
            self._ask()
            self._target.forward(self._ids[begin : min(begin + _CHUNK, length)], self._cache)
            self._cache.settle()
        self._length = length
        steps = list[mx.array]()
        for token in self._ids[length : length + rows]:
            steps.append(self._forward([token]))
            if len(steps) > 1:
                mx.eval(steps[-2])
        self.steps = mx.concatenate(steps)
        floats = self.steps.astype(mx.float32)
        self.spread, self.magnitude = to_host(mx.stack([mx.std(floats), mx.max(mx.abs(floats))]))

    def launch(self, width: int, *, step_after: bool) -> mx.array | BaseException:
        """A block of `width` rows, and the step after it, against the one-row steps.

        Returns the largest difference and whether each row is equal, float32 and not waited for,
        or what kept it from running.
        """
        ids = self._ids[self._length :]
        try:
            self._cache.rollback(self._length)
            rows = self._forward(ids[:width])
            if step_after:
                rows = mx.concatenate([rows, self._forward([ids[width]])])
            steps = self.steps[: rows.shape[0]]
            difference = mx.max(mx.abs(rows.astype(mx.float32) - steps.astype(mx.float32)))[None]
            compared = mx.concatenate([difference, _same_bits(rows, steps).astype(mx.float32)])
            mx.async_eval(compared)
        except CANNOT_RUN as error:
            return error
        return compared

    def _forward(self, ids: Sequence[int]) -> mx.array:
        self._ask()
        logits = self._target.forward(ids, self._cache).logits
        mx.async_eval(logits, [layer.state for layer in self._cache.layers])
        return logits

    def _ask(self) -> None:
        if self._stop():
            raise Interrupted


def name_of(array: mx.array) -> str:
    """The type of an array, as other libraries write it."""
    return str(array.dtype).removeprefix("mlx.core.")


def _ids(vocab: int, count: int, seed: int) -> list[int]:
    """The same token ids everywhere, without a pattern (a linear congruential generator)."""
    state, ids = seed * 2654435761 + 12345, list[int]()
    for _ in range(count):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        ids.append((state >> 33) % vocab)
    return ids


def _same_bits(a: mx.array, b: mx.array) -> mx.array:
    """Whether each row (n, vocab) holds the same bytes, as (n,) bool."""
    words = mx.uint32 if a.dtype == mx.float32 else mx.uint16
    return (a.view(words) == b.view(words)).all(axis=-1)
