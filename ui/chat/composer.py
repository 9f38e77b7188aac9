"""Where a message is written, sent and stopped."""

from PySide6.QtCore import QEvent, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QVBoxLayout, QWidget

from ui import wording
from ui.buttons import Button
from ui.chat.draft_switch import DraftSwitch
from ui.chat.message_box import MessageBox
from ui.theme import COLUMN, Themes
from ui.wording import tr

NARROW = 480  # px: below it the context meter gives its room to the drafting line


class Composer(QWidget):
    """The message box with its row: settings, drafting, context, Send or Stop.

    `inset` px stay free at the end, so that the panel lies under the column of the transcript.
    The text stays until `sent` is called, so that nothing is lost when it could not be saved.

    Signals:
        send_asked: carries the text.
        stop_asked, settings_asked: as they say.
        recall_asked: the last question is to be edited; dropped_asked: no longer.
        drafting_switched: carries whether drafting is wanted.
    """

    send_asked = Signal(str)
    stop_asked = Signal()
    settings_asked = Signal()
    recall_asked = Signal()
    dropped_asked = Signal()
    drafting_switched = Signal(bool)

    def __init__(self, themes: Themes, inset: int = 0) -> None:
        super().__init__()
        self._themes, self._inset = themes, inset
        self._is_answering = self._is_editing = False
        self.is_saving = False
        self._used, self._limit = 0, 0
        self.box = MessageBox(themes)
        self.switch = DraftSwitch(themes)
        self.hint = QLabel()
        self.context = QLabel()
        self.settings_button = Button(themes, icon="settings")
        self.settings_button.describe(tr(wording.CHAT_SETTINGS), "Ctrl+Shift+,")
        self.button = Button(themes, tr(wording.SEND), kind="filled")
        self._build()
        self.box.sent.connect(self._send)
        self.box.textChanged.connect(self._text_changed)
        self.box.recalled.connect(self.recall_asked)
        self.box.escaped.connect(self._escape)
        self.button.clicked.connect(self._clicked)
        self.settings_button.clicked.connect(self.settings_asked)
        self.switch.switched.connect(self.drafting_switched)
        themes.changed.connect(self._restyle)
        self._restyle()
        self._update_button()

    def set_send_key(self, *, enter_sends: bool) -> None:
        """Enter sends and Shift+Enter is a newline, or Ctrl+Enter sends and Enter is a newline."""
        self.box.enter_sends = enter_sends
        self._update_button()

    @property
    def text(self) -> str:
        """What is written in the box."""
        return self.box.toPlainText()

    def write(self, text: str) -> None:
        """Put `text` into the box, the cursor at its end."""
        self.box.setPlainText(text)
        self.box.moveCursor(self.box.textCursor().MoveOperation.End)

    def hold(self) -> None:
        """The text is being saved: it must not change now."""
        self.is_saving = True
        self.box.setReadOnly(True)

    def sent(self) -> None:
        """The text is saved: the box is free for the next."""
        self.release()
        self.box.clear()

    def release(self) -> None:
        """The box can be written in again, with the text that it has."""
        self.is_saving = False
        self.box.setReadOnly(False)

    def show_answering(self, is_answering: bool) -> None:
        """Send is Stop while an answer is being written here."""
        self._is_answering = is_answering
        self._show_hint()
        self._update_button()

    def show_editing(self, is_editing: bool) -> None:
        """The text in the box takes the place of a question that was asked."""
        self._is_editing = is_editing
        self._show_hint()

    def show_stopping(self) -> None:
        """Stop was asked; the answer ends at its next round."""
        self.button.setText(tr(wording.STOPPING))
        self.button.setAccessibleName(tr(wording.STOPPING))
        self.button.updateGeometry()

    def show_context(self, used: int, limit: int) -> None:
        """Say how much of the model's context is used; nothing while the limit is not known."""
        self._used, self._limit = used, limit
        known = limit > 0
        self.context.setText(tr(wording.CONTEXT, used=used, limit=limit) if known else "")
        self.context.setToolTip(tr(wording.CONTEXT_HELP, used=used, limit=limit) if known else "")
        self._colour_context()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Qt's hook: the line above, and the panel around box and row."""
        theme, painter = self._themes.current, QPainter(self)
        painter.fillRect(self.rect(), theme.ground)
        painter.fillRect(0, 0, self.width(), 1, theme.line)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        edge = QColor(theme.faint if self.box.hasFocus() else theme.line)
        edge.setAlphaF(0.6 if self.box.hasFocus() else 1.0)
        painter.setPen(QPen(edge, 1))
        painter.setBrush(theme.panel)
        painter.drawRoundedRect(self._panel_rect(), 13, 13)
        painter.end()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Qt's hook: a click anywhere on the panel writes there."""
        self.box.setFocus(Qt.FocusReason.MouseFocusReason)
        super().mousePressEvent(event)

    def minimumSizeHint(self) -> QSize:
        """Qt's hook: the row may be cut, the window may be narrow."""
        return QSize(280, super().minimumSizeHint().height())

    def changeEvent(self, event: QEvent) -> None:
        """Qt's hook: the end is on the other side now."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.LayoutDirectionChange:
            self._inset_end()

    def _inset_end(self) -> None:
        is_mirrored = self.layoutDirection() == Qt.LayoutDirection.RightToLeft
        left, right = (self._inset, 0) if is_mirrored else (0, self._inset)
        self.setContentsMargins(left, 0, right, 0)

    def _panel_rect(self) -> QRectF:
        area = QRectF(self._panel.geometry())
        return area.adjusted(0.5, 0.5, -0.5, -0.5)

    def _build(self) -> None:
        row = QHBoxLayout()
        row.setSpacing(8)
        row.addWidget(self.settings_button)
        row.addWidget(self.switch, 1)
        row.addWidget(self.context)
        row.addWidget(self.button)
        self.hint.hide()
        self.hint.setWordWrap(True)
        self._panel = QWidget()
        self._panel.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Maximum)
        inner = QVBoxLayout(self._panel)
        inner.setContentsMargins(12, 10, 11, 9)
        inner.setSpacing(6)
        inner.addWidget(self.box)
        inner.addWidget(self.hint)
        inner.addLayout(row)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(16, 12, 16, 16)
        layout.addWidget(self._panel)
        self._inset_end()
        self.setFocusProxy(self.box)

    def _clicked(self) -> None:
        if self._is_answering:
            self.stop_asked.emit()
        else:
            self._send()

    def _send(self) -> None:
        if self._is_answering:
            self._show_hint(wording.BUSY)
        elif self.text.strip() and not self.is_saving:
            self.send_asked.emit(self.text)

    def _text_changed(self) -> None:
        self._show_hint()
        self._update_button()

    def _escape(self) -> None:
        if self._is_editing:
            self.dropped_asked.emit()

    def _show_hint(self, text: str = "") -> None:
        shown = text or (wording.EDITING if self._is_editing else "")
        self.hint.setText(tr(shown))
        self.hint.setVisible(bool(shown))

    def _colour_context(self) -> None:
        theme, is_nearly_full = self._themes.current, self._used > 0.9 * self._limit
        palette = theme.palette()
        palette.setColor(
            palette.ColorRole.WindowText, theme.caution if is_nearly_full else theme.dim
        )
        self.context.setPalette(palette)

    def _update_button(self) -> None:
        text = wording.STOP if self._is_answering else wording.SEND
        self.button.setText(tr(text))
        if self._is_answering:
            self.button.describe(tr(wording.STOP), "Esc")
            self.button.setEnabled(True)
        elif self.text.strip():
            self.button.describe(
                tr(wording.SEND), "Return" if self.box.enter_sends else "Ctrl+Return"
            )
            self.button.setEnabled(True)
        else:
            self.button.describe(tr(wording.SEND))
            self.button.setToolTip(tr(wording.NOTHING_TO_SEND))
            self.button.setEnabled(False)
        self.button.updateGeometry()

    def _restyle(self) -> None:
        theme = self._themes.current
        self._panel.setMaximumWidth(theme.pixels(COLUMN))
        self.hint.setFont(theme.font("small"))
        self.context.setFont(theme.font("small"))
        palette = theme.palette()
        palette.setColor(palette.ColorRole.WindowText, theme.caution)
        self.hint.setPalette(palette)
        self._colour_context()
        self.update()
