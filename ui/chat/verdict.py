"""The verdict about an answer: a sign, its words, and what can be done."""

from typing import TYPE_CHECKING

from PySide6.QtCore import QRectF, Qt, Signal
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent, QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QLabel, QWidget

from ui import icons
from ui.buttons import Button
from ui.chat import verdict_text
from ui.chat.verdict_text import Kind, Told
from ui.theme import Theme, Themes

if TYPE_CHECKING:
    from ui.chat.verdict_text import Action

LINE = 28  # px, as high as the buttons beside it
SIGN = 22  # px that the sign takes
GAP = 5  # px between the parts

_SIGNS: dict[Kind, str] = {
    "unchecked": "unchecked",
    "running": "checking",
    "waiting": "checking",
    "same": "same",
    "differs": "close",
    "cannot": "cannot",
    "fast": "cannot",
}
_UNDER_WAY = ("running", "waiting")  # what comes of it is said aloud


class Verdict(QWidget):
    """Shows what is told about an answer: in one line if it fits, otherwise its rest below.

    Signals:
        check_asked, stop_asked, save_asked: a person wants it.
        pair_asked: carries whether the pair of the answer is to draft.
    """

    check_asked = Signal()
    stop_asked = Signal()
    save_asked = Signal()
    pair_asked = Signal(bool)

    def __init__(self, themes: Themes) -> None:
        super().__init__()
        self._themes = themes
        self.told: Told | None = None
        self._first, self._rest = QLabel(self), QLabel(self)
        for label in (self._first, self._rest):
            label.setTextFormat(Qt.TextFormat.PlainText)
            label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._rest.setWordWrap(True)
        self.button = Button(themes, kind="link", parent=self)
        self.button.clicked.connect(self._act)
        self.also = Button(themes, kind="link", parent=self)
        self.also.clicked.connect(self._act_also)
        self.also.setToolTip(verdict_text.pair_help())
        self.also.setAccessibleDescription(verdict_text.pair_help())
        self.setToolTip(verdict_text.scope())
        self.hide()

    def show_told(self, told: Told | None) -> bool:
        """Show these words; say whether they need another layout."""
        was, self.told = self.told, told
        self.setVisible(told is not None)
        if told is None or told == was:
            return told != was
        for label, text in ((self._first, told.first), (self._rest, told.rest)):
            label.setText(text)
            label.setAccessibleName(text)
            label.setVisible(bool(text))
        self.setAccessibleName(told.text)
        self.setAccessibleDescription(verdict_text.scope())
        for button, label in ((self.button, told.label), (self.also, told.also_label)):
            if label != button.text():
                button.setText(label)
                button.setAccessibleName(label)
            button.setVisible(bool(label))
        if (
            was is not None
            and was.kind in _UNDER_WAY
            and was.kind != told.kind
            and QAccessible.isActive()
        ):
            QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, told.text))
        if was is None or was.kind != told.kind:
            self.restyle()
        return was is None or not was.kind == told.kind == "running"  # whose line keeps its width

    @property
    def line_width(self) -> int:
        """The px that it takes in one line."""
        px = self._themes.current.pixels
        width = px(SIGN) + self._first.sizeHint().width() + self._buttons_width
        if self._rest.text():
            metrics = self._rest.fontMetrics()
            width += px(GAP) + metrics.horizontalAdvance(self._rest.text()) + 4
        return width

    def lay_out(self, width: int) -> int:
        """Take `width` px; return the height."""
        px = self._themes.current.pixels
        line, left = px(LINE), px(SIGN)
        first = min(self._first.sizeHint().width(), width - left)
        self._first.setGeometry(left, 0, first, line)
        is_one_line = self.line_width <= width
        height, x = line, left + first
        if self._rest.text():
            if is_one_line:
                rest = self.line_width - x - self._buttons_width
                self._rest.setGeometry(x + px(GAP), 0, rest - px(GAP), line)
                x += rest
            else:
                below = self._rest.heightForWidth(width - left)
                self._rest.setGeometry(left, line - px(GAP), width - left, below)
                height += below
        if x + self._buttons_width <= width:
            self._place_buttons(x + px(GAP), (line - self.button.sizeHint().height()) // 2, width)
            return height
        # not even beside the first words
        return self._place_buttons(left - 4, height - px(GAP), width) + px(GAP)

    def _place_buttons(self, x: int, y: int, width: int) -> int:
        """Put the buttons beside each other as far as they fit; return where they end."""
        gap, left, end = self._themes.current.pixels(GAP), x, y
        for button in self._buttons:
            hint = button.sizeHint()
            if x > left and x + hint.width() > width:
                x, y = left, end
            button.setGeometry(x, y, hint.width(), hint.height())
            x, end = x + hint.width() + gap, y + hint.height()
        return end

    def restyle(self) -> None:
        """The theme is another one."""
        theme = self._themes.current
        kind: Kind = self.told.kind if self.told else "unchecked"
        for label, colour in ((self._first, _colour(theme, kind)), (self._rest, theme.dim)):
            label.setFont(theme.font("small"))
            label.setStyleSheet(f"color: {colour.name()}")
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Qt's hook: the sign, which differs in its shape and not by its colour alone."""
        if self.told is None:
            return
        theme, painter = self._themes.current, QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        side = float(theme.pixels(14))
        square = QRectF(0, (theme.pixels(LINE) - side) / 2, side, side)
        icons.paint(painter, _SIGNS[self.told.kind], _colour(theme, self.told.kind), square)
        painter.end()

    @property
    def _buttons(self) -> list[Button]:
        return [button for button in (self.button, self.also) if button.text()]

    @property
    def _buttons_width(self) -> int:
        gap = self._themes.current.pixels(GAP)
        return sum(gap + button.sizeHint().width() for button in self._buttons)

    def _act_also(self) -> None:
        self.pair_asked.emit(self.told is not None and self.told.also == "pair on")

    def _act(self) -> None:
        action: Action = self.told.action if self.told else ""
        if action == "check":
            self.check_asked.emit()
        elif action == "stop":
            self.stop_asked.emit()
        elif action == "save":
            self.save_asked.emit()


def _colour(theme: Theme, kind: Kind) -> QColor:
    if kind == "same":
        return theme.good
    if kind == "differs":
        return theme.bad
    return theme.faint if kind in ("unchecked", "fast") else theme.dim
