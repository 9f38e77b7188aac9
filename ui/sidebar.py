"""The conversations: searched, grouped, renamed, pinned and deleted."""

import time
from collections.abc import Collection, Sequence

from PySide6.QtCore import (
    QItemSelectionModel,
    QModelIndex,
    QPoint,
    Qt,
    QTimer,
    Signal,
)
from PySide6.QtGui import QFocusEvent, QKeyEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QListView,
    QMenu,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from app.conversation import Conversation
from ui import icons, wording
from ui.buttons import Button
from ui.panes import SHORTCUT as SIDEBAR_KEY
from ui.scroll_bar import slim
from ui.search_field import SearchField
from ui.sidebar_model import CONVERSATION, ConversationRows, rows
from ui.sidebar_row import RowPainter
from ui.theme import SIDEBAR, Themes
from ui.wording import tr

SEARCH_MS = 150
ROW = 32  # px that one step of the wheel scrolls by
WIDEST = 340  # px, also with large text


class ConversationList(QListView):
    """The rows; it takes the keyboard without moving the selection."""

    delete_asked = Signal()

    @property
    def is_editing(self) -> bool:
        """Whether a title is being typed over."""
        return self.state() == QListView.State.EditingState

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Qt's hook: Delete and Backspace delete, as on the platform."""
        if event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            self.delete_asked.emit()
            return
        super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Qt's hook: without a current row the first conversation becomes it."""
        super().focusInEvent(event)
        self.viewport().update()


class Sidebar(QWidget):
    """Lists the conversations it is told of and says what a person wants done with them."""

    opened = Signal(int)
    new_asked = Signal()
    search_changed = Signal(str)
    rename_asked = Signal(int, str)
    pin_asked = Signal(int, bool)
    delete_asked = Signal(int)
    settings_asked = Signal()
    hide_asked = Signal()

    def __init__(self, themes: Themes) -> None:
        super().__init__()
        self._themes = themes
        self._current: int | None = None
        self._pending: Sequence[Conversation] | None = None  # shown when a title was typed
        self.setAccessibleName(tr(wording.CHATS))
        self.search = SearchField(themes)
        self.rows = ConversationRows()
        self.list = ConversationList()
        self.hide_button = Button(themes, icon="sidebar")
        self.hide_button.describe(tr(wording.HIDE_SIDEBAR), SIDEBAR_KEY)
        self.new_button = Button(themes, icon="compose")
        self.new_button.describe(tr(wording.NEW_CHAT), "Ctrl+N")
        self.settings_button = Button(themes, tr(wording.SETTINGS), icon="settings")
        self.settings_button.describe(tr(wording.SETTINGS), "Ctrl+,")
        self._empty = QLabel()
        self._pause = QTimer(self)
        self._pause.setSingleShot(True)
        self._pause.setInterval(SEARCH_MS)
        self._build()
        self._connect()
        self._restyle()

    @property
    def search_text(self) -> str:
        """What is searched for now."""
        return self.search.text().strip()

    def show_conversations(self, conversations: Sequence[Conversation]) -> None:
        """Show these conversations, the open one selected; a title that is typed goes first."""
        if self.list.is_editing:
            self._pending = conversations
            return
        self._pending = None
        self.rows.show(rows(conversations, time.time()))
        self._select()
        self._empty.setVisible(not conversations)
        nothing = tr(wording.NOTHING_FOUND, search=self.search_text)
        self._empty.setText(nothing if self.search_text else tr(wording.NO_CHATS))

    def show_current(self, conversation: int | None) -> None:
        """Select the open conversation."""
        self._current = conversation
        self._select()

    def show_marks(self, answering: Collection[int], waiting: Collection[int]) -> None:
        """Mark the conversations that answer or wait."""
        self.rows.mark(answering, waiting)

    def edit_title(self, conversation: int) -> None:
        """Let the title be typed over in its row."""
        index = self.rows.row_of(conversation)
        if index.isValid():
            self.list.edit(index)

    def conversation_at(self, index: QModelIndex) -> Conversation | None:
        """The conversation of a row, None for headings."""
        found = index.data(CONVERSATION) if index.isValid() else None
        return found if isinstance(found, Conversation) else None

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Qt's hook: the ground and the line to the transcript."""
        theme, painter = self._themes.current, QPainter(self)
        painter.fillRect(self.rect(), theme.side)
        is_mirrored = self.layoutDirection() == Qt.LayoutDirection.RightToLeft
        painter.fillRect(0 if is_mirrored else self.width() - 1, 0, 1, self.height(), theme.line)
        painter.end()

    def _build(self) -> None:
        view = self.list
        view.setModel(self.rows)
        painter = RowPainter(self._themes, view)
        painter.closeEditor.connect(self._edited, Qt.ConnectionType.QueuedConnection)
        view.setItemDelegate(painter)
        view.setFrameShape(QListView.Shape.NoFrame)
        view.setMouseTracking(True)
        view.setAccessibleName(tr(wording.CHATS))
        view.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        view.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        view.setEditTriggers(
            QListView.EditTrigger.EditKeyPressed | QListView.EditTrigger.DoubleClicked
        )
        view.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        view.viewport().setAutoFillBackground(False)
        slim(view, self._themes, ROW)
        view.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
        self._empty.setWordWrap(True)
        self._empty.setContentsMargins(10, 8, 10, 0)
        top = QHBoxLayout()
        top.addWidget(self.hide_button)
        top.addStretch()
        top.addWidget(self.new_button)
        self.settings_button.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(10, 12, 11, 12)
        layout.setSpacing(8)
        layout.addLayout(top)
        layout.addWidget(self.search)
        layout.addWidget(self._empty)
        layout.addWidget(view, 1)
        layout.addWidget(self.settings_button)

    def _connect(self) -> None:
        self.search.textChanged.connect(self._search_later)
        self._pause.timeout.connect(self._search_now)
        self.list.clicked.connect(self._clicked)
        self.list.activated.connect(self._clicked)
        self.list.selectionModel().currentChanged.connect(self._moved)
        self.list.customContextMenuRequested.connect(self._show_menu)
        self.list.delete_asked.connect(self._delete_current)
        self.rows.renamed.connect(self.rename_asked)
        self.new_button.clicked.connect(self.new_asked)
        self.hide_button.clicked.connect(self.hide_asked)
        self.settings_button.clicked.connect(self.settings_asked)
        self._themes.changed.connect(self._restyle)

    def _select(self) -> None:
        selection = self.list.selectionModel()
        index = QModelIndex() if self._current is None else self.rows.row_of(self._current)
        if index.isValid():
            selection.setCurrentIndex(index, QItemSelectionModel.SelectionFlag.ClearAndSelect)
        else:
            selection.clear()

    def _edited(self) -> None:
        if self._pending is not None:
            self.show_conversations(self._pending)

    def _clicked(self, index: QModelIndex) -> None:
        self._open(index)

    def _moved(self, index: QModelIndex, _before: QModelIndex) -> None:
        if self.list.hasFocus():
            self._open(index)

    def _open(self, index: QModelIndex) -> None:
        conversation = self.conversation_at(index)
        if conversation is not None and conversation.id != self._current:
            self.opened.emit(conversation.id)

    def _delete_current(self) -> None:
        conversation = self.conversation_at(self.list.currentIndex())
        if conversation is not None:
            self.delete_asked.emit(conversation.id)

    def _search_later(self, _text: str) -> None:
        self._pause.start()

    def _search_now(self) -> None:
        self.search_changed.emit(self.search_text)

    def menu_for(self, conversation: Conversation) -> QMenu:
        """What can be done with one conversation; the row under the pointer is current."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for text, name, act in (
            (wording.RENAME, "rename", self._rename_current),
            (wording.UNPIN if conversation.pinned else wording.PIN, "pin", self._pin_current),
            (wording.DELETE, "trash", self._delete_current),
        ):
            action = menu.addAction(icons.icon(name, self._themes.current.dim), tr(text))
            action.triggered.connect(act)
        return menu

    def _rename_current(self) -> None:
        self.list.edit(self.list.currentIndex())

    def _pin_current(self) -> None:
        conversation = self.conversation_at(self.list.currentIndex())
        if conversation is not None:
            self.pin_asked.emit(conversation.id, not conversation.pinned)

    def _show_menu(self, at: QPoint) -> None:
        index = self.list.indexAt(at)
        conversation = self.conversation_at(index)
        if conversation is not None:
            select = QItemSelectionModel.SelectionFlag.ClearAndSelect
            self.list.selectionModel().setCurrentIndex(index, select)
            self.menu_for(conversation).popup(self.list.viewport().mapToGlobal(at))

    def _restyle(self) -> None:
        theme = self._themes.current
        palette = theme.palette()
        palette.setColor(palette.ColorRole.Base, theme.side)
        self.list.setPalette(palette)
        self._empty.setFont(theme.font("small"))
        faint = theme.palette()
        faint.setColor(faint.ColorRole.WindowText, theme.faint)
        self._empty.setPalette(faint)
        self.setFixedWidth(min(max(SIDEBAR, theme.pixels(SIDEBAR)), WIDEST))
        self.list.scheduleDelayedItemsLayout()  # the rows have another height
        self.update()
