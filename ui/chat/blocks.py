"""Blocks: leaves that are laid out in a width and painted, inside their quotes and list items."""

from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPainterPath, QPen

from ui.chat.flow import LINE, Flow, reads_right_to_left
from ui.chat.leaves import Leaf, Run, Style
from ui.chat.math import Drawing, drawing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PySide6.QtWidgets import QAbstractButton

    from ui.chat.look import Look

QUOTE, ITEM = 16, 24  # px of indent
NOTHING = (0, 0)


class Block:
    """One leaf on screen. Its own coordinates begin at its top left, its quotes included.

    `length` counts the characters that can be selected; `height` holds after `lay_out`.
    """

    length = 0

    def __init__(self, leaf: Leaf, look: "Look") -> None:
        self.leaf, self.look = leaf, look
        self.height = 0.0
        self.width = 0.0
        self.gap = 0.0  # to a block above that stands in the same quote
        self._is_mirrored = reads_right_to_left("".join(run.text for run in leaf.runs))
        self._indents = [self._indent(n) for n in range(len(leaf.containers))]

    @property
    def inset(self) -> float:
        """What quotes and items take of the width."""
        return float(sum(self._indents))

    @property
    def left(self) -> float:
        """Where the content begins."""
        return 0.0 if self._is_mirrored else self.inset

    def lay_out(self, width: float) -> None:
        """Take `width` px."""
        self.width = width
        self.height = self._lay_out(max(width - self.inset, 40))

    def paint(self, painter: QPainter, clip: QRectF, selected: tuple[int, int]) -> None:
        """Draw what is inside `clip`, with the characters of `selected` marked."""
        self._paint_containers(painter)
        painter.save()
        painter.translate(self.left, 0)
        self._paint(painter, clip.translated(-self.left, 0), selected)
        painter.restore()

    def offset_at(self, x: float, y: float) -> int:
        """The offset nearest to a point."""
        return self._offset_at(x - self.left, y)

    def link_at(self, x: float, y: float) -> str:
        """The address under a point, or nothing."""
        return self._link_at(x - self.left, y)

    def links(self) -> "list[tuple[int, int, str]]":
        """The links: first and last offset, address."""
        return []

    def box_of(self, start: int, end: int) -> QRectF:
        """Where the characters `start` to `end` stand."""
        del start, end
        return QRectF(0, 0, self.width, self.height)

    def boxes_of(self, start: int, end: int) -> list[QRectF]:
        """The boxes around the characters `start` to `end`, one a line."""
        return [self.box_of(start, end)]

    def copied(self, start: int, end: int) -> str:
        """The characters `start` to `end` as they are put on the clipboard."""
        del start, end
        return ""

    def word_at(self, offset: int) -> tuple[int, int]:
        """The word around an offset."""
        del offset
        return 0, self.length

    def from_source(self, start: int, end: int) -> tuple[int, int]:
        """The characters that the piece `start` to `end` of the source wrote."""
        return (0, self.length) if self.leaf.start < end and start < self.leaf.end else NOTHING

    def to_source(self, start: int, end: int) -> tuple[int, int]:
        """The piece of the source that wrote the characters `start` to `end`."""
        return (self.leaf.start, self.leaf.end) if start < end else NOTHING

    def scroll_sideways(self, by: float) -> bool:
        """Move the content by `by` px; say whether it moved."""
        del by
        return False

    def controls(self) -> "Sequence[tuple[QAbstractButton, QRectF]]":
        """Its buttons, and where they stand."""
        return ()

    def close(self) -> None:
        """It is not shown any more."""

    def _lay_out(self, width: float) -> float:
        raise NotImplementedError

    def _paint(self, painter: QPainter, clip: QRectF, selected: tuple[int, int]) -> None:
        raise NotImplementedError

    def _offset_at(self, x: float, y: float) -> int:
        del x
        return 0 if y < self.height / 2 else self.length

    def _link_at(self, x: float, y: float) -> str:
        del x, y
        return ""

    def _indent(self, number: int) -> float:
        container = self.leaf.containers[number]
        if container.kind == "quote":
            return self.look.px(QUOTE)
        marker = QFontMetricsF(self.look.font).horizontalAdvance(container.marker)
        return max(self.look.px(ITEM), marker + self.look.px(10))

    def _paint_containers(self, painter: QPainter) -> None:
        edge = self.width if self._is_mirrored else 0.0
        for container, indent in zip(self.leaf.containers, self._indents, strict=True):
            box = QRectF(edge, 0, indent, self.height)
            if self._is_mirrored:
                box.moveRight(edge)
            if container.kind == "quote":
                bar = QRectF(box.left(), -self.gap, 3, self.height + self.gap)
                if self._is_mirrored:
                    bar.moveRight(box.right())
                painter.fillRect(bar, self.look.theme.line)
            elif container.ticked is not None and container.marker:
                self._paint_box(painter, box, container.ticked)
            elif container.marker:
                self._paint_marker(painter, box, container.marker)
            edge += -indent if self._is_mirrored else indent

    def _paint_marker(self, painter: QPainter, box: QRectF, marker: str) -> None:
        painter.setFont(self.look.font)
        painter.setPen(self.look.theme.dim)
        gap = self.look.px(7)
        row = round(self.look.font.pixelSize() * LINE)
        cell = QRectF(box.left(), 0, box.width() - gap, row)
        align = Qt.AlignmentFlag.AlignRight
        if self._is_mirrored:
            cell.translate(gap, 0)
            align = Qt.AlignmentFlag.AlignLeft
        painter.drawText(cell, int(align | Qt.AlignmentFlag.AlignVCenter), marker)

    def _paint_box(self, painter: QPainter, box: QRectF, ticked: bool) -> None:
        theme, side = self.look.theme, self.look.px(13)
        row = round(self.look.font.pixelSize() * LINE)
        left = box.left() + self.look.px(6) if self._is_mirrored else box.right() - side - 7
        square = QRectF(left + 0.5, (row - side) / 2 + 0.5, side - 1, side - 1)
        painter.setPen(QPen(theme.accent if ticked else theme.faint, 1))
        painter.setBrush(theme.accent if ticked else QColor(0, 0, 0, 0))
        painter.drawRoundedRect(square, 3, 3)
        if ticked:
            hook = QPainterPath(square.topLeft() + QPointF(side * 0.22, side * 0.48))
            hook.lineTo(square.topLeft() + QPointF(side * 0.42, side * 0.68))
            hook.lineTo(square.topLeft() + QPointF(side * 0.76, side * 0.26))
            painter.setPen(QPen(theme.ground, 1.6))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawPath(hook)


class TextBlock(Block):
    """A paragraph or a heading."""

    def __init__(self, leaf: Leaf, look: "Look") -> None:
        super().__init__(leaf, look)
        font = look.heading(leaf.level) if leaf.kind == "heading" else look.font
        quoted = any(each.kind == "quote" for each in leaf.containers)
        self._flow = Flow(leaf.runs, look.theme, font, look.theme.dim if quoted else look.colour)
        self.length = len(self._flow.text)

    def copied(self, start: int, end: int) -> str:
        """As it is put on the clipboard."""
        return self._flow.copied(start, end)

    def links(self) -> list[tuple[int, int, str]]:
        """First and last offset, and address, of each link."""
        return [(p.start, p.end, p.run.style.link) for p in self._flow.links()]

    def box_of(self, start: int, end: int) -> QRectF:
        """Where the characters stand."""
        return self._flow.box_of(start, end).translated(self.left, 0)

    def boxes_of(self, start: int, end: int) -> list[QRectF]:
        """A box for each of their lines."""
        return [box.translated(self.left, 0) for box in self._flow.boxes_of(start, end)]

    def word_at(self, offset: int) -> tuple[int, int]:
        """The word around an offset."""
        return word_in(self._flow.text, offset)

    def from_source(self, start: int, end: int) -> tuple[int, int]:
        """What a piece of the source wrote."""
        return self._flow.from_source(start, end)

    def to_source(self, start: int, end: int) -> tuple[int, int]:
        """What wrote the characters."""
        return self._flow.to_source(start, end)

    def natural_width(self) -> float:
        """The width that it takes without breaking any line."""
        return self._flow.widest + self.inset

    def _lay_out(self, width: float) -> float:
        return self._flow.lay_out(width)

    def _paint(self, painter: QPainter, clip: QRectF, selected: tuple[int, int]) -> None:
        del clip
        self._flow.paint(painter, 0, 0, selected)

    def _offset_at(self, x: float, y: float) -> int:
        return self._flow.offset_at(x, y)

    def _link_at(self, x: float, y: float) -> str:
        piece = self._flow.piece_at(x, y)
        return piece.run.style.link if piece else ""


class RuleBlock(Block):
    """A line across."""

    def _lay_out(self, width: float) -> float:
        del width
        return float(self.look.px(17))

    def _paint(self, painter: QPainter, clip: QRectF, selected: tuple[int, int]) -> None:
        del clip, selected
        y = self.height // 2
        painter.fillRect(QRectF(0, y, self.width - self.inset, 1), self.look.theme.line)


class MathBlock(Block):
    """A formula on its own line; its source when it cannot be drawn or is wider than the column."""

    length = 1

    def __init__(self, leaf: Leaf, look: "Look") -> None:
        super().__init__(leaf, look)
        size = look.font.pixelSize() * 1.1
        self._drawing: Drawing | None = drawing(leaf.text, size, look.colour.name(), in_line=False)
        run = Run(leaf.text, Style(code=True), leaf.start, leaf.end)
        self._source = Flow((run,), look.theme, look.font, look.colour)
        self._content = 0.0

    def copied(self, start: int, end: int) -> str:
        """As it is put on the clipboard."""
        return f"$$\n{self.leaf.text}\n$$" if start < end else ""

    def _lay_out(self, width: float) -> float:
        self._content = width
        if self._drawing and self._drawing.width <= width:
            return self._drawing.height + self.look.px(12)
        return self._source.lay_out(width)

    def _paint(self, painter: QPainter, clip: QRectF, selected: tuple[int, int]) -> None:
        del clip
        if self._drawing is None or self._drawing.width > self._content:
            marked = (0, len(self._source.text)) if selected[0] < selected[1] else NOTHING
            self._source.paint(painter, 0, 0, marked)
            return
        left = (self._content - self._drawing.width) / 2
        top = self.look.px(6)
        if selected[0] < selected[1]:
            box = QRectF(left, top, self._drawing.width, self._drawing.height)
            painter.fillRect(box, self.look.theme.selection)
        self._drawing.paint(painter, left, top + self._drawing.ascent)


def word_in(text: str, offset: int) -> tuple[int, int]:
    """The word around an offset, or the one character there."""
    start = end = min(offset, len(text))
    while start > 0 and (text[start - 1].isalnum() or text[start - 1] in "_'’"):
        start -= 1
    while end < len(text) and (text[end].isalnum() or text[end] in "_'’"):
        end += 1
    return (start, end) if start < end else (start, min(start + 1, len(text)))
