"""The strip's columns: what a round shows, and where it stands."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from PySide6.QtCore import QRectF

from app.conversation import DraftMark
from engine.events import Round

Sign: TypeAlias = Literal["paused", "resumed", "off", "tie"]
SMALL, LARGE = 4, 8  # guesses that a column holds; one scale for all of a strip


@dataclass(frozen=True, slots=True)
class Column:
    """One round, or one sign between rounds. `round` numbers it, or is the round after a sign."""

    round: int
    width: float
    sign: Sign | None = None
    mark: DraftMark | None = None


@dataclass(frozen=True, slots=True)
class Measures:
    """Sizes in px. `scale` is the number of guesses that a column holds."""

    scale: int
    cell: float
    cell_height: float
    gap: float
    dot: float
    between: float
    sign: float

    @staticmethod
    def of(scale: int, size: float) -> "Measures":
        """For a scale, at a text size."""
        height = 6.0 if scale == SMALL else 4.0
        gap = 1.5 if scale == SMALL else 1.0
        return Measures(scale, 7 * size, height * size, gap * size, 5 * size, 3 * size, 9 * size)

    @property
    def row(self) -> float:
        """The height of a full column with its dot."""
        return self.scale * (self.cell_height + self.gap) + self.dot

    @property
    def line(self) -> float:
        """The distance of two lines of columns."""
        return self.row + 9


def scale_for(rounds: Sequence[Round]) -> int:
    """The scale that fits these rounds; longer guesses stand in several columns side by side."""
    return LARGE if any(len(round_.proposed_ids) > SMALL for round_ in rounds) else SMALL


class Columns:
    """Places rounds and signs in lines of a width, each once and for all."""

    def __init__(self, measures: Measures, width: float) -> None:
        self.measures, self.width = measures, width
        self.columns: list[Column] = []
        self.places: list[tuple[int, float]] = []  # line and x
        self._of_round: list[int] = []
        self._firsts: list[int] = [0]  # of each line
        self._x = 0.0

    @property
    def lines(self) -> int:
        """How many lines there are."""
        return len(self._firsts) if self.columns else 0

    @property
    def height(self) -> float:
        """Of all lines."""
        return max(0.0, self.lines * self.measures.line - 9)

    def add_round(self, round_: Round) -> None:
        """Place the next round, after the sign of a near-tie if it has one."""
        number = len(self._of_round)
        if round_.recheck:
            self._place(Column(number, self.measures.sign, "tie"))
        parts = max(1, -(-len(round_.proposed_ids) // self.measures.scale))
        self._of_round.append(len(self.columns))
        self._place(Column(number, parts * (self.measures.cell + 1) - 1))

    def add_mark(self, mark: DraftMark, *, is_first: bool) -> None:
        """Place a change of drafting; that it was on from the start needs no sign."""
        if is_first and mark.state == "on":
            return
        signs: dict[str, Sign] = {"on": "resumed", "paused": "paused", "off": "off"}
        sign = signs[mark.state]
        self._place(Column(len(self._of_round), self.measures.sign, sign, mark))

    def box_of(self, index: int) -> QRectF:
        """The place of a column."""
        line, x = self.places[index]
        return QRectF(x, line * self.measures.line, self.columns[index].width, self.measures.row)

    def box_of_round(self, number: int) -> QRectF:
        """The place of a round."""
        return self.box_of(self._of_round[number])

    def at(self, x: float, y: float) -> Column | None:
        """The column at a point, or the nearest on its line."""
        line = int(y // self.measures.line)
        if not 0 <= line < self.lines or x < 0:
            return None
        first, end = self.bounds(line)
        near = bisect_right(self.places, (line, x), first, end) - 1
        if near < first or x > self.places[near][1] + self.columns[near].width + 3:
            return None
        return self.columns[near]

    def lines_between(self, top: float, bottom: float) -> range:
        """The lines between two heights."""
        if not self.columns:
            return range(0)
        first = max(0, min(int(top // self.measures.line), self.lines - 1))
        last = max(0, min(int(bottom // self.measures.line), self.lines - 1))
        return range(first, last + 1)

    def bounds(self, line: int) -> tuple[int, int]:
        """The first column of a line, and the one after its last."""
        end = self._firsts[line + 1] if line + 1 < len(self._firsts) else len(self.columns)
        return self._firsts[line], end

    def _place(self, column: Column) -> None:
        if self._x and self._x + column.width > self.width:
            self._firsts.append(len(self.columns))
            self._x = 0.0
        self.columns.append(column)
        self.places.append((len(self._firsts) - 1, self._x))
        self._x += column.width + self.measures.between
