"""What the model thought before its answer, folded under its duration."""

import time

from PySide6.QtCore import QEvent, QRectF, Qt, Signal
from PySide6.QtGui import QEnterEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QWidget

from ui import icons
from ui.chat import words
from ui.chat.live_text import LiveText
from ui.chat.markdown import parse
from ui.chat.strip_text import up
from ui.chat.text_view import TextView
from ui.theme import Themes
from ui.wording import tr

HEAD = 26  # px
MINUTE = 60


def duration(seconds: float) -> str:
    """A duration in words."""
    if seconds < MINUTE:
        return tr("{seconds} s", seconds=up(seconds))
    minutes, rest = divmod(round(seconds), MINUTE)
    return tr("{minutes} min {seconds} s", minutes=minutes, seconds=rest)


class _Head(QAbstractButton):
    """The arrow and the duration."""

    def __init__(self, themes: Themes) -> None:
        super().__init__()
        self._themes = themes
        self.setCheckable(True)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)

    def needed_width(self) -> int:
        """The width of arrow and words."""
        return self._themes.current.pixels(22) + self.fontMetrics().horizontalAdvance(self.text())

    def enterEvent(self, event: QEnterEvent) -> None:
        """Qt's hook: the words are clearer under the pointer."""
        super().enterEvent(event)
        self.update()

    def leaveEvent(self, event: QEvent) -> None:
        """Qt's hook: the words are quiet again."""
        super().leaveEvent(event)
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Qt's hook: arrow and words."""
        theme, painter = self._themes.current, QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        ink = theme.text if self.underMouse() else theme.dim
        side = float(theme.pixels(14))
        square = QRectF(-side / 2, -side / 2, side, side)
        painter.save()
        painter.translate(side / 2, self.height() / 2)
        painter.rotate(0 if self.isChecked() else -90)
        icons.paint(painter, "chevron", ink, square)
        painter.restore()
        painter.setFont(self.font())
        painter.setPen(ink)
        room = QRectF(side + 4, 0, self.width() - side, self.height())
        align = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(room, int(align), self.text())
        if self.hasFocus():
            painter.setPen(QPen(theme.accent, 1.5))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.75, 2, -0.75, -2), 5, 5)
        painter.end()


class Thinking(QWidget):
    """Folded until it is asked for; its text is read only then.

    Signals:
        relaid: it was opened or folded.
    """

    relaid = Signal()

    def __init__(self, themes: Themes) -> None:
        super().__init__()
        self._themes = themes
        self._text: list[str] = []
        self._live: LiveText | None = None
        self._since: float | None = None
        self._seconds: float | None = None
        self._is_over = False
        self.head = _Head(themes)
        self.head.setParent(self)
        self.head.toggled.connect(self._toggled)
        self.view: TextView | None = None
        self._tell()

    @property
    def has_text(self) -> bool:
        """Whether there was any thinking."""
        return bool(self._text)

    def show_text(self, text: str, seconds: float | None, *, is_over: bool) -> None:
        """Show stored thinking, which took `seconds`."""
        if seconds is not None or not self._seconds:
            self._seconds = seconds
        self._is_over = is_over
        if "".join(self._text) != text:
            self._text = [text] if text else []
            self._live = None
            if self.view is not None:
                self.view.show_leaves(parse(text).leaves)
        self._tell()

    def add(self, text: str) -> None:
        """Take in more thinking."""
        now = time.monotonic()
        self._since = now if self._since is None else self._since
        self._seconds = now - self._since
        self._text.append(text)
        if self.view is not None:
            self._grow(self.view, text)
        self._tell()

    def end(self) -> None:
        """The answer began."""
        if not self._is_over:
            self._is_over = True
            self._tell()

    def lay_out(self, width: int) -> int:
        """Take `width` px; return the height."""
        theme = self._themes.current
        head = theme.pixels(HEAD)
        self.head.setFont(theme.font("small"))
        self.head.setGeometry(-1, 0, min(width, self.head.needed_width() + 8), head)
        if self.view is None or not self.head.isChecked():
            return head
        inset = theme.pixels(16)
        height = self.view.lay_out(width - inset)
        self.view.setGeometry(inset, head + 2, width - inset, height)
        return head + height + 10

    def restyle(self) -> None:
        """The theme is another one."""
        if self.view is not None:
            self.view.restyle()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Qt's hook: the bar beside open thinking."""
        if self.view is not None and self.head.isChecked():
            theme, painter = self._themes.current, QPainter(self)
            painter.fillRect(QRectF(6, self.view.y(), 2, self.view.height()), theme.line)
            painter.end()

    def _grow(self, view: TextView, text: str) -> None:
        if self._live is None:
            self._live = LiveText()
            view.show_leaves(())
            text = "".join(self._text)
        view.change(self._live.append(text))

    def _toggled(self, is_open: bool) -> None:
        if is_open and self.view is None:
            self.view = TextView(self._themes, is_quiet=True)
            self.view.setAccessibleName(tr(words.THOUGHT))
            self.view.setParent(self)
            self.view.relaid.connect(self.relaid)
            if self._is_over:
                self.view.show_leaves(parse("".join(self._text)).leaves)
            else:
                self._grow(self.view, "")
        if self.view is not None:
            self.view.setVisible(is_open)
        self._tell()
        self.relaid.emit()

    def _tell(self) -> None:
        known = self._seconds is not None and (self._seconds >= 1 or self._is_over)
        if known:
            name = words.THOUGHT_FOR if self._is_over else words.THINKING_FOR
            seconds = self._seconds or 0.0
            whole = tr("{seconds} s", seconds=int(seconds))
            text = tr(name, seconds=duration(seconds) if self._is_over else whole)
        else:
            text = tr(words.THOUGHT if self._is_over else words.THINKING)
        self.head.setText(text)
        self.head.setToolTip(
            tr(words.HIDE_THINKING if self.head.isChecked() else words.SHOW_THINKING)
        )
        self.head.update()
