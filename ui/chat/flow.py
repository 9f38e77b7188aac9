"""Text of several styles, broken into lines and painted."""

import unicodedata
from bisect import bisect_right
from dataclasses import dataclass
from typing import cast

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontMetricsF,
    QPainter,
    QTextCharFormat,
    QTextLayout,
    QTextLine,
    QTextOption,
)

from ui.chat.leaves import BREAK, Run, Side
from ui.chat.math import Drawing, drawing, latex_of
from ui.chat.utf16 import Units
from ui.theme import Theme

LINE = 1.55  # of the size of the letters
_PLACE = "\N{NO-BREAK SPACE}"  # stands for a formula
_ALIGNED = {
    "left": Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignAbsolute,
    "center": Qt.AlignmentFlag.AlignHCenter,
    "right": Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignAbsolute,
}


@dataclass(frozen=True, slots=True)
class Piece:
    """Where a run stands in the shown text, and its drawing if it is a formula."""

    start: int
    end: int
    run: Run
    drawing: Drawing | None = None


class Flow:
    """Runs laid out in lines of a width. Offsets count characters of the shown `text`.

    A formula is one character of it, and is copied as its source.
    """

    def __init__(
        self, runs: tuple[Run, ...], theme: Theme, font: QFont, colour: QColor, side: Side = ""
    ) -> None:
        self._theme, self._font, self._colour = theme, font, colour
        self.pieces = self._placed(runs)
        self._starts = [piece.start for piece in self.pieces]
        self._drawn = [piece for piece in self.pieces if piece.drawing]
        self.text = "".join(_PLACE if p.drawing else p.run.text for p in self.pieces)
        self._units = Units(self.text)
        self._layout = QTextLayout(self.text, font)
        rightwards: Side = "right" if reads_right_to_left(self.text) else "left"
        option = QTextOption(_ALIGNED[side or rightwards])
        option.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        option.setTextDirection(Qt.LayoutDirection.LayoutDirectionAuto)
        option.setTabStopDistance(4 * font.pixelSize())
        self._layout.setTextOption(option)
        self._layout.setCacheEnabled(True)
        self._layout.setFormats([self._format(piece) for piece in self.pieces])
        self._width = self._narrowest = -1.0
        self.height = 0.0

    @property
    def widest(self) -> float:
        """The width that it takes without breaking any line."""
        if self._width < 0:
            self.lay_out(100_000)
            wide, self._width = self._layout.maximumWidth(), -1.0
            return wide
        return self._layout.maximumWidth()

    @property
    def narrowest(self) -> float:
        """The width below which words are broken."""
        if self._narrowest < 0:
            widths = QFontMetricsF(self._font)
            words = map(widths.horizontalAdvance, self.text.split())
            drawings = (piece.drawing.width for piece in self._drawn if piece.drawing)
            self._narrowest = max([0.0, *words, *drawings])
        return self._narrowest

    def lay_out(self, width: float) -> float:
        """Break the lines to `width`; return the height."""
        if width == self._width:
            return self.height
        self._width = width
        spacing = round(self._font.pixelSize() * LINE)
        self._layout.beginLayout()
        top = 0.0
        while (line := self._layout.createLine()).isValid():
            line.setLineWidth(max(width, 1))
            above, below = line.ascent(), line.descent()
            lead = (spacing - above - below) / 2
            for piece in self._drawings(line):
                assert piece.drawing is not None
                above = max(above, piece.drawing.ascent + 1 - lead)
                below = max(below, piece.drawing.height - piece.drawing.ascent + 1 - lead)
            line.setPosition(QPointF(0, top + lead + above - line.ascent()))
            top += lead + above + below + lead
        self._layout.endLayout()
        self.height = max(top, spacing) if self._layout.lineCount() == 0 else top
        return self.height

    def paint(self, painter: QPainter, x: float, y: float, selected: tuple[int, int]) -> None:
        """Draw it with its top left at (x, y) and the characters of `selected` marked."""
        formats: list[QTextLayout.FormatRange] = []
        if selected[0] < selected[1]:
            mark = QTextLayout.FormatRange()
            mark.start, mark.length = self._units.range(*selected)
            mark.format = QTextCharFormat()
            mark.format.setBackground(self._theme.selection)
            formats.append(mark)
        self._paint_grounds(painter, x, y)
        self._layout.draw(painter, QPointF(x, y), formats)
        for piece in self._drawn:
            assert piece.drawing is not None
            line, left = self._place_of(piece)
            piece.drawing.paint(painter, x + left, y + line.y() + line.ascent())

    def offset_at(self, x: float, y: float) -> int:
        """The offset nearest to a point."""
        count = self._layout.lineCount()
        if not count:
            return 0
        line = self._layout.lineAt(0)
        for number in range(count):
            line = self._layout.lineAt(number)
            if y < line.y() + line.height() + 2:
                break
        return self._units.index(line.xToCursor(x))

    def piece_at(self, x: float, y: float) -> Piece | None:
        """The piece under a point, if there is text."""
        for number in range(self._layout.lineCount()):
            line = self._layout.lineAt(number)
            box = line.naturalTextRect().adjusted(0, -2, 0, 2)
            if box.contains(x, y):
                at = self._units.index(
                    line.xToCursor(x, QTextLine.CursorPosition.CursorOnCharacter)
                )
                return self._piece(at)
        return None

    def box_of(self, start: int, end: int) -> QRectF:
        """The lines that hold the characters `start` to `end`."""
        first, last = self._line(start), self._line(max(start, end - 1))
        return QRectF(0, first.y(), self._width, last.y() + last.height() - first.y())

    def copied(self, start: int, end: int) -> str:
        """The characters `start` to `end` as they are put on the clipboard."""
        parts = [
            piece.run.text
            if piece.drawing
            else piece.run.text[max(start - piece.start, 0) : end - piece.start]
            for piece in self.pieces
            if piece.start < end and piece.end > start
        ]
        return "".join(parts).replace(BREAK, "\n")

    def from_source(self, start: int, end: int) -> tuple[int, int]:
        """The shown characters that the piece `start` to `end` of the source wrote."""
        inside = [p for p in self.pieces if p.run.start < end and p.run.end > start]
        if not inside:
            return 0, 0
        first, last = inside[0], inside[-1]
        begin = first.start + max(0, start - first.run.start) if _is_exact(first) else first.start
        finish = last.end - max(0, last.run.end - end) if _is_exact(last) else last.end
        return begin, max(begin, finish)

    def to_source(self, start: int, end: int) -> tuple[int, int]:
        """The piece of the source that wrote the shown characters `start` to `end`."""
        inside = [p for p in self.pieces if p.start < end and p.end > start]
        if not inside:
            return 0, 0
        first, last = inside[0], inside[-1]
        begin = (
            first.run.start + max(0, start - first.start) if _is_exact(first) else first.run.start
        )
        finish = last.run.end - max(0, last.end - end) if _is_exact(last) else last.run.end
        return begin, max(begin, finish)

    def links(self) -> list[Piece]:
        """The pieces that lead somewhere."""
        return [piece for piece in self.pieces if piece.run.style.link]

    def _placed(self, runs: tuple[Run, ...]) -> list[Piece]:
        pieces: list[Piece] = []
        at = 0
        for run in runs:
            drawn = None
            if run.style.math:
                size, colour = float(self._font.pixelSize()), self._colour.name()
                drawn = drawing(latex_of(run.text), size, colour, in_line=True)
            length = 1 if drawn else len(run.text)
            pieces.append(Piece(at, at + length, run, drawn))
            at += length
        return pieces

    def _format(self, piece: Piece) -> QTextLayout.FormatRange:
        style, theme, font = piece.run.style, self._theme, QFont(self._font)
        format_ = QTextCharFormat()
        if piece.drawing:
            font.setLetterSpacing(QFont.SpacingType.AbsoluteSpacing, 0)
            space = QTextLayout(_PLACE, font)
            space.beginLayout()
            line = space.createLine()
            space.endLayout()
            font.setLetterSpacing(
                QFont.SpacingType.AbsoluteSpacing, piece.drawing.width + 2 - line.naturalTextWidth()
            )
        elif style.code or style.math:
            weight = font.weight()
            font = theme.font("code")
            font.setPixelSize(max(1, round(self._font.pixelSize() * 0.9)))
            font.setWeight(weight)
        if style.bold:
            font.setWeight(QFont.Weight.DemiBold)
        font.setItalic(font.italic() or style.italic)
        font.setStrikeOut(style.struck)
        format_.setFont(font)
        colour = theme.accent if style.link else theme.dim if style.struck else self._colour
        format_.setForeground(colour)
        format_.setFontUnderline(bool(style.link))
        range_ = QTextLayout.FormatRange()
        range_.start, range_.length = self._units_of(piece)
        range_.format = format_
        return range_

    def _units_of(self, piece: Piece) -> tuple[int, int]:
        return self._units.range(piece.start, piece.end)

    def _paint_grounds(self, painter: QPainter, x: float, y: float) -> None:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._theme.code_ground if not self._theme.is_dark else self._theme.panel)
        for piece in self.pieces:
            if not piece.run.style.code:
                continue
            for box in self.boxes_of(piece.start, piece.end):
                painter.drawRoundedRect(box.translated(x, y).adjusted(-2.5, 0, 2.5, 0), 4, 4)

    def boxes_of(self, first: int, last: int) -> list[QRectF]:
        """The boxes around the characters `first` to `last`, one a line."""
        start, length = self._units.range(first, last)
        boxes: list[QRectF] = []
        first_line = self._layout.lineForTextPosition(start)
        for number in range(max(first_line.lineNumber(), 0), self._layout.lineCount()):
            line = self._layout.lineAt(number)
            if line.textStart() >= start + length:
                break
            begin = max(start, line.textStart())
            end = min(start + length, line.textStart() + line.textLength())
            if begin < end:
                left, right = sorted((x_in(line, begin), x_in(line, end)))
                boxes.append(QRectF(left, line.y(), right - left, line.height()))
        return boxes

    def _drawings(self, line: QTextLine) -> list[Piece]:
        start, end = line.textStart(), line.textStart() + line.textLength()
        return [piece for piece in self._drawn if start <= self._units_of(piece)[0] < end]

    def _place_of(self, piece: Piece) -> tuple[QTextLine, float]:
        start, length = self._units_of(piece)
        line = self._layout.lineForTextPosition(start)
        return line, min(x_in(line, start), x_in(line, start + length)) + 1

    def _line(self, at: int) -> QTextLine:
        line = self._layout.lineForTextPosition(self._units.range(0, at)[1])
        return line if line.isValid() else self._layout.lineAt(self._layout.lineCount() - 1)

    def _piece(self, at: int) -> Piece | None:
        number = bisect_right(self._starts, at) - 1
        return self.pieces[number] if 0 <= number < len(self.pieces) else None


def x_in(line: QTextLine, unit: int) -> float:
    """How far right a place in a line stands."""
    # PySide6 says object, and returns the x and the place that was used
    return cast("tuple[float, int]", line.cursorToX(unit))[0]


def reads_right_to_left(text: str) -> bool:
    """Whether the first letter that has a direction goes to the left."""
    for letter in text:
        kind = unicodedata.bidirectional(letter)
        if kind in ("L", "R", "AL"):
            return kind != "L"
    return False


def _is_exact(piece: Piece) -> bool:
    return piece.end - piece.start == piece.run.end - piece.run.start
