"""A table: columns as wide as their text needs, cells that wrap."""

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QFont, QPainter

from ui.chat.blocks import NOTHING, Block, word_in
from ui.chat.flow import Flow, Piece
from ui.chat.leaves import Leaf
from ui.chat.look import Look
from ui.chat.sideways import Sideways

PAD_X, PAD_Y = 12, 7  # px around the text of a cell


class TableBlock(Block):
    """Offsets run through the cells, row by row; between two cells counts one character."""

    def __init__(self, leaf: Leaf, look: Look, before: "TableBlock | None" = None) -> None:
        """Lay `leaf` out; rows that `before` shows already are taken from it."""
        super().__init__(leaf, look)
        self._columns = max((len(row) for row in leaf.rows), default=1)
        self._rows: list[list[Flow]] = []
        self._starts: list[list[int]] = []
        self._sideways = Sideways(look)
        at = 0
        for number, row in enumerate(leaf.rows):
            known = before is not None and before.leaf.rows[number : number + 1] == (row,)
            flows = before.row(number) if before and known else self._flows(number)
            starts: list[int] = []
            for flow in flows:
                starts.append(at)
                at += len(flow.text) + 1
            self._rows.append(flows)
            self._starts.append(starts)
        self.length = max(0, at - 1)
        self._lefts: list[float] = []
        self._widths: list[float] = []
        self._tops: list[float] = []

    def row(self, number: int) -> list[Flow]:
        """The cells of a row."""
        return self._rows[number]

    def copied(self, start: int, end: int) -> str:
        """As it is put on the clipboard."""
        lines: list[str] = []
        for flows, starts in zip(self._rows, self._starts, strict=True):
            cells = [
                flow.copied(max(0, start - at), min(end - at, len(flow.text)))
                for flow, at in zip(flows, starts, strict=True)
                if at < end and at + len(flow.text) + 1 > start
            ]
            if cells:
                lines.append("\t".join(cells))
        return "\n".join(lines)

    def links(self) -> list[tuple[int, int, str]]:
        """First and last offset, and address, of each link."""
        return [
            (at + piece.start, at + piece.end, piece.run.style.link)
            for flow, at in self._cells()
            for piece in flow.links()
        ]

    def boxes_of(self, start: int, end: int) -> list[QRectF]:
        """A box for each of their lines."""
        for number, starts in enumerate(self._starts):
            for column, at in enumerate(starts):
                flow = self._rows[number][column]
                if at <= start < at + len(flow.text):
                    x = self.left + self._lefts[column] + PAD_X - self._sideways.at
                    boxes = flow.boxes_of(start - at, end - at)
                    return [box.translated(x, self._tops[number] + PAD_Y) for box in boxes]
        return []

    def word_at(self, offset: int) -> tuple[int, int]:
        """The word around an offset."""
        for flow, at in self._cells():
            if at <= offset <= at + len(flow.text):
                start, end = word_in(flow.text, offset - at)
                return at + start, at + end
        return NOTHING

    def from_source(self, start: int, end: int) -> tuple[int, int]:
        """What a piece of the source wrote."""
        found = [
            (at + first, at + last)
            for flow, at in self._cells()
            for first, last in [flow.from_source(start, end)]
            if first < last
        ]
        return (found[0][0], found[-1][1]) if found else NOTHING

    def to_source(self, start: int, end: int) -> tuple[int, int]:
        """What wrote the characters."""
        found = [
            flow.to_source(max(0, start - at), min(end - at, len(flow.text)))
            for flow, at in self._cells()
            if at < end and at + len(flow.text) > start
        ]
        found = [each for each in found if each[0] < each[1]]
        return (found[0][0], found[-1][1]) if found else NOTHING

    def scroll_sideways(self, by: float) -> bool:
        """Move what is wider than its place."""
        return self._sideways.move(by)

    def _flows(self, number: int) -> list[Flow]:
        look, font = self.look, self.look.font
        if number == 0:
            font.setWeight(QFont.Weight.DemiBold)
        cells = self.leaf.rows[number]
        return [Flow(cell.runs, look.theme, font, look.colour, cell.side) for cell in cells]

    def _cells(self) -> list[tuple[Flow, int]]:
        return [
            pair
            for flows, starts in zip(self._rows, self._starts, strict=True)
            for pair in zip(flows, starts, strict=True)
        ]

    def _lay_out(self, width: float) -> float:
        self._widths = self._fitted(width)
        self._lefts = [sum(self._widths[:n]) for n in range(self._columns)]
        self._sideways.fit(sum(self._widths), width)
        self._tops = [0.0]
        for flows in self._rows:
            heights = [
                flow.lay_out(self._widths[n] - 2 * PAD_X) for n, flow in enumerate(flows)
            ] or [0.0]
            self._tops.append(self._tops[-1] + max(heights) + 2 * PAD_Y)
        return self._tops[-1] + 1 + (8 if self._sideways.overflows else 0)

    def _fitted(self, width: float) -> list[float]:
        """Natural widths if they fit; else wide columns give way, none below its longest word."""
        natural = [0.0] * self._columns
        least = [0.0] * self._columns
        for flows in self._rows:
            for n, flow in enumerate(flows):
                natural[n] = max(natural[n], flow.widest + 2 * PAD_X + 1)
                least[n] = max(least[n], min(flow.narrowest, 160.0) + 2 * PAD_X + 1)
        least = [min(least[n], natural[n]) for n in range(self._columns)]
        if sum(natural) <= width:
            return natural
        if sum(least) >= width:
            return least
        share = (width - sum(least)) / (sum(natural) - sum(least))
        return [low + (high - low) * share for low, high in zip(least, natural, strict=True)]

    def _paint(self, painter: QPainter, clip: QRectF, selected: tuple[int, int]) -> None:
        theme, room = self.look.theme, self.width - self.inset
        painter.save()
        painter.setClipRect(QRectF(0, 0, room, self._tops[-1] + 1), Qt.ClipOperation.IntersectClip)
        painter.translate(-self._sideways.at, 0)
        wide = min(sum(self._widths), max(room, sum(self._widths)))
        for number, flows in enumerate(self._rows):
            top, bottom = self._tops[number], self._tops[number + 1]
            if bottom < clip.top() or top > clip.bottom():
                continue
            painter.fillRect(
                QRectF(0, bottom, wide, 1), theme.rejected if not number else theme.line
            )
            for n, flow in enumerate(flows):
                at = self._starts[number][n]
                marked = (max(0, selected[0] - at), min(len(flow.text), selected[1] - at))
                flow.paint(painter, self._lefts[n] + PAD_X, top + PAD_Y, marked)
        painter.restore()
        self._sideways.paint(painter, 0, self._tops[-1] + 4)

    def _cell_at(self, x: float, y: float) -> tuple[Flow, int, float, float] | None:
        x += self._sideways.at
        row = next(
            (n for n in range(len(self._rows)) if y < self._tops[n + 1]), len(self._rows) - 1
        )
        if row < 0 or not self._rows[row]:
            return None
        last = len(self._rows[row]) - 1
        column = next((n for n in range(last) if x < self._lefts[n] + self._widths[n]), last)
        flow = self._rows[row][column]
        left, top = self._lefts[column] + PAD_X, self._tops[row] + PAD_Y
        return flow, self._starts[row][column], x - left, y - top

    def _offset_at(self, x: float, y: float) -> int:
        cell = self._cell_at(x, y)
        return 0 if cell is None else cell[1] + cell[0].offset_at(cell[2], cell[3])

    def _link_at(self, x: float, y: float) -> str:
        cell = self._cell_at(x, y)
        piece: Piece | None = None if cell is None else cell[0].piece_at(cell[2], cell[3])
        return piece.run.style.link if piece else ""
