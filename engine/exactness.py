"""Is a forward pass of W rows bit-equal to W passes of one row, on this machine?

MLX picks its kernels by the number of rows, so the last bits may differ. That is measured here,
for one set of weights, one kind of cache and one back end.
"""

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Literal, cast

import mlx.core as mx
from mlx import nn
from mlx.utils import tree_flatten  # pyright: ignore[reportUnknownVariableType] untyped there

from engine.layers import SlidingCache
from engine.sampling import to_host
from engine.target import Target

WIDTHS = (2, 3, 4, 5, 6, 7, 8)
PROMPTS = (8, 48)
_VERSION = 1  # of the procedure; a change of it makes every remembered gate void
_CHUNK = 512  # rows of a prompt fed at once
_MARGIN_FACTOR = 4.0
# Above this share of the logits' spread a difference is no rounding. Measured: 2e-5 in float32 with
# OpenBLAS on SmolLM2-135M, one to three units in the last place in bfloat16.
_FAULT = {"float32": 0.02, "float16": 0.5, "bfloat16": 0.5}
_MANTISSA = {"float32": 23, "float16": 10, "bfloat16": 7}  # bits

Suspect = Literal["", "kernels", "cache"]


@dataclass(frozen=True, slots=True)
class Width:
    """What was seen at one width.

    Attributes:
        equal: every row had the very bytes of its one-row step.
        max_difference: the largest difference of two logits.
        first_row: the lowest row that differed at any prompt; `width` itself stands for the step
            after the block, which only what the block left in the cache can change.
        suspect: "kernels" if row 0 differed, "cache" if only later rows did (mask or cache).
        not_run: why there is no result, which counts as not equal.
    """

    width: int
    equal: bool
    max_difference: float = 0.0
    first_row: int | None = None
    suspect: Suspect = ""
    not_run: str = ""


@dataclass(frozen=True, slots=True)
class Gate:
    """The widths measured, ascending, and what the differences have to be compared with.

    Attributes:
        spread: the standard deviation of the logits.
        magnitude: the largest absolute logit.
        dtype: the logits' type.
        prompts: lengths of the prompts used.
    """

    widths: tuple[Width, ...]
    spread: float
    magnitude: float
    dtype: str
    prompts: tuple[int, ...]

    @property
    def exact_width(self) -> int:
        """The widest W for which it and all narrower widths are equal; 1 is plain decoding."""
        exact = 1
        for seen in self.widths:
            if seen.width != exact + 1 or not seen.equal:
                break
            exact = seen.width
        return exact

    @property
    def fault(self) -> str:
        """Why drafting must be refused: a difference that is no rounding; empty if none is."""
        limit = _FAULT[self.dtype] * self.spread
        for seen in self.widths:
            # A NaN is not within any limit.
            if not seen.not_run and not seen.max_difference <= limit:
                where = "from the first row on" if seen.suspect == "kernels" else "in later rows"
                return (
                    f"Checking {seen.width} tokens at once changes the model's scores by "
                    f"{seen.max_difference:.2g} {where}, more than rounding can explain "
                    f"({limit:.2g}). Look for the fault in the {seen.suspect}."
                )
        return ""

    def at(self, width: int) -> Width:
        """What was seen at `width`."""
        for seen in self.widths:
            if seen.width == width:
                return seen
        return Width(width, equal=False, not_run="this width was not measured")

    def margin(self, width: int) -> float:
        """A top-2 gap below this is a near-tie that a pass of `width` rows may turn around.

        Infinite where nothing is known.
        """
        seen = self.at(width)
        if seen.not_run:
            return float("inf")
        return max(_MARGIN_FACTOR * seen.max_difference, 2 * self._ulp())

    def merged(self, other: "Gate") -> "Gate":
        """This gate with the widths of `other` put in, for measuring one width at a time."""
        by_width = {seen.width: seen for seen in (*self.widths, *other.widths)}
        return Gate(
            tuple(by_width[width] for width in sorted(by_width)),
            max(self.spread, other.spread),
            max(self.magnitude, other.magnitude),
            self.dtype,
            tuple(sorted({*self.prompts, *other.prompts})),
        )

    def _ulp(self) -> float:
        """The distance of neighbouring numbers at the logits' magnitude."""
        if not self.magnitude:
            return 0.0
        _, exponent = math.frexp(self.magnitude)
        return 2.0 ** (exponent - 1 - _MANTISSA[self.dtype])


def measure(target: Target, widths: Sequence[int] = WIDTHS, *, seed: int = 0) -> Gate:
    """Compare one block of each width with one-row steps after prompts of several lengths.

    A width that cannot be run is reported as such and counts as not equal.
    """
    wanted = sorted(set(widths))
    assert wanted, "no widths to measure"
    assert wanted[0] >= 2, wanted
    spread, magnitude, dtype = 0.0, 0.0, "float32"
    lengths = _prompt_lengths(target, wanted[-1])
    reason = "" if lengths else "the model's context has no room for it"
    seen = {width: Width(width, equal=not reason, not_run=reason) for width in wanted}
    text = _Text(target, max(lengths, default=0) + wanted[-1] + 1, seed)
    for length in lengths:
        # One prompt is enough to see what a block leaves behind: the longest, for the windows.
        last = length == lengths[-1]
        try:
            text.read(length, wanted[-1] + last)
        except _CANNOT_RUN as error:
            seen = {w: Width(w, equal=False, not_run=_reason(error)) for w in wanted}
            break
        spread, magnitude = max(spread, text.spread), max(magnitude, text.magnitude)
        dtype = _name(text.steps)
        compared = [text.launch(width, step_after=last) for width in wanted]
        for width, one in zip(wanted, compared, strict=True):
            seen[width] = _worse(seen[width], _found(width, one))
    return Gate(tuple(seen.values()), spread, magnitude, dtype, lengths)


def key(identity: str, target: Target, backend: str) -> str:
    """Names the circumstances under which a measured gate stands.

    Args:
        identity: of the weights and their config, so of dtype and quantisation too.
        target: the loaded model.
        backend: the back end and its BLAS.
    """
    dtypes = {_name(array) for array in arrays(target.model)}
    facts = {
        "weights": identity,
        "dtypes": sorted(dtypes),
        "caches": sorted({type(layer).__name__ for layer in target.new_cache().layers}),
        "backend": backend,
        "device": str(mx.device_info().get("architecture", "")),
        "mlx": version("mlx"),
        "procedure": _VERSION,
    }
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


class _Text:
    """A text that grows from prompt to prompt, its one-row steps, and blocks to hold against them.

    Passes are scheduled and not waited for, so that building one overlaps with running another.
    """

    def __init__(self, target: Target, length: int, seed: int) -> None:
        self._target, self._ids = target, _ids(target.vocab_size, length, seed)
        self._cache, self._length = target.new_cache(), 0
        self.spread = self.magnitude = 0.0
        self.steps = mx.zeros((0, 0))  # (rows, vocab)

    def read(self, length: int, rows: int) -> None:
        """Read on to `length` tokens, in chunks, and make `rows` one-row steps after them."""
        self._cache.rollback(self._length)
        for begin in range(self._length, length, _CHUNK):
            self._target.forward(self._ids[begin : min(begin + _CHUNK, length)], self._cache)
            self._cache.settle()
        self._length = length
        ids = self._ids[length : length + rows]
        self.steps = mx.concatenate([self._forward([token]) for token in ids])
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
        except _CANNOT_RUN as error:
            return error
        return compared

    def _forward(self, ids: Sequence[int]) -> mx.array:
        logits = self._target.forward(ids, self._cache).logits
        mx.async_eval(logits, [layer.state for layer in self._cache.layers])
        return logits


def _found(width: int, compared: mx.array | BaseException) -> Width:
    """What a comparison says of a width."""
    if isinstance(compared, BaseException):
        return Width(width, equal=False, not_run=_reason(compared))
    try:
        difference, *same = to_host(compared)
    except _CANNOT_RUN as error:
        return Width(width, equal=False, not_run=_reason(error))
    if all(same):
        return Width(width, equal=True)
    first = same.index(0.0)
    return Width(width, False, difference, first, "cache" if first else "kernels")


# What MLX and the caches raise when a pass or a rollback is impossible.
_CANNOT_RUN = (RuntimeError, ValueError, AssertionError, MemoryError)


def _prompt_lengths(target: Target, widest: int) -> tuple[int, ...]:
    """The usual prompts, and one that has pushed rows out of every sliding window there is."""
    windows = [c.window for c in target.new_cache().layers if isinstance(c, SlidingCache)]
    lengths = {*PROMPTS, *(window + widest for window in windows)}
    return tuple(sorted(n for n in lengths if n + widest < target.context_limit))


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


def _worse(a: Width, b: Width) -> Width:
    """Both findings in one: the earliest row, the largest difference."""
    if a.not_run or b.not_run:
        return Width(a.width, equal=False, not_run=a.not_run or b.not_run)
    if a.equal or b.equal:
        return b if a.equal else a
    first = min(cast("int", a.first_row), cast("int", b.first_row))
    # A NaN loses every comparison; it must win this one.
    largest = b.max_difference if a.max_difference <= b.max_difference else a.max_difference
    largest = b.max_difference if b.max_difference != b.max_difference else largest
    return Width(a.width, False, largest, first, "cache" if first else "kernels")


def arrays(model: nn.Module) -> list[mx.array]:
    """Every parameter; the tree of MLX is nested and untyped."""
    found = cast("list[tuple[str, mx.array]]", tree_flatten(model.parameters()))
    return [array for _, array in found]


def _name(array: mx.array) -> str:
    return str(array.dtype).removeprefix("mlx.core.")


def _reason(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
