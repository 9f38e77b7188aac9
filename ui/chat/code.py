"""A card with code: its language, its lines, and buttons to copy and to wrap them."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from PySide6.QtCore import QRectF, Qt, QTimer
from PySide6.QtGui import QGuiApplication, QPainter, QPainterPath, QPen
from PySide6.QtWidgets import QAbstractButton, QWidget

from ui.buttons import Button
from ui.chat import words
from ui.chat.blocks import NOTHING, Block, word_in
from ui.chat.code_lines import CodeLines
from ui.chat.colours import LONGEST, Colouring, lexer_for
from ui.chat.leaves import Leaf
from ui.chat.look import Look
from ui.chat.sideways import Sideways
from ui.theme import Themes
from ui.wording import tr

HEAD, PAD, RADIUS = 31, 14, 9  # px
SLICE = 0.004  # seconds of colouring between two events of the window
AGAIN = 1.5  # the part read anew of growing code has grown so many times as long before it is
COPIED_MS = 1600


class CodeBlock(Block):
    """The card of one fence. It may grow while its fence is open."""

    def __init__(
        self, leaf: Leaf, look: Look, host: QWidget, themes: Themes, relaid: Callable[[], None]
    ) -> None:
        super().__init__(leaf, look)
        self._host, self._relaid = host, relaid
        self.lines = CodeLines(leaf.text, look)
        self.length = self.lines.length
        self._sideways = Sideways(look)
        self._is_wrapped = False
        self._lexer = lexer_for(leaf.language)
        self._colouring: Colouring | None = None
        self._read = self._asked = 0  # characters that are coloured, or are being
        self._fresh = 0  # the line from which growing code is coloured
        self._is_whole = False  # coloured in one go
        self._is_open = leaf.is_open
        self._timer = QTimer(host)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._colour)
        self._copy = Button(themes, tr(words.COPY), parent=host)
        self._copy.describe(tr(words.COPY_CODE))
        self._copy.clicked.connect(self._put_on_clipboard)
        self._wrap = Button(themes, tr(words.WRAP), parent=host)
        self._wrap.describe(tr(words.WRAP_CODE))
        self._wrap.setCheckable(True)
        self._wrap.toggled.connect(self._set_wrapped)
        self._said = QTimer(host)
        self._said.setSingleShot(True)
        self._said.setInterval(COPIED_MS)
        self._said.timeout.connect(self._say_copy)

    def grow(self, text: str) -> None:
        """Add text to the open fence."""
        self.lines.grow(text)
        self.length = self.lines.length
        self.lay_out(self.width)

    def leaf_now(self) -> Leaf:
        """Its leaf, with what was added."""
        return replace(self.leaf, text=self.lines.text)

    def become(self, leaf: Leaf) -> bool:
        """Be the card of `leaf`, if its code is what is shown; say whether it is."""
        same = leaf.kind == "code" and leaf.language == self.leaf.language
        if not same or leaf.containers != self.leaf.containers:
            return False
        if leaf.text.rstrip("\n") != self.lines.text.rstrip("\n"):
            return False
        self.leaf, self._is_open = leaf, leaf.is_open
        return True

    def close(self) -> None:
        """Let go of its buttons."""
        for gone in (self._copy, self._wrap, self._timer, self._said):
            gone.deleteLater()
        self._copy.hide()
        self._wrap.hide()

    def controls(self) -> Sequence[tuple[QAbstractButton, QRectF]]:
        """Copy and wrap, at the top right."""
        right, top = self.left + self.width - self.inset - 6, 3
        boxes: list[tuple[QAbstractButton, QRectF]] = []
        for button in (self._copy, self._wrap):
            size = button.sizeHint()
            right -= size.width()
            height = self._head - 6
            boxes.append((button, QRectF(right, top, size.width(), height)))
        return boxes

    def box_of(self, start: int, end: int) -> QRectF:
        """Where the characters stand."""
        return self.lines.box_of(start, end).translated(self.left + PAD, self._head + self._pad)

    def copied(self, start: int, end: int) -> str:
        """As it is put on the clipboard."""
        return self.lines.copied(start, end)

    def word_at(self, offset: int) -> tuple[int, int]:
        """The word around an offset."""
        near = max(0, offset - 200)
        start, end = word_in(self.lines.copied(near, offset + 200), offset - near)
        return near + start, near + end

    def from_source(self, start: int, end: int) -> tuple[int, int]:
        """What a piece of the source wrote."""
        first = self._first_in_source
        begin, finish = max(start - first, 0), min(end - first, self.length)
        return (begin, finish) if begin < finish else NOTHING

    def to_source(self, start: int, end: int) -> tuple[int, int]:
        """What wrote the characters."""
        first = self._first_in_source
        return (first + start, first + end) if start < end else NOTHING

    def scroll_sideways(self, by: float) -> bool:
        """Move what is wider than its place."""
        return not self._is_wrapped and self._sideways.move(by)

    @property
    def _first_in_source(self) -> int:
        """Where the code begins; in a list its indents make this an estimate."""
        return self.leaf.start + self.leaf.level + len(self.leaf.language) + 1

    @property
    def _head(self) -> int:
        return self.look.px(HEAD)

    @property
    def _pad(self) -> int:
        return self.look.px(10)

    def _lay_out(self, width: float) -> float:
        room = width - 2 * PAD
        self.lines.wrap(room if self._is_wrapped else 0.0)
        self._sideways.fit(0.0 if self._is_wrapped else self.lines.widest, room)
        return self._head + self.lines.height + 2 * self._pad

    def _paint(self, painter: QPainter, clip: QRectF, selected: tuple[int, int]) -> None:
        theme, width = self.look.theme, self.width - self.inset
        card = QRectF(0.5, 0.5, width - 1, self.height - 1)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(theme.line, 1))
        painter.setBrush(theme.code_ground)
        painter.drawRoundedRect(card, RADIUS, RADIUS)
        painter.fillRect(QRectF(1, self._head, width - 2, 1), theme.line)
        painter.setFont(theme.font("small"))
        painter.setPen(theme.dim)
        label = QRectF(PAD - 1, 0, width / 2, self._head)
        align = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(label, int(align), self.leaf.language or tr(words.CODE))
        top = self._head + self._pad
        inside = QPainterPath()
        inside.addRect(QRectF(2, self._head, width - 4, self.height - self._head))
        painter.save()
        painter.setClipPath(inside, Qt.ClipOperation.IntersectClip)
        painter.translate(PAD - self._sideways.at, top)
        self.lines.paint(painter, clip.translated(0, -top), selected)
        painter.restore()
        self._sideways.paint(painter, PAD, self.height - 7)
        self._want_colours()

    def _offset_at(self, x: float, y: float) -> int:
        if y < self._head:
            return 0
        return self.lines.offset_at(x - PAD + self._sideways.at, y - self._head - self._pad)

    def _want_colours(self) -> None:
        """Colour what is painted, unless it was, or is being coloured, or has just grown a bit.

        While the fence is open only the end is read; once it is closed everything is, once more.
        """
        size = self.lines.length
        if not self._lexer or self._colouring is not None or size > LONGEST:
            return
        first = self._fresh if self._is_open else 0
        start = self.lines.start_of(first)
        if self._is_open:
            wanted = size - start > AGAIN * (self._read - start)
        else:
            wanted = not self._is_whole
        if wanted:
            self._is_whole, self._asked = first == 0 and not self._is_open, size
            self._colouring = Colouring(self.lines.text_from(first), self._lexer, first)
            self._timer.start(0)

    def _colour(self) -> None:
        if self._colouring is None:
            return
        more = self._colouring.work(SLICE)
        self.lines.show_inks(self._colouring.inks)
        self._colouring.inks.clear()
        if more:
            self._timer.start(1)
        else:
            self._read, self._fresh = self._asked, self._colouring.fresh
            self._colouring = None
        self._host.update()

    def _set_wrapped(self, wrapped: bool) -> None:
        self._is_wrapped = wrapped
        self._relaid()

    def _put_on_clipboard(self) -> None:
        QGuiApplication.clipboard().setText(self.lines.text.removesuffix("\n"))
        self._copy.setText(tr(words.COPIED))
        self._said.start()
        self._relaid()

    def _say_copy(self) -> None:
        self._copy.setText(tr(words.COPY))
        self._relaid()
