"""Text that can be selected, copied and followed: the mouse and the keys of a body."""

from PySide6.QtCore import QEvent, QPoint, QPointF, Qt, QTimer, Signal
from PySide6.QtGui import (
    QContextMenuEvent,
    QFocusEvent,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QApplication, QMenu

from ui.chat import copying, selection, words
from ui.chat.body import Body
from ui.chat.selection import Selection
from ui.theme import Themes
from ui.wording import tr

_TRIPLE_MS = 400


class TextView(Body):
    """A body that a person reads, selects from and copies.

    Signals:
        selected: a person selected something else.
        link_asked: carries an address and where on the screen it was clicked.
        near: a drag or the focus reached a height (px) that should be seen.
    """

    selected = Signal()
    link_asked = Signal(str, QPoint)
    near = Signal(int)

    def __init__(self, themes: Themes, *, is_quiet: bool = False) -> None:
        super().__init__(themes, is_quiet=is_quiet)
        self._pressed_link = ""
        self._is_dragging = False
        self._clicked_twice = QTimer(self)
        self._clicked_twice.setSingleShot(True)
        self._clicked_twice.setInterval(_TRIPLE_MS)
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.IBeamCursor)

    @property
    def selected_text(self) -> str:
        """What is selected, as plain text."""
        return selection.copied(self.blocks, self.selection)

    @property
    def plain_text(self) -> str:
        """All of it, as plain text."""
        return selection.copied(self.blocks, selection.all_of(self.blocks))

    def select_all(self) -> None:
        """Select everything."""
        self._choose(selection.all_of(self.blocks))

    def copy(self) -> None:
        """Put what is selected on the clipboard, with its formatting."""
        if not self.selection.is_empty:
            copying.put_selection(self.blocks, self.selection)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Qt's hook: begin to select, or to follow a link."""
        if event.button() != Qt.MouseButton.LeftButton:
            return
        point = event.position()
        self._pressed_link = self.link_at(point)
        position = self.position_at(point)
        if self._clicked_twice.isActive() and self.blocks:
            self._choose(
                Selection((position[0], 0), (position[0], self.blocks[position[0]].length))
            )
            return
        extends = event.modifiers() & Qt.KeyboardModifier.ShiftModifier
        self._is_dragging = True
        self._choose(Selection(self.selection.anchor if extends else position, position))

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Qt's hook: select a word; a third click selects the block."""
        if event.button() == Qt.MouseButton.LeftButton and self.blocks:
            number, offset = self.position_at(event.position())
            start, end = self.blocks[number].word_at(offset)
            self._choose(Selection((number, start), (number, end)))
            self._clicked_twice.start()
            self._is_dragging = False

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Qt's hook: select further, or show what is under the pointer."""
        point = event.position()
        if self._is_dragging and event.buttons() & Qt.MouseButton.LeftButton:
            self._choose(Selection(self.selection.anchor, self.position_at(point)))
            self.near.emit(round(point.y()))
            return
        over_link = bool(self.link_at(point))
        shape = Qt.CursorShape.PointingHandCursor if over_link else Qt.CursorShape.IBeamCursor
        self.setCursor(shape)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Qt's hook: the selection stands; a link that was clicked is asked for."""
        self._is_dragging = False
        address = self.link_at(event.position())
        if address and address == self._pressed_link and self.selection.is_empty:
            self.link_asked.emit(address, event.globalPosition().toPoint())
        self._pressed_link = ""

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Qt's hook: copy, select all, open the link that has the focus."""
        keys = QKeySequence.StandardKey
        if event.matches(keys.Copy):
            self.copy()
        elif event.matches(keys.SelectAll):
            self.select_all()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.focused_link:
            number, start, end = self.focused_link
            box = self.blocks[number].boxes_of(start, end)[0].translated(0, self._tops[number])
            self.link_asked.emit(self._address(), self.mapToGlobal(box.bottomLeft().toPoint()))
        elif event.key() == Qt.Key.Key_Escape and not self.selection.is_empty:
            self._choose(Selection())
        else:
            super().keyPressEvent(event)

    def focusNextPrevChild(self, forward: bool) -> bool:  # noqa: N802  Qt's name
        """Qt's hook: Tab goes from link to link before it leaves."""
        links = self._all_links()
        now = links.index(self.focused_link) if self.focused_link in links else None
        step = 1 if forward else -1
        following = (0 if forward else len(links) - 1) if now is None else now + step
        if links and 0 <= following < len(links):
            self.focused_link = links[following]
            self.near.emit(round(self._tops[self.focused_link[0]]))
            self.update()
            return True
        self.focused_link = None
        return super().focusNextPrevChild(forward)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Qt's hook: the ring around a link goes."""
        super().focusOutEvent(event)
        self.update()

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Qt's hook: what is wider than its place moves sideways under the pointer."""
        by = -event.pixelDelta().x() or -event.angleDelta().x() / 2
        upright = abs(event.angleDelta().y()) or abs(event.pixelDelta().y())
        number = self.number_at(event.position().y())
        if (
            by
            and abs(by) >= upright / 2
            and self.blocks
            and self.blocks[number].scroll_sideways(by)
        ):
            self.update()
            event.accept()
        else:
            event.ignore()

    def leaveEvent(self, event: QEvent) -> None:
        """Qt's hook: no link is under the pointer."""
        super().leaveEvent(event)
        self.setCursor(Qt.CursorShape.IBeamCursor)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Qt's hook: what can be done with the text here."""
        address = self.link_at(QPointF(event.pos()))
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        copy = menu.addAction(tr(words.COPY), self.copy)
        copy.setEnabled(not self.selection.is_empty)
        menu.addAction(tr(words.SELECT_ALL), self.select_all)
        if address:
            menu.addSeparator()
            menu.addAction(
                tr(words.COPY_ADDRESS), lambda: QGuiApplication.clipboard().setText(address)
            )
        menu.popup(event.globalPos())

    def _choose(self, chosen: Selection) -> None:
        if chosen != self.selection:
            self.select(chosen)
            self.selected.emit()
            clipboard = QApplication.clipboard()
            if clipboard.supportsSelection() and not chosen.is_empty:
                clipboard.setText(self.selected_text, clipboard.Mode.Selection)

    def _all_links(self) -> list[tuple[int, int, int]]:
        return [
            (number, start, end)
            for number, block in enumerate(self.blocks)
            for start, end, _ in block.links()
        ]

    def _address(self) -> str:
        if self.focused_link is None:
            return ""
        number, start, _ = self.focused_link
        return next((link[2] for link in self.blocks[number].links() if link[0] == start), "")
