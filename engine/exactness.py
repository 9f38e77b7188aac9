"""Is a forward pass of W rows bit-equal to W passes of one row, on this machine?

MLX picks its kernels by the number of rows, so the last bits may differ. That is measured here,
for one set of weights, one kind of cache and one back end.
"""

import hashlib
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Literal, cast

import mlx.core as mx
from mlx import nn
from mlx.utils import tree_flatten  # pyright: ignore[reportUnknownVariableType] untyped there

from engine.growing_text import CANNOT_RUN, GrowingText, name_of
from engine.layers import SlidingCache
from engine.sampling import to_host
from engine.target import Target

WIDTHS = (2, 3, 4, 5, 6, 7, 8)
PROMPTS = (8, 48)
_VERSION = 1  # of the procedure; a change of it makes every remembered gate void
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


def measure(
    target: Target,
    widths: Sequence[int] = WIDTHS,
    *,
    seed: int = 0,
    stop: Callable[[], bool] = lambda: False,
) -> Gate:
    """Compare one block of each width with one-row steps after prompts of several lengths.

    A width that cannot be run is reported as such and counts as not equal. `stop` is asked before
    each pass.

    Raises:
        Interrupted: `stop` said so; nothing was found out.
    """
    wanted = sorted(set(widths))
    assert wanted, "no widths to measure"
    assert wanted[0] >= 2, wanted
    spread, magnitude, dtype = 0.0, 0.0, "float32"
    lengths = _prompt_lengths(target, wanted[-1])
    reason = "" if lengths else "the model's context has no room for it"
    seen = {width: Width(width, equal=not reason, not_run=reason) for width in wanted}
    text = GrowingText(target, max(lengths, default=0) + wanted[-1] + 1, seed, stop)
    for length in lengths:
        # One prompt is enough to see what a block leaves behind: the longest, for the windows.
        last = length == lengths[-1]
        try:
            text.read(length, wanted[-1] + last)
        except CANNOT_RUN as error:
            seen = {w: Width(w, equal=False, not_run=_reason(error)) for w in wanted}
            break
        spread, magnitude = max(spread, text.spread), max(magnitude, text.magnitude)
        dtype = name_of(text.steps)
        before: tuple[int, mx.array | BaseException] | None = None
        for width in wanted:
            # Building a pass overlaps with running the one before; more are not let run ahead, so
            # that a stop is not waited for.
            launched = text.launch(width, step_after=last)
            if before is not None:
                seen[before[0]] = _worse(seen[before[0]], _found(*before))
            before = width, launched
        if before is not None:
            seen[before[0]] = _worse(seen[before[0]], _found(*before))
    return Gate(tuple(seen.values()), spread, magnitude, dtype, lengths)


def key(identity: str, target: Target, backend: str) -> str:
    """Names the circumstances under which a measured gate stands.

    Args:
        identity: of the weights and their config, so of dtype and quantisation too.
        target: the loaded model.
        backend: the back end and its BLAS.
    """
    dtypes = {name_of(array) for array in arrays(target.model)}
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


def _found(width: int, compared: mx.array | BaseException) -> Width:
    """What a comparison says of a width."""
    if isinstance(compared, BaseException):
        return Width(width, equal=False, not_run=_reason(compared))
    try:
        difference, *same = to_host(compared)
    except CANNOT_RUN as error:
        return Width(width, equal=False, not_run=_reason(error))
    if all(same):
        return Width(width, equal=True)
    first = same.index(0.0)
    return Width(width, False, difference, first, "cache" if first else "kernels")


def _prompt_lengths(target: Target, widest: int) -> tuple[int, ...]:
    """The usual prompts, and one that has pushed rows out of every sliding window there is."""
    windows = [c.window for c in target.new_cache().layers if isinstance(c, SlidingCache)]
    lengths = {*PROMPTS, *(window + widest for window in windows)}
    return tuple(sorted(n for n in lengths if n + widest < target.context_limit))


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


def _reason(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
