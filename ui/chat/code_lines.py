"""Lines of code: laid out only while they are painted, coloured when they are."""

from bisect import bisect_right
from collections.abc import Iterator

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QTextCharFormat, QTextLayout, QTextOption

from ui.chat.colours import Ink, colour_of
from ui.chat.flow import LINE, x_in
from ui.chat.look import Look
from ui.chat.utf16 import Units

KEPT = 600  # lines that stay laid out
MEASURED = 4000  # characters; longer lines are taken to be as wide as so many letters


class CodeLines:
    """The lines of one card. Offsets count characters, line ends included.

    Unwrapped lines are equally high, so that a new one costs the same wherever it stands; wrapped
    ones are measured once each.
    """

    def __init__(self, text: str, look: Look) -> None:
        self._look = look
        self._font = look.theme.font("code")
        self._metrics = QFontMetricsF(self._font)
        self.row = round(self._font.pixelSize() * LINE)
        self._texts: list[str] = [""]
        self._starts = [0]
        self._inks: dict[int, tuple[Ink, ...]] = {}
        self._laid: dict[int, QTextLayout] = {}
        self._tops: list[float] = []  # of wrapped lines, and the end of the last one
        self._wrap_width = 0.0
        self.widest = 0.0
        self.grow(text)

    @property
    def count(self) -> int:
        """The lines that are shown: an empty last one is not."""
        return len(self._texts) - (len(self._texts) > 1 and not self._texts[-1])

    @property
    def length(self) -> int:
        """The characters of the shown lines."""
        last = self.count - 1
        return self._starts[last] + len(self._texts[last])

    @property
    def height(self) -> float:
        """Of all lines, in px."""
        return self._tops[self.count] if self._wrap_width else float(self.count * self.row)

    @property
    def text(self) -> str:
        """All lines."""
        return "\n".join(self._texts)

    def grow(self, text: str) -> None:
        """Add text at the end."""
        first = len(self._texts) - 1
        new = text.split("\n")
        self._texts[-1] += new[0]
        self._laid.pop(first, None)
        for line in new[1:]:
            self._starts.append(self._starts[-1] + len(self._texts[-1]) + 1)
            self._texts.append(line)
        for line in self._texts[first:]:
            self.widest = max(self.widest, self._width_of(line))
        if self._wrap_width:
            del self._tops[first + 1 :]
            self._measure()

    def text_from(self, line: int) -> str:
        """The lines from number `line` on."""
        return "\n".join(self._texts[line:])

    def start_of(self, line: int) -> int:
        """The offset at which a line begins."""
        return self._starts[line]

    def wrap(self, width: float) -> None:
        """Break lines to `width`; 0 leaves them whole."""
        if width != self._wrap_width:
            self._wrap_width = width
            self._laid.clear()
            self._tops = [0.0]
            if width:
                self._measure()

    def show_inks(self, inks: dict[int, tuple[Ink, ...]]) -> None:
        """Colour the lines that are in `inks`."""
        for number, line in inks.items():
            if self._inks.get(number) != line:
                self._inks[number] = line
                self._laid.pop(number, None)

    def paint(self, painter: QPainter, clip: QRectF, selected: tuple[int, int]) -> None:
        """Draw the lines inside `clip`."""
        for number in self._visible(clip):
            layout = self._layout(number)
            marks: list[QTextLayout.FormatRange] = []
            start, end = (at - self._starts[number] for at in selected)
            if start < end and end > 0 and start <= len(self._texts[number]):
                text = self._texts[number]
                marks.append(self._mark(text, max(start, 0), min(end, len(text))))
            layout.draw(painter, QPointF(0, self._top(number)), marks)

    def offset_at(self, x: float, y: float) -> int:
        """The offset nearest to a point."""
        number = self._number_at(y)
        layout = self._layout(number)
        inside = y - self._top(number)
        line = layout.lineAt(min(max(0, int(inside // self.row)), layout.lineCount() - 1))
        index = Units(self._texts[number]).index(line.xToCursor(x))
        return self._starts[number] + min(index, len(self._texts[number]))

    def box_of(self, start: int, end: int) -> QRectF:
        """Where the characters `start` to `end` stand."""
        first, last = self._line_of(start), self._line_of(max(start, end - 1))
        bottom = self._top(last + 1) if last + 1 <= self.count else self.height
        return QRectF(0, self._top(first), self.widest, bottom - self._top(first))

    def x_of(self, offset: int) -> float:
        """How far right an offset stands."""
        number = self._line_of(offset)
        unit = Units(self._texts[number]).unit(offset - self._starts[number])
        line = self._layout(number).lineForTextPosition(unit)
        return x_in(line, unit) if line.isValid() else 0.0

    def copied(self, start: int, end: int) -> str:
        """The characters `start` to `end`."""
        first, last = self._line_of(start), self._line_of(end)
        text = "\n".join(self._texts[first : last + 1])
        return text[start - self._starts[first] : end - self._starts[first]]

    def _line_of(self, offset: int) -> int:
        return max(0, min(bisect_right(self._starts, offset), self.count) - 1)

    def _top(self, number: int) -> float:
        return self._tops[number] if self._wrap_width else float(number * self.row)

    def _number_at(self, y: float) -> int:
        number = bisect_right(self._tops, y) - 1 if self._wrap_width else int(y // self.row)
        return max(0, min(number, self.count - 1))

    def _visible(self, clip: QRectF) -> Iterator[int]:
        return iter(range(self._number_at(clip.top()), self._number_at(clip.bottom()) + 1))

    def _measure(self) -> None:
        for number in range(len(self._tops) - 1, len(self._texts)):
            if self._width_of(self._texts[number]) <= self._wrap_width:
                lines = 1
            else:
                lines = self._layout(number).lineCount()
            self._tops.append(self._tops[-1] + lines * self.row)

    def _width_of(self, line: str) -> float:
        if len(line) > MEASURED:
            return len(line) * self._metrics.averageCharWidth()
        tabs = line.count("\t")
        return self._metrics.horizontalAdvance(line) + tabs * 3 * self._metrics.averageCharWidth()

    def _layout(self, number: int) -> QTextLayout:
        layout = self._laid.pop(number, None)
        if layout is None:
            layout = self._laid_out(number)
        self._laid[number] = layout  # the last used is the last in the row
        if len(self._laid) > KEPT:
            del self._laid[next(iter(self._laid))]
        return layout

    def _laid_out(self, number: int) -> QTextLayout:
        text, theme = self._texts[number], self._look.theme
        layout = QTextLayout(text, self._font)
        option = QTextOption(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignAbsolute)
        option.setTextDirection(Qt.LayoutDirection.LeftToRight)
        option.setTabStopDistance(4 * self._metrics.averageCharWidth())
        wrap = QTextOption.WrapMode
        option.setWrapMode(wrap.WrapAnywhere if self._wrap_width else wrap.NoWrap)
        layout.setTextOption(option)
        layout.setCacheEnabled(True)
        units = Units(text)
        formats = [QTextLayout.FormatRange()]
        formats[0].start, formats[0].length = units.range(0, len(text))
        formats[0].format.setForeground(theme.text)
        for ink in self._inks.get(number, ()):
            range_ = QTextLayout.FormatRange()
            range_.start, range_.length = units.range(ink.start, ink.start + ink.length)
            range_.format.setForeground(colour_of(ink.part, theme))
            formats.append(range_)
        layout.setFormats(formats)
        layout.beginLayout()
        top = 0.0
        while (line := layout.createLine()).isValid():
            line.setLineWidth(self._wrap_width or 1e6)
            line.setPosition(QPointF(0, top + (self.row - line.height()) / 2))
            top += self.row
        layout.endLayout()
        return layout

    def _mark(self, text: str, start: int, end: int) -> QTextLayout.FormatRange:
        mark = QTextLayout.FormatRange()
        mark.start, mark.length = Units(text).range(start, end)
        mark.format = QTextCharFormat()
        mark.format.setBackground(self._look.theme.selection)
        return mark
