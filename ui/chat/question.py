"""A question: a bubble on the right, that can be copied, edited and sent again."""

from PySide6.QtCore import QEvent, QObject, QRectF, Qt, Signal
from PySide6.QtGui import QEnterEvent, QKeyEvent, QPainter, QPainterPath, QPaintEvent
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from app.conversation import Message
from engine.events import Event
from ui.buttons import Button
from ui.chat import copying, words
from ui.chat.markdown import plain
from ui.chat.message import MessageView
from ui.chat.row import FadingButton, Row, Versions
from ui.chat.text_view import TextView
from ui.theme import Themes
from ui.wording import tr

PAD_X, PAD_Y, RADIUS = 14, 9, 14  # px
WIDEST = 0.75  # of the column
FOLDED_LINES = 24  # of a long message
EDIT_ROWS = 10


class QuestionView(MessageView):
    """What a person asked, exactly as it was written."""

    def __init__(self, themes: Themes, message: Message) -> None:
        super().__init__(themes, message)
        self.setAccessibleName(tr(words.QUESTION))
        self.body = self._part(TextView(themes))
        self.body.setAccessibleName(tr(words.QUESTION))
        self.body.link_asked.connect(self.link_asked)
        self.body.near.connect(self._near_in_body)
        self.row = self._part(Row(themes))
        self.versions = Versions(themes)
        self.versions.stepped.connect(self.branch_asked)
        self.edit = self._button(words.EDIT, words.EDIT_HELP)
        self.edit.clicked.connect(self.begin_editing)
        self.copy = self._button(words.COPY, words.COPY_MESSAGE)
        self.copy.clicked.connect(self._copy)
        self.fold = self._button("", "")
        self.fold.clicked.connect(self._toggle_fold)
        for part in (self.fold, self.copy, self.edit, self.versions):
            self.row.add(part)
        self.editor: _Editor | None = None
        self._is_folded = True
        self._bubble = QRectF()
        self.settle(message)
        self.restyle()

    @property
    def is_edited(self) -> bool:
        """Whether a person is changing its text."""
        return self.editor is not None

    def settle(self, message: Message) -> None:
        """Show the message as it is stored."""
        self.message = message
        self.versions.show_version(message.position, message.alternatives)
        self._show_lines()

    def apply(self, events: list[Event]) -> None:
        """Nothing is written into a question."""

    def set_note(self, text: str) -> None:
        """Nothing is awaited in the place of a question."""

    def begin_editing(self) -> None:
        """Turn the bubble into a field."""
        if self.editor is None:
            self.editor = self._part(_Editor(self._themes, self.message.text))
            self.editor.sent.connect(self._send)
            self.editor.left.connect(self._end_editing)
            self.editor.show()
            self.body.hide()
            self.row.hide()
            self.relaid.emit()
            self.editor.field.setFocus()

    def lay_out(self, width: int) -> int:
        """Take `width` px; return the height."""
        px = self._themes.current.pixels
        if self.editor is not None:
            height = self.editor.lay_out(width)
            self.editor.setGeometry(0, 0, width, height)
            self._bubble = QRectF()
            return height + px(8)
        room = int(width * WIDEST) - 2 * PAD_X
        inner = min(room, int(self.body.natural_width()) + 2)
        height = self.body.lay_out(max(inner, px(20)))
        left = width - inner - 2 * PAD_X
        self.body.setGeometry(left + PAD_X, PAD_Y, inner, height)
        self._bubble = QRectF(left, 0, inner + 2 * PAD_X, height + 2 * PAD_Y)
        self.row.setGeometry(0, height + 2 * PAD_Y + 2, width, px(28))
        return height + 2 * PAD_Y + 2 + px(28)

    def restyle(self) -> None:
        """The theme is another one."""
        self.body.restyle()
        self.row.restyle()
        self.versions.restyle()
        self._reveal(self.underMouse())

    def enterEvent(self, event: QEnterEvent) -> None:
        """Qt's hook: what can be done appears under the pointer."""
        super().enterEvent(event)
        self._reveal(True)

    def leaveEvent(self, event: QEvent) -> None:
        """Qt's hook: and goes with it."""
        super().leaveEvent(event)
        self._reveal(self._has_focus_inside())

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Qt's hook: what can be done appears with the keyboard too."""
        if event.type() in (QEvent.Type.FocusIn, QEvent.Type.FocusOut):
            self._reveal(event.type() == QEvent.Type.FocusIn or self.underMouse())
        return super().eventFilter(watched, event)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Qt's hook: the bubble, one corner of it pointing to who wrote."""
        if self._bubble.isEmpty():
            return
        box, painter = self._bubble, QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        path = QPainterPath()
        path.addRoundedRect(box, RADIUS, RADIUS)
        corner = QPainterPath()
        corner.addRoundedRect(
            QRectF(box.right() - RADIUS * 2, box.bottom() - RADIUS * 2, RADIUS * 2, RADIUS * 2),
            4,
            4,
        )
        painter.fillPath(path.united(corner), self._themes.current.user_bubble)
        painter.end()

    def _button(self, text: str, meaning: str) -> FadingButton:
        button = FadingButton(self._themes, tr(text))
        button.describe(tr(meaning))
        button.installEventFilter(self)
        return button

    def _has_focus_inside(self) -> bool:
        return any(button.hasFocus() for button in (self.copy, self.edit, self.fold))

    def _reveal(self, is_shown: bool) -> None:
        for button in (self.copy, self.edit):
            button.set_faded(not is_shown)

    def _show_lines(self) -> None:
        leaves = plain(self.message.text)
        is_long = len(leaves) > FOLDED_LINES
        self.fold.setVisible(is_long)
        name = words.SHOW_ALL if self._is_folded else words.SHOW_LESS
        self.fold.setText(tr(name, lines=len(leaves)))
        self.fold.describe(self.fold.text())
        self.body.show_leaves(leaves[:FOLDED_LINES] if is_long and self._is_folded else leaves)

    def _toggle_fold(self) -> None:
        self._is_folded = not self._is_folded
        self._show_lines()
        self.relaid.emit()

    def _copy(self) -> None:
        copying.put(self.message.text)

    def _send(self, text: str) -> None:
        self._end_editing()
        self.edit_asked.emit(text)

    def _end_editing(self) -> None:
        if self.editor is not None:
            self.editor.hide()
            self.editor.deleteLater()
            self.editor = None
            self.body.show()
            self.row.show()
            self.relaid.emit()

    def _near_in_body(self, y: int) -> None:
        self.near.emit(self.body.y() + y)


class _Editor(QWidget):
    """The field in which a question is changed.

    Signals:
        sent: carries the new text.
        left: nothing is to be changed.
    """

    sent = Signal(str)
    left = Signal()

    def __init__(self, themes: Themes, text: str) -> None:
        super().__init__()
        self._themes = themes
        theme = themes.current
        self.field = _Field(text)
        self.field.setParent(self)
        self.field.setFont(theme.font("body"))
        self.field.setAccessibleName(tr(words.EDITED_TEXT))
        self.field.setStyleSheet(
            f"QPlainTextEdit {{ background: {theme.panel.name()}; color: {theme.text.name()};"
            f" border: 1px solid {theme.line.name()}; border-radius: 9px; padding: 6px; }}"
        )
        self.field.left.connect(self.left)
        self.field.sent.connect(self._send)
        self._send_button = Button(themes, tr(words.SEND_AGAIN), kind="filled", parent=self)
        self._send_button.setAccessibleName(tr(words.SEND_AGAIN))
        self._send_button.clicked.connect(self._send)
        self._cancel = Button(themes, tr(words.CANCEL), parent=self)
        self._cancel.setAccessibleName(tr(words.CANCEL))
        self._cancel.clicked.connect(self.left)

    def lay_out(self, width: int) -> int:
        """Take `width` px; return the height."""
        px = self._themes.current.pixels
        rows = min(max(self.field.document().lineCount(), 3), EDIT_ROWS)
        height = rows * self.field.fontMetrics().lineSpacing() + 28
        self.field.setGeometry(0, 0, width, height)
        right = width
        for button in (self._send_button, self._cancel):
            size = button.sizeHint()
            button.setGeometry(right - size.width(), height + px(8), size.width(), size.height())
            right -= size.width() + px(6)
        return height + px(8) + px(28)

    def _send(self) -> None:
        text = self.field.toPlainText()
        if text.strip():
            self.sent.emit(text)


class _Field(QPlainTextEdit):
    """A text field that Escape leaves and Ctrl+Enter sends.

    Signals:
        sent, left: the key was pressed.
    """

    sent = Signal()
    left = Signal()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Qt's hook: the two keys."""
        control = event.modifiers() & Qt.KeyboardModifier.ControlModifier
        if event.key() == Qt.Key.Key_Escape:
            self.left.emit()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and control:
            self.sent.emit()
        else:
            super().keyPressEvent(event)
