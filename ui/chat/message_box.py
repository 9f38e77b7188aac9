"""The field in which a message is written."""

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QColor, QInputMethodEvent, QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QFrame, QPlainTextEdit

from ui import wording
from ui.theme import Themes
from ui.wording import tr

MOST_LINES = 8


class MessageBox(QPlainTextEdit):
    """Grows with its text from 1 to 8 lines.

    Signals:
        sent: the send key was pressed, and no input method was composing.
        recalled: Up was pressed in the empty field.
        escaped: Esc was pressed.
    """

    sent = Signal()
    recalled = Signal()
    escaped = Signal()

    def __init__(self, themes: Themes) -> None:
        super().__init__()
        self._themes = themes
        self._is_composing = False
        self.enter_sends = True
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setPlaceholderText(tr(wording.MESSAGE))
        self.setAccessibleName(tr(wording.MESSAGE))
        self.setTabChangesFocus(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.document().setDocumentMargin(2)
        self.textChanged.connect(self._fit)
        themes.changed.connect(self._restyle)
        self._restyle()

    @property
    def lines(self) -> int:
        """How many lines are visible at once."""
        return max(1, min(MOST_LINES, int(self.document().size().height())))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Qt's hook: the send key sends unless an input method composes; the other is a newline."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            if self._is_composing:
                return
            modifiers = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
            wanted = Qt.KeyboardModifier.NoModifier
            if not self.enter_sends:
                wanted = Qt.KeyboardModifier.ControlModifier
            if modifiers == wanted:
                self.sent.emit()
            else:
                self.textCursor().insertText("\n")
                self.ensureCursorVisible()
            return
        if event.key() == Qt.Key.Key_Up and self.document().isEmpty():
            self.recalled.emit()
            return
        if event.key() == Qt.Key.Key_Escape:
            self.escaped.emit()
            return
        super().keyPressEvent(event)

    def inputMethodEvent(self, event: QInputMethodEvent) -> None:
        """Qt's hook: while there is unfinished text, Enter belongs to the input method."""
        self._is_composing = bool(event.preeditString())
        super().inputMethodEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Qt's hook: another width breaks the lines elsewhere."""
        super().resizeEvent(event)
        self._fit()

    def changeEvent(self, event: QEvent) -> None:
        """Qt's hook: another font makes other lines."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._fit()

    def _fit(self) -> None:
        lines = self.lines
        height = lines * self.fontMetrics().lineSpacing() + 2 * int(
            self.document().documentMargin()
        )
        overflows = self.document().size().height() > MOST_LINES
        policy = Qt.ScrollBarPolicy
        self.setVerticalScrollBarPolicy(
            policy.ScrollBarAsNeeded if overflows else policy.ScrollBarAlwaysOff
        )
        self.setFixedHeight(height + 4)

    def _restyle(self) -> None:
        theme = self._themes.current
        palette = theme.palette()
        palette.setColor(palette.ColorRole.Base, QColor(0, 0, 0, 0))
        self.setPalette(palette)
        self.viewport().setAutoFillBackground(False)
        self.setFont(theme.font("body"))
        self._fit()
