"""The blocks of one text, painted in one widget, so that a selection may cross them."""

from bisect import bisect_right
from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from ui.chat.blocks import Block, MathBlock, RuleBlock, TextBlock
from ui.chat.code import CodeBlock
from ui.chat.leaves import Leaf
from ui.chat.live_text import Change, Grown
from ui.chat.look import Look
from ui.chat.selection import Position, Selection
from ui.chat.table import TableBlock
from ui.theme import Themes


class Body(QWidget):
    """Lays its blocks out under each other; a change at the end touches nothing before it.

    Signals:
        relaid: its height changed by itself, as when lines were wrapped.
    """

    relaid = Signal()

    def __init__(self, themes: Themes, *, is_quiet: bool = False) -> None:
        super().__init__()
        self._themes, self._is_quiet = themes, is_quiet
        self._look = Look(themes.current, is_quiet)
        self.blocks: list[Block] = []
        self._tops: list[float] = [0.0]  # of the blocks, and where the next one would begin
        self._width = 0
        self.laid_out = 0  # blocks, ever
        self.selection = Selection()
        self.focused_link: tuple[int, int, int] | None = None  # block, first and last offset
        self.setSizePolicy(self.sizePolicy().Policy.Ignored, self.sizePolicy().Policy.Ignored)

    @property
    def text_height(self) -> int:
        """The height of all blocks."""
        return round(self._tops[-1])

    def show_leaves(self, leaves: Sequence[Leaf]) -> None:
        """Show `leaves` and nothing else."""
        self.change([Change(0, tuple(leaves))])

    def change(self, changes: Sequence[Change | Grown]) -> None:
        """Take in what changed at the end of the text."""
        for change in changes:
            if isinstance(change, Change):
                self._replace(change.keep, change.leaves)
            elif self.blocks and isinstance(last := self.blocks[-1], CodeBlock):
                last.grow(change.text)
                self._stack(len(self.blocks) - 1)

    def lay_out(self, width: int) -> int:
        """Take `width` px; return the height."""
        if width != self._width:
            self._width = width
            for block in self.blocks:
                self._lay_out(block)
            self._stack(0)
        return self.text_height

    def restyle(self) -> None:
        """The theme is another one: build the blocks anew."""
        self._look = Look(self._themes.current, self._is_quiet)
        leaves = [self._leaf_now(block) for block in self.blocks]
        selection = self.selection
        self._replace(0, ())
        self._replace(0, leaves)
        self.selection = selection
        self.update()

    def select(self, selection: Selection) -> None:
        """Mark `selection`."""
        if selection != self.selection:
            self.selection = selection
            self.update()

    def position_at(self, point: QPointF) -> Position:
        """The position nearest to a point."""
        if not self.blocks:
            return 0, 0
        number = self.number_at(point.y())
        return number, self.blocks[number].offset_at(point.x(), point.y() - self._tops[number])

    def number_at(self, y: float) -> int:
        """The block at a height, or the nearest above."""
        return max(0, min(bisect_right(self._tops, y) - 1, len(self.blocks) - 1))

    def link_at(self, point: QPointF) -> str:
        """The address under a point, or nothing."""
        if not self.blocks:
            return ""
        number = self.number_at(point.y())
        return self.blocks[number].link_at(point.x(), point.y() - self._tops[number])

    def box_of(self, selection: Selection) -> QRectF:
        """Where a selection stands."""
        if not self.blocks:
            return QRectF()
        box = QRectF()
        for number, offset in (selection.first, selection.last):
            block = self.blocks[number]
            near = block.box_of(max(0, offset - 1), min(offset + 1, block.length))
            box = box.united(near.translated(0, self._tops[number]))
        return box

    def natural_width(self) -> float:
        """The width of its widest line, when all blocks are lines of text."""
        texts = [b.natural_width() for b in self.blocks if isinstance(b, TextBlock)]
        return max(texts, default=0.0)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Qt's hook: the blocks that are seen."""
        painter = QPainter(self)
        clip = QRectF(event.rect())
        for number in range(self.number_at(clip.top()), len(self.blocks)):
            block, top = self.blocks[number], self._tops[number]
            if top > clip.bottom():
                break
            painter.save()
            painter.translate(0, top)
            selected = self.selection.inside(number, block.length)
            block.paint(painter, clip.translated(0, -top), selected)
            painter.restore()
        if self.focused_link and self.hasFocus():
            self._paint_focus(painter, self.focused_link)
        painter.end()

    def _paint_focus(self, painter: QPainter, link: tuple[int, int, int]) -> None:
        number, start, end = link
        painter.setPen(QPen(self._themes.current.accent, 1.5))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for box in self.blocks[number].boxes_of(start, end):
            painter.drawRoundedRect(
                box.translated(0, self._tops[number]).adjusted(-2, 0, 2, 0), 4, 4
            )

    def _replace(self, keep: int, leaves: Sequence[Leaf]) -> None:
        """Show `leaves` after the first `keep` blocks; blocks that stay the same stay."""
        first = keep
        for leaf in leaves:
            if first >= len(self.blocks) or not self._stays(self.blocks[first], leaf):
                break
            first += 1
        gone = self.blocks[first:]
        for block in gone:
            block.close()
        del self.blocks[first:]
        for number, leaf in enumerate(leaves[first - keep :]):
            block = self._build(leaf, gone[number] if number < len(gone) else None)
            self.blocks.append(block)
            if self._width:
                self._lay_out(block)
        self._stack(first)
        if self.selection.last[0] >= first:
            self._shorten_selection()

    def _shorten_selection(self) -> None:
        def within(position: Position) -> Position:
            number = min(position[0], len(self.blocks) - 1)
            if number < 0:
                return 0, 0
            offset = position[1] if number == position[0] else self.blocks[number].length
            return number, min(offset, self.blocks[number].length)

        self.selection = Selection(within(self.selection.anchor), within(self.selection.cursor))
        self.focused_link = None

    def _stays(self, block: Block, leaf: Leaf) -> bool:
        if isinstance(block, CodeBlock):
            return block.become(leaf)
        return block.leaf == leaf

    def _build(self, leaf: Leaf, before: Block | None) -> Block:
        match leaf.kind:
            case "code":
                return CodeBlock(leaf, self._look, self, self._themes, self._code_changed)
            case "table":
                return TableBlock(
                    leaf, self._look, before if isinstance(before, TableBlock) else None
                )
            case "math":
                return MathBlock(leaf, self._look)
            case "rule":
                return RuleBlock(leaf, self._look)
            case "paragraph" | "heading":
                return TextBlock(leaf, self._look)

    def _leaf_now(self, block: Block) -> Leaf:
        return block.leaf_now() if isinstance(block, CodeBlock) else block.leaf

    def _lay_out(self, block: Block) -> None:
        self.laid_out += 1
        block.lay_out(self._width)

    def _stack(self, first: int) -> None:
        """Place the blocks from number `first` on, and paint anew what is there."""
        del self._tops[max(first, 0) :]
        for number in range(first, len(self.blocks) + 1):
            before = self.blocks[number - 1] if number else None
            bottom = self._tops[-1] + before.height if before else 0.0
            gap = (
                self._gap(before, self.blocks[number])
                if before and number < len(self.blocks)
                else 0
            )
            self._tops.append(bottom + gap)
            if before and number < len(self.blocks):
                self.blocks[number].gap = gap if _in_one_quote(before, self.blocks[number]) else 0.0
        for number in range(first, len(self.blocks)):
            for button, box in self.blocks[number].controls():
                button.setGeometry(box.translated(0, self._tops[number]).toRect())
                button.show()
        top = int(self._tops[min(first, len(self._tops) - 1)])
        self.update(0, top, self.width(), max(self.height(), self.text_height) - top)

    def _gap(self, above: Block, below: Block) -> float:
        look, kinds = self._look, (above.leaf.kind, below.leaf.kind)
        if kinds[1] == "heading":
            return look.px(20 if below.leaf.level <= 2 else 16)
        if kinds[0] == "heading":
            return look.px(6)
        if not below.leaf.apart:
            return look.px(2 if below.leaf.containers else 0)
        return look.px(12 if {"code", "table"} & set(kinds) else 9)

    def _code_changed(self) -> None:
        for block in self.blocks:
            if isinstance(block, CodeBlock):
                block.lay_out(self._width)
        self._stack(0)
        self.update()
        self.relaid.emit()


def _in_one_quote(above: Block, below: Block) -> bool:
    both = zip(above.leaf.containers, below.leaf.containers, strict=False)
    return any(one.kind == other.kind == "quote" for one, other in both)
