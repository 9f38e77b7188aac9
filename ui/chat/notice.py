"""How an answer ended, when it did not end by itself: what happened, what is safe, what to do."""

from PySide6.QtCore import QRectF, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QLabel, QWidget

from app.conversation import Message
from ui import icons
from ui.buttons import Button
from ui.chat import words
from ui.theme import Themes
from ui.wording import tr

_SENTENCES = {
    "cancelled": words.CANCELLED,
    "length": words.LENGTH,
    "context": words.CONTEXT,
    "interrupted": words.INTERRUPTED,
}
GOES_ON = ("cancelled", "length", "interrupted", "failed")  # states that Continue answers
PAD = 10  # px


class Notice(QWidget):
    """One quiet line, or a card when something failed.

    Signals:
        acted: carries what the button says.
    """

    acted = Signal(str)

    def __init__(self, themes: Themes) -> None:
        super().__init__()
        self._themes = themes
        self._is_card = False
        self._label = QLabel(self)
        self._label.setTextFormat(Qt.TextFormat.PlainText)
        self._label.setWordWrap(True)
        self._label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._button = Button(themes, kind="link", parent=self)
        self._button.clicked.connect(self._act)

    @property
    def text(self) -> str:
        """What it says."""
        return self._label.text()

    @property
    def action(self) -> str:
        """What its button says, or nothing."""
        return self._button.text()

    def show_end(self, message: Message) -> bool:
        """Tell how `message` ended; say whether there is anything to tell."""
        self._is_card = False
        text, action = tr(_SENTENCES.get(message.state, "")), ""
        if message.state == "damaged":
            self._is_card = True
            text = f"{tr(words.DAMAGED)} {tr(words.DAMAGED_SAFE)}"
        elif message.failure is not None:
            self._is_card = True
            text = " ".join(p for p in (message.failure.message, message.failure.safe) if p)
            action = message.failure.action
        elif message.state == "stop" and not message.text.strip() and not message.thinking:
            text = tr(words.EMPTY)
        self._label.setText(text)
        self._button.setText(action)
        self._button.setAccessibleName(action)
        self._button.setVisible(bool(action))
        self.restyle()
        return bool(text)

    def lay_out(self, width: int) -> int:
        """Take `width` px; return the height."""
        theme = self._themes.current
        if not self._is_card:
            height = self._label.heightForWidth(width)
            self._label.setGeometry(0, 2, width, height)
            return height + 4
        left = theme.pixels(34)
        button = self._button.sizeHint() if self._button.text() else None
        room = width - left - PAD
        height = max(self._label.heightForWidth(room), theme.pixels(18))
        self._label.setGeometry(left, PAD, room, height)
        bottom = PAD + height
        if button is not None:
            self._button.setGeometry(
                left - 4, bottom + 2, min(button.width(), room), button.height()
            )
            bottom += 2 + button.height()
        return bottom + PAD - (4 if button else 0)

    def restyle(self) -> None:
        """The theme is another one."""
        theme = self._themes.current
        self._label.setFont(theme.font("body" if self._is_card else "small"))
        colour = theme.text if self._is_card else theme.dim
        self._label.setStyleSheet(f"color: {colour.name()}")
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Qt's hook: the card and its sign."""
        if not self._is_card:
            return
        theme, painter = self._themes.current, QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(theme.line)
        painter.setBrush(theme.panel)
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), 9, 9)
        side = float(theme.pixels(16))
        icons.paint(painter, "caution", theme.bad, QRectF(PAD + 2, PAD + 2, side, side))
        painter.end()

    def _act(self) -> None:
        self.acted.emit(self._button.text())
