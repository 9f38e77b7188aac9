"""The strip under an answer: what drafting did, in one line and round by round."""

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QRectF, Qt, Signal
from PySide6.QtGui import QEnterEvent, QFont, QFontMetricsF, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QFrame, QScrollArea, QWidget

from app.conversation import DraftMark
from engine.events import Finished, Round
from ui import icons
from ui.buttons import Button
from ui.chat import strip_text, words
from ui.chat.bars import style_of
from ui.chat.strip_grid import StripGrid
from ui.chat.strip_text import Tally, Wish
from ui.theme import Themes
from ui.wording import tr

HEAD = 30  # px
ARROW = 26  # px at the end of the line
BESIDE = 330  # px that the line needs beside a button
MOST_LINES = 4  # more are scrolled through


class StripHead(QAbstractButton):
    """The line that tells the sum, and opens or folds the columns."""

    def __init__(self, themes: Themes) -> None:
        super().__init__()
        self._themes = themes
        self._bold, self._rest = "", ""
        self._taken = 0  # px before the arrow that a button stands in
        self.setCheckable(True)
        self.setChecked(True)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)

    def tell(self, bold: str, rest: str) -> None:
        """Show these words."""
        if (bold, rest) != (self._bold, self._rest):
            self._bold, self._rest = bold, rest
            self.setText(strip_text.SEPARATOR.join(part for part in (bold, rest) if part))
            self.update()

    @property
    def room(self) -> int:
        """Pixels that the words have."""
        return self.width() - self._themes.current.pixels(ARROW) - self._taken

    def keep_free(self, pixels: int) -> None:
        """Leave room before the arrow."""
        if pixels != self._taken:
            self._taken = pixels
            self.update()

    def enterEvent(self, event: QEnterEvent) -> None:
        """Qt's hook: the arrow is clearer under the pointer."""
        super().enterEvent(event)
        self.update()

    def leaveEvent(self, event: QEvent) -> None:
        """Qt's hook: the arrow is quiet again."""
        super().leaveEvent(event)
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Qt's hook: the words and the arrow."""
        theme, painter = self._themes.current, QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        small = theme.font("small")
        strong = QFont(small)
        strong.setWeight(QFont.Weight.DemiBold)
        align = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        room = self.room
        x = 0.0
        for font, colour, text in (
            (strong, theme.text, self._bold),
            (small, theme.dim, self._rest),
        ):
            if not text:
                continue
            shown = text if not x else f"  ·  {text}"
            metrics = QFontMetricsF(font)
            fitted = metrics.elidedText(
                shown.replace(strip_text.SEPARATOR, "  ·  "), Qt.TextElideMode.ElideRight, room - x
            )
            painter.setFont(font)
            painter.setPen(colour)
            painter.drawText(QRectF(x, 0, room - x, self.height()), align, fitted)
            x += metrics.horizontalAdvance(fitted)
        self._paint_arrow(painter)
        if self.hasFocus():
            painter.setPen(QPen(theme.accent, 1.5))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.75, 3, -0.75, -3), 5, 5)
        painter.end()

    def _paint_arrow(self, painter: QPainter) -> None:
        theme = self._themes.current
        side = float(theme.pixels(14))
        square = QRectF(self.width() - side - 2, (self.height() - side) / 2, side, side)
        painter.save()
        painter.translate(square.center())
        if self.isChecked():
            painter.rotate(180)
        ink = theme.text if self.underMouse() else theme.faint
        icons.paint(painter, "chevron", ink, square.translated(-square.center()))
        painter.restore()


class Strip(QWidget):
    """The line and the columns of one answer.

    Signals:
        chosen: carries the number of the round that a person chose, -1 for none.
        relaid: it was opened or folded.
        keep_asked: carries whether drafting is to go on where plain decoding is faster.
    """

    chosen = Signal(int)
    relaid = Signal()
    keep_asked = Signal(bool)

    def __init__(self, themes: Themes) -> None:
        super().__init__()
        self._themes = themes
        self._tally = Tally()
        self._marks: list[DraftMark] = []
        self._finished: Finished | None = None
        self.head = StripHead(themes)
        self.head.setParent(self)
        self.head.toggled.connect(self._toggled)
        self.keep = Button(themes, kind="link", parent=self)
        self.keep.clicked.connect(self._ask_keep)
        self.keep.hide()
        self._wish: Wish = "auto"
        self.grid = StripGrid(themes)
        self.grid.chosen.connect(self.chosen)
        self.grid.near.connect(self._reveal)
        self._area = QScrollArea(self)
        self._area.setWidget(self.grid)
        self._area.setFrameShape(QFrame.Shape.NoFrame)
        self._area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._area.viewport().setAutoFillBackground(False)
        self.grid.setAutoFillBackground(False)
        self._area.verticalScrollBar().setStyleSheet(style_of(themes.current))
        self._goes_to_end = False
        self._is_live = False
        self._is_long = False  # needs its scroll bar

    @property
    def has_rounds(self) -> bool:
        """Whether there is anything to show."""
        return bool(self._tally.rounds)

    @property
    def is_open(self) -> bool:
        """Whether the columns are shown."""
        return self.head.isChecked()

    def set_open(self, is_open: bool) -> None:
        """Open or fold the columns."""
        self.head.setChecked(is_open)

    def show_answer(
        self, rounds: Sequence[Round], marks: Sequence[DraftMark], finished: Finished | None
    ) -> None:
        """Show the strip of a stored answer."""
        self._tally, self._marks, self._finished = Tally(), list(marks), finished
        self._tally.add(rounds)
        self._is_long = self._is_live = False
        self.grid.show_rounds(rounds, marks)
        if not self._tally.proposed:
            self.head.setChecked(False)  # only dots: the line says it all
        self._tell()

    def add(
        self, rounds: Sequence[Round], marks: Sequence[DraftMark], finished: Finished | None
    ) -> None:
        """Show more of an answer that is being written."""
        self._goes_to_end = self._goes_to_end or self._is_at_end
        self._tally.add(rounds)
        self._marks += marks
        self._finished = finished or self._finished
        self._is_live = self._finished is None
        self.grid.add(rounds, marks)
        self._tell()

    def lay_out(self, width: int) -> int:
        """Take `width` px; return the height."""
        head = self._lay_out_head(width)
        if not self.is_open:
            self._area.hide()
            return head + 1
        if self._is_live and self._is_at_end:
            self._goes_to_end = True  # also where another width needs more lines
        bar = self._area.verticalScrollBar().sizeHint().width()
        height = self.grid.lay_out(width - (bar if self._is_long else 0))
        most = MOST_LINES * self.grid.line_height + 2
        if height > most and not self._is_long:
            self._is_long = True
            height = self.grid.lay_out(width - bar)
        self.grid.resize(self.grid.width(), height)
        self._area.setGeometry(0, head + 1, width, min(height, most))
        self._area.show()
        if self._goes_to_end:
            self._goes_to_end = False
            self._area.verticalScrollBar().setValue(self._area.verticalScrollBar().maximum())
        return head + 1 + min(height, most)

    def show_wish(self, wish: Wish) -> bool:
        """What is wished for the chat's drafting; say whether that needs another layout."""
        was = self._wish, self.keep.text()
        self._wish = wish
        self._tell_keep()
        return was != (wish, self.keep.text())

    def restyle(self) -> None:
        """The theme is another one."""
        self._area.verticalScrollBar().setStyleSheet(style_of(self._themes.current))
        self.grid.rebuild()
        self.update()

    def light(self, rounds: range) -> None:
        """Mark the rounds whose text is selected."""
        self.grid.light(rounds)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Qt's hook: the line to the answer."""
        painter = QPainter(self)
        painter.fillRect(QRectF(0, 0, self.width(), 1), self._themes.current.line)
        painter.end()

    @property
    def _is_at_end(self) -> bool:
        bar = self._area.verticalScrollBar()
        return bar.value() >= bar.maximum()

    def _lay_out_head(self, width: int) -> int:
        """The line, and beside it the button, or below it where it is narrow; their height."""
        px = self._themes.current.pixels
        head, hint = px(HEAD), self.keep.sizeHint()
        is_beside = width - hint.width() >= px(BESIDE)
        beside = hint.width() if self.keep.text() and is_beside else 0
        self.head.setGeometry(0, 1, width, head)
        self.head.keep_free(beside + px(10) if beside else 0)
        if beside:
            top = 1 + (head - hint.height()) // 2
            self.keep.setGeometry(width - px(ARROW) - beside, top, beside, hint.height())
            self.keep.raise_()
        elif self.keep.text():
            self.keep.setGeometry(-4, head - 2, hint.width(), hint.height())
            return head + hint.height() - 2
        return head

    def _tell_keep(self) -> None:
        """Offer to keep drafting on, or to let it pause again."""
        is_on = self._wish == "on" and bool(strip_text.kept_on(self._marks))
        has_one = self.has_rounds and (is_on or strip_text.is_paused(self._finished, self._marks))
        text, meaning = words.KEEP_ON, words.KEEP_ON_HELP
        if self._wish == "on":
            text, meaning = words.LET_PAUSE, words.LET_PAUSE_HELP
        text = tr(text) if has_one and self._wish != "off" else ""
        self.keep.setText(text)
        self.keep.setAccessibleName(text)
        self.keep.setAccessibleDescription(tr(meaning))
        self.keep.setToolTip(tr(meaning))
        self.keep.setVisible(bool(text))

    def _ask_keep(self) -> None:
        self.keep_asked.emit(self._wish != "on")

    def _tell(self) -> None:
        self._tell_keep()
        told = (self._finished, self._tally, self._marks)
        if self.is_open:
            self.head.tell(*strip_text.opened(*told))
        else:
            self.head.tell("", strip_text.collapsed(*told))
        self.head.setToolTip(tr(words.FOLD_STRIP if self.is_open else words.OPEN_STRIP))
        if self._finished is not None or not self.head.accessibleName():
            self.head.setAccessibleName(strip_text.summary(*told))
            self.grid.setAccessibleName(strip_text.summary(*told))

    def _toggled(self, _is_open: bool) -> None:
        self._tell()
        self.relaid.emit()

    def _reveal(self, y: int) -> None:
        self._area.ensureVisible(0, y, 0, self.grid.line_height)
