"""The sidebar's rows: conversations under the headings pinned, today and earlier."""

import datetime
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from PySide6.QtCore import QAbstractListModel, QModelIndex, QPersistentModelIndex, Qt, Signal

from app.conversation import Conversation
from ui import wording
from ui.wording import tr

Index = QModelIndex | QPersistentModelIndex
Mark = Literal["", "answering", "waiting"]

CONVERSATION = Qt.ItemDataRole.UserRole + 1
MARK = Qt.ItemDataRole.UserRole + 2


@dataclass(frozen=True, slots=True)
class Heading:
    """A row that names the rows after it."""

    text: str


def rows(conversations: Sequence[Conversation], now: float) -> list[Heading | Conversation]:
    """The rows of the sidebar at the time `now`, newest first under each heading."""
    midnight = datetime.datetime.fromtimestamp(now).replace(hour=0, minute=0, second=0)
    groups: dict[str, list[Conversation]] = {
        wording.PINNED: [],
        wording.TODAY: [],
        wording.EARLIER: [],
    }
    for one in sorted(conversations, key=lambda one: (one.updated, one.id), reverse=True):
        today = one.updated >= midnight.timestamp()
        group = wording.PINNED if one.pinned else wording.TODAY if today else wording.EARLIER
        groups[group].append(one)
    made: list[Heading | Conversation] = []
    for heading, members in groups.items():
        if members:
            made += [Heading(tr(heading)), *members]
    return made


class ConversationRows(QAbstractListModel):
    """What the list shows; headings cannot be selected, titles can be edited.

    Signals:
        renamed: a title was typed over; carries the conversation and the new title.
    """

    renamed = Signal(int, str)

    def __init__(self) -> None:
        super().__init__()
        self._rows: list[Heading | Conversation] = []
        self._answering: set[int] = set()
        self._waiting: set[int] = set()

    def show(self, shown: list[Heading | Conversation]) -> None:
        """Show these rows; nothing flickers when they are the same."""
        if shown != self._rows:
            self.beginResetModel()
            self._rows = shown
            self.endResetModel()

    def mark(self, answering: Collection[int], waiting: Collection[int]) -> None:
        """Say which conversations answer now and which wait for their turn."""
        self._answering, self._waiting = set(answering), set(waiting)
        if self._rows:
            self.dataChanged.emit(self.index(0), self.index(len(self._rows) - 1), [MARK])

    def row_of(self, conversation: int) -> QModelIndex:
        """Where a conversation is listed; invalid when it is not."""
        for row, item in enumerate(self._rows):
            if isinstance(item, Conversation) and item.id == conversation:
                return self.index(row)
        return QModelIndex()

    def rowCount(self, parent: Index | None = None) -> int:
        """Qt's hook."""
        return 0 if parent is not None and parent.isValid() else len(self._rows)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """Qt's hook."""
        item = self._rows[index.row()]
        if isinstance(item, Heading):
            return item.text if role == Qt.ItemDataRole.DisplayRole else None
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.EditRole):
            return item.title
        if role == Qt.ItemDataRole.ToolTipRole:
            return item.title
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return ", ".join(part for part in (item.title, self._mark_text(item)) if part)
        if role == CONVERSATION:
            return item
        return self._mark_text(item) if role == MARK else None

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Qt's hook."""
        if not index.isValid() or isinstance(self._rows[index.row()], Heading):
            return Qt.ItemFlag.NoItemFlags
        flag = Qt.ItemFlag
        return flag.ItemIsEnabled | flag.ItemIsSelectable | flag.ItemIsEditable

    def setData(self, index: Index, value: object, role: int = Qt.ItemDataRole.EditRole) -> bool:
        """Qt's hook: asks for the new title; the row changes when the app says so."""
        item, title = self._rows[index.row()], str(value).strip()
        if role != Qt.ItemDataRole.EditRole or not isinstance(item, Conversation) or not title:
            return False
        if title != item.title:
            self.renamed.emit(item.id, title)
        return True

    def _mark_text(self, item: Conversation) -> str:
        if item.id in self._waiting:
            return tr(wording.WAITING)
        if item.id in self._answering:
            return tr(wording.ANSWERING)
        return tr(wording.DAMAGED) if item.damaged else ""
