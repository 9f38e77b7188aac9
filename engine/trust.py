"""How far a pass of several rows is trusted: from what was measured for this model here."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import mlx.core as mx

from engine import exactness
from engine.backend import prepare
from engine.exactness import Gate
from engine.growing_text import Interrupted
from engine.guard import COPY_LIMIT
from engine.request import Exactness
from engine.target import Target

WIDTHS = (*exactness.WIDTHS, 16, COPY_LIMIT + 1)
# Before anything is measured: some twenty times the difference seen in float32 with OpenBLAS
# (5e-5), and several units in the last place of a logit near 32 in the narrow types.
_UNMEASURED = {mx.float32: 1e-3, mx.float16: 0.125, mx.bfloat16: 1.0}
_LARGE = 1 << 30  # bytes of weights from which the widths of long copies wait until one is made


def _never() -> bool:
    return False


class GateMemo(Protocol):
    """Where measured gates are kept between runs."""

    def recall(self, key: str) -> Gate | None:
        """The gate measured under `key`."""
        ...

    def remember(self, key: str, gate: Gate) -> None:
        """Keep a gate."""
        ...


@dataclass(slots=True)
class Trust:
    """The gate of one loaded model, measured when there is time for it.

    Attributes:
        key: names the circumstances under which the gate stands.
        gate: what was measured; None before that.
    """

    target: Target
    key: str
    memo: GateMemo | None
    gate: Gate | None = None
    _usual: Sequence[int] = field(init=False)

    def __post_init__(self) -> None:
        size = sum(array.nbytes for array in exactness.arrays(self.target.model))
        self._usual = WIDTHS if size < _LARGE else exactness.WIDTHS

    @classmethod
    def of(cls, target: Target, identity: str, memo: GateMemo | None) -> "Trust":
        """What is known of a model that was just loaded."""
        backend = prepare()
        key = exactness.key(identity, target, f"{backend.name} {backend.blas}")
        gate = None if memo is None else memo.recall(key)
        return cls(target, key, memo, gate)

    @property
    def is_measured(self) -> bool:
        """Whether every width that rounds usually have is covered."""
        return not self._missing(self._usual)

    def measure(self, chosen: int = 1, stop: Callable[[], bool] = _never) -> Gate | None:
        """Measure what is missing of the usual widths and of one that a person chose; remember it.

        Seconds for a small model. `stop` is asked before each pass; what it interrupts was not
        measured, and is measured when it is next wanted.
        """
        usual = self._measure(self._usual, stop)
        own = self._own(chosen)
        return self._measure(own, stop) if own else usual

    def _own(self, chosen: int) -> list[int]:
        """A chosen width, if it is none of those that all models are measured at."""
        return [chosen] if chosen > exactness.WIDTHS[-1] else []

    def _missing(self, widths: Sequence[int]) -> list[int]:
        seen = () if self.gate is None else [each.width for each in self.gate.widths]
        return [width for width in widths if width not in seen]

    def _measure(self, widths: Sequence[int], stop: Callable[[], bool]) -> Gate | None:
        if missing := self._missing(widths):
            try:
                found = exactness.measure(self.target, missing, stop=stop)
            except Interrupted:
                return self.gate
            self.gate = found if self.gate is None else self.gate.merged(found)
            if self.memo is not None:
                # What could not be run is tried again when the model is loaded again.
                ran = tuple(each for each in self.gate.widths if not each.not_run)
                self.memo.remember(self.key, replace(self.gate, widths=ran))
        return self.gate

    def is_wanted(self, mode: Exactness, chosen: int = 1) -> bool:
        """Whether drafting in this mode, up to a chosen width, has to wait for the gate.

        Guarded float32 waits for a chosen width alone: its margin before any measurement is wide
        already and costs nothing, for near-ties are rare at that precision.
        """
        if mode == "fast":
            return False
        if self._missing(self._own(chosen)):
            return True
        return not self.is_measured and (mode == "exact" or self.target.dtype != mx.float32)

    @property
    def fault(self) -> str:
        """Why drafting must be refused, empty if nothing speaks against it."""
        return "" if self.gate is None else self.gate.fault

    def refusal(self, mode: Exactness) -> str:
        """Why nothing is drafted in this mode, empty if something may be."""
        if self.fault or mode != "exact":
            return self.fault
        if self.gate is None:
            return "Exact mode drafts once this machine was measured: from the next answer on."
        if self.gate.exact_width < 2:
            return (
                "Exact mode cannot draft here: checking several tokens at once is not equal, bit "
                "for bit, to one at a time. Guarded mode can."
            )
        return ""

    def widest(self, mode: Exactness, chosen: int = 1) -> int:
        """Rows that a pass may have; in Exact mode only what was measured to be equal.

        Copies have their own limit, which a person's choice for the drafter may exceed.
        """
        if self.fault:
            return 1
        if mode == "exact":
            return 1 if self.gate is None else self.gate.exact_width
        return max(COPY_LIMIT + 1, chosen)

    def margin(self, mode: Exactness, width: int, stop: Callable[[], bool] = _never) -> float:
        """The gap of a row's two best scores below which it is drawn again alone.

        A width that waited is measured now; `stop` as in `measure`.
        """
        if mode != "guarded":
            return 0.0
        unmeasured = _UNMEASURED.get(self.target.dtype, 1.0)
        if self.gate is None:
            return unmeasured
        if width > max([self._usual[-1], *(each.width for each in self.gate.widths)]):
            self._measure(WIDTHS, stop)
        # Between two measured widths the worse of both holds; what could not be run is the worst.
        seen = [w.width for w in self.gate.widths]
        around = [max((w for w in seen if w <= width), default=None)]
        around.append(min((w for w in seen if w >= width), default=None))
        margins = [unmeasured if w is None else self.gate.margin(w) for w in around]
        return max(margins)
