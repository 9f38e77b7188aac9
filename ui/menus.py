"""The menu bar: every command with its shortcut, its role set by hand."""

from PySide6.QtCore import QMetaObject, QObject
from PySide6.QtGui import QAction, QActionGroup, QKeySequence
from PySide6.QtWidgets import QApplication, QMainWindow, QMenu

from ui import wording
from ui.chat.draft_switch import SHORTCUT as DRAFT_KEY
from ui.inspector.panel import SHORTCUT as INSPECTOR_KEY
from ui.panes import SHORTCUT as SIDEBAR_KEY
from ui.wording import tr

Role = QAction.MenuRole
Key = QKeySequence.StandardKey
Shortcut = QKeySequence.StandardKey | str


class Menus(QObject):
    """Makes the menus of a window; the window connects the actions.

    Qt guesses a role from the text of an action that has none and would move "Settings of this
    chat" into the application's menu (QAction.MenuRole), so that every action gets one here.
    """

    def __init__(self, window: QMainWindow) -> None:
        super().__init__(window)
        bar = window.menuBar()
        self._file(bar.addMenu(tr(wording.MENU_FILE)))
        self._edit(bar.addMenu(tr(wording.MENU_EDIT)))
        self._view(bar.addMenu(tr(wording.MENU_VIEW)))
        self._chat(bar.addMenu(tr(wording.MENU_CHAT)))
        self._window(bar.addMenu(tr(wording.MENU_WINDOW)), window)
        self._help(bar.addMenu(tr(wording.MENU_HELP)))

    def show_answering(self, is_answering: bool, has_answer: bool) -> None:
        """Stop works while an answer is written; its keys are free otherwise."""
        self.stop.setEnabled(is_answering)
        self.regenerate.setEnabled(has_answer and not is_answering)
        self.continue_.setEnabled(has_answer and not is_answering)
        self.check.setEnabled(has_answer and not is_answering)

    def show_open(self, is_stored: bool, is_pinned: bool) -> None:
        """A new chat cannot be renamed, pinned or deleted yet."""
        for action in (self.rename, self.pin, self.delete):
            action.setEnabled(is_stored)
        self.pin.setText(tr(wording.UNPIN if is_pinned else wording.PIN))

    def show_appearance(self, appearance: str) -> None:
        """Check the appearance that is chosen."""
        for action in self.appearances.actions():
            action.setChecked(action.data() == appearance)

    def _file(self, menu: QMenu) -> None:
        self.new_chat = _add(menu, wording.NEW_CHAT, Key.New)
        self.find_chat = _add(menu, wording.FIND_CHAT, "Ctrl+Shift+F")
        menu.addSeparator()
        self.settings = _add(menu, wording.SETTINGS, "Ctrl+,", Role.PreferencesRole)
        self.close_window = _add(menu, wording.CLOSE_WINDOW, Key.Close)
        self.quit_ = _add(menu, wording.QUIT, "Ctrl+Q", Role.QuitRole)

    def _edit(self, menu: QMenu) -> None:
        for text, key, slot in (
            (wording.UNDO_EDIT, Key.Undo, "undo"),
            (wording.REDO, Key.Redo, "redo"),
            ("", Key.UnknownKey, ""),
            (wording.CUT, Key.Cut, "cut"),
            (wording.COPY, Key.Copy, "copy"),
            (wording.PASTE, Key.Paste, "paste"),
            ("", Key.UnknownKey, ""),
            (wording.SELECT_ALL, Key.SelectAll, "selectAll"),
        ):
            if text:
                action = _add(menu, text, key)
                action.setData(slot)
                action.triggered.connect(self._act_on_focus)
            else:
                menu.addSeparator()

    def _view(self, menu: QMenu) -> None:
        self.sidebar = _add(menu, wording.SIDEBAR, SIDEBAR_KEY)
        self.sidebar.setCheckable(True)
        self.inspector = _add(menu, wording.INSPECTOR, INSPECTOR_KEY)
        self.inspector.setCheckable(True)
        menu.addSeparator()
        self.larger = _add(menu, wording.LARGER, Key.ZoomIn)
        self.larger.setShortcuts([*QKeySequence.keyBindings(Key.ZoomIn), QKeySequence("Ctrl+=")])
        self.smaller = _add(menu, wording.SMALLER, Key.ZoomOut)
        self.usual_size = _add(menu, wording.USUAL_SIZE, "Ctrl+0")
        menu.addSeparator()
        self.appearances = QActionGroup(self)
        for value, text in wording.APPEARANCES:
            action = _add(menu, text)
            action.setCheckable(True)
            action.setData(value)
            self.appearances.addAction(action)

    def _chat(self, menu: QMenu) -> None:
        self.stop = _add(menu, wording.STOP, "Ctrl+.")
        self.stop.setShortcuts([QKeySequence("Ctrl+."), QKeySequence("Esc")])
        self.regenerate = _add(menu, wording.REGENERATE, "Ctrl+R")
        self.continue_ = _add(menu, wording.CONTINUE, "Ctrl+Shift+R")
        self.check = _add(menu, wording.CHECK, "Ctrl+Shift+K")
        menu.addSeparator()
        self.draft = _add(menu, wording.DRAFT_HERE, DRAFT_KEY)
        self.draft.setCheckable(True)
        self.chat_settings = _add(menu, wording.CHAT_SETTINGS, "Ctrl+Shift+,")
        self.unload = _add(menu, wording.UNLOAD)
        menu.addSeparator()
        self.rename = _add(menu, wording.RENAME)
        self.pin = _add(menu, wording.PIN)
        self.delete = _add(menu, wording.DELETE)

    def _window(self, menu: QMenu, window: QMainWindow) -> None:
        _add(menu, wording.MINIMISE, "Ctrl+M").triggered.connect(window.showMinimized)
        self.full_screen = _add(menu, wording.FULL_SCREEN, Key.FullScreen)

    def _help(self, menu: QMenu) -> None:
        self.about = _add(menu, wording.ABOUT, role=Role.AboutRole)

    def _act_on_focus(self) -> None:
        action, focused = self.sender(), QApplication.focusWidget()
        if isinstance(action, QAction) and focused is not None:
            slot = str(action.data())
            if focused.metaObject().indexOfSlot(f"{slot}()") >= 0:
                QMetaObject.invokeMethod(focused, slot)


def _add(menu: QMenu, text: str, key: Shortcut = "", role: Role = Role.NoRole) -> QAction:
    action = menu.addAction(tr(text))
    action.setMenuRole(role)
    if key:
        action.setShortcut(QKeySequence(key))
    return action
