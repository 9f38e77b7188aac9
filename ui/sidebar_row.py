"""How one row of the sidebar is painted and edited."""

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPen
from PySide6.QtWidgets import (
    QLineEdit,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from app.conversation import Conversation
from ui import icons, wording
from ui.sidebar_model import CONVERSATION, MARK
from ui.theme import Themes
from ui.wording import tr

Index = QModelIndex | QPersistentModelIndex


class RowPainter(QStyledItemDelegate):
    """Paints headings and titles; a title is edited in place."""

    def __init__(self, themes: Themes, parent: QWidget) -> None:
        super().__init__(parent)
        self._themes = themes

    def sizeHint(self, _option: QStyleOptionViewItem, index: Index) -> QSize:
        """Qt's hook."""
        theme = self._themes.current
        return QSize(0, theme.pixels(32 if index.data(CONVERSATION) else 34))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """Qt's hook."""
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        conversation = index.data(CONVERSATION)
        if isinstance(conversation, Conversation):
            self._ground(painter, option)
            self._title(painter, option, conversation, str(index.data(MARK)))
        else:
            theme = self._themes.current
            painter.setFont(theme.font("label"))
            painter.setPen(theme.faint)
            box = option.rect.adjusted(8, 0, -8, -4)
            _text(painter, option, box, str(index.data()), Qt.AlignmentFlag.AlignBottom)
        painter.restore()

    def _ground(self, painter: QPainter, option: QStyleOptionViewItem) -> None:
        theme, state = self._themes.current, option.state
        painter.setPen(Qt.PenStyle.NoPen)
        if state & QStyle.StateFlag.State_Selected:
            painter.setBrush(theme.selection)
        elif state & QStyle.StateFlag.State_MouseOver:
            hover = QColor(theme.text)
            hover.setAlphaF(0.05)
            painter.setBrush(hover)
        else:
            painter.setBrush(Qt.BrushStyle.NoBrush)
        if state & QStyle.StateFlag.State_HasFocus:
            painter.setPen(QPen(theme.accent, 1.5))
        painter.drawRoundedRect(QRectF(option.rect).adjusted(0.75, 0.75, -0.75, -0.75), 7, 7)

    def _title(
        self, painter: QPainter, option: QStyleOptionViewItem, conversation: Conversation, mark: str
    ) -> None:
        theme = self._themes.current
        inner = option.rect.adjusted(8, 0, -8, 0)
        if mark:
            painter.setFont(theme.font("small"))
            painter.setPen(theme.caution if conversation.damaged else theme.dim)
            note = f" · {mark}"
            width = painter.fontMetrics().horizontalAdvance(note) + 1
            end = QRect(inner.right() - width, inner.top(), width + 1, inner.height())
            _text(painter, option, end, note)
            inner.setRight(inner.right() - width)
        if conversation.damaged:
            size = theme.pixels(14)
            square = QRect(inner.left(), inner.center().y() - size // 2, size, size)
            placed = QRectF(QStyle.visualRect(option.direction, option.rect, square))
            icons.paint(painter, "caution", theme.caution, placed)
            inner.setLeft(inner.left() + size + 6)
        font = theme.font("body")
        font.setPixelSize(theme.pixels(13))
        painter.setFont(font)
        painter.setPen(theme.text)
        title = " ".join(conversation.title.split())
        right = Qt.TextElideMode.ElideRight
        _text(painter, option, inner, painter.fontMetrics().elidedText(title, right, inner.width()))

    def createEditor(
        self, parent: QWidget, _option: QStyleOptionViewItem, _index: Index
    ) -> QWidget:
        """Qt's hook: the field in which a title is typed over."""
        editor = QLineEdit(parent)
        editor.setAccessibleName(tr(wording.CHAT_TITLE))
        editor.setMaxLength(200)
        return editor


def _text(
    painter: QPainter,
    option: QStyleOptionViewItem,
    box: QRect,
    text: str,
    height: Qt.AlignmentFlag = Qt.AlignmentFlag.AlignVCenter,
) -> None:
    """Draw `text` at the beginning of `box`, which is given as in a left-to-right window."""
    placed = QStyle.visualRect(option.direction, option.rect, box)
    start = QStyle.visualAlignment(option.direction, Qt.AlignmentFlag.AlignLeft)
    painter.drawText(placed, int(start | Qt.AlignmentFlag.AlignAbsolute | height), text)
