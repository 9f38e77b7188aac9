"""The window: sidebar, title, problems, chat and menus."""

import asyncio
from dataclasses import replace
from typing import Literal

from PySide6.QtCore import Qt
from PySide6.QtGui import QCloseEvent
from PySide6.QtWidgets import QApplication, QMainWindow, QMessageBox, QVBoxLayout, QWidget

from app.pairs import seeded
from app.problem import Problem
from app.program import Program
from app.version import program_version
from engine.events import Event, Failed, Loaded
from ui import icons, placement, wording
from ui.chat.checks import Checks
from ui.chat.keeping_on import KeepingOn
from ui.chat.pair_switch import PairSwitch
from ui.chat.settings_sheet import ChatSettingsSheet
from ui.chat.view import ChatView
from ui.conversations import Conversations
from ui.forms import Mode
from ui.inspector.inspector import Inspector
from ui.inspector.panel import InspectorPanel
from ui.menus import Menus
from ui.panes import Panes
from ui.preferences import Preferences
from ui.problem_bar import ProblemBar
from ui.sidebar import Sidebar
from ui.tasks import Tasks
from ui.theme import Themes
from ui.title_bar import TitleBar
from ui.wording import tr

Command = Literal["undo", "load", "continue", "settings", "again", "new", "models", "plain"]
_COMMANDS: tuple[tuple[str, Command], ...] = (
    ("undo", "undo"),
    ("load it", "load"),
    ("continue", "continue"),
    ("open settings", "settings"),
    ("try again", "again"),
    ("start a new conversation", "new"),
    ("choose another", "models"),
    ("open its target", "models"),
    ("write on as plain text", "plain"),
)


def command_of(action: str) -> Command | None:
    """What the window can do of what a problem advises; None when that is up to the person."""
    words = action.lower()
    return next((command for start, command in _COMMANDS if words.startswith(start)), None)


def _is_doable(action: str) -> bool:
    return command_of(action) is not None


class MainWindow(QMainWindow):
    """Shows the program. Closing it only asks: the root then ends everything in order."""

    def __init__(self, program: Program, tasks: Tasks, themes: Themes) -> None:
        super().__init__()
        self._program, self._tasks, self._themes = program, tasks, themes
        self.close_asked = asyncio.Event()
        settings = program.settings
        self.sidebar = Sidebar(themes)
        self.title_bar = TitleBar(themes)
        self.problem_bar = ProblemBar(themes, _is_doable)
        self.view = ChatView(
            program.chat, tasks, themes, seeded(settings.current, settings.current.defaults)
        )
        self.checks = Checks(program.chat, tasks, self.view.transcript)
        self.pairs = PairSwitch(program.chat, settings, tasks, self.view)
        self.keeping_on = KeepingOn(self.view)
        self.inspector_panel = InspectorPanel(themes)
        self.inspector_panes = Panes(self.inspector_panel, self.view, at_end=True)
        self.inspector = Inspector(
            self.inspector_panel, self.view, program.chat, program.inspection, self.checks, tasks
        )
        self.panes = Panes(self.sidebar, self._column())
        self.panes.setMinimumSize(360, 360)
        self.setCentralWidget(self.panes)
        self.menus = Menus(self)
        self.preferences = Preferences(
            settings, themes, self.view.composer, self.menus, self.problem_bar, self
        )
        self.conversations = Conversations(
            program.chat, settings, tasks, self.sidebar, self.view, self.problem_bar
        )
        self._connect()
        self._restyle()
        self._describe()
        self.view.setFocus()  # a newcomer types at once
        state = settings.current.window
        placement.restore(self, state)
        self.panes.want(state.sidebar > 0)
        self.inspector_panes.want(state.inspector)
        for problem in program.problems:
            self.problem_bar.show_problem(problem)
        tasks.start(self.conversations.begin(state.conversation))

    def report(self, error: BaseException) -> None:
        """Say what a task of this window could not do."""
        self.problem_bar.show_problem(Problem.from_exception(error))

    def open_chat_settings(self) -> ChatSettingsSheet:
        """Let a person change the settings of the open conversation."""
        sheet = ChatSettingsSheet(self._themes, self.view.settings, self._program.catalogue, self)
        sheet.chosen.connect(self.pairs.choose)
        sheet.open()
        return sheet

    def keep_place(self) -> None:
        """Remember where the window is and what it shows."""
        sidebar = self.sidebar.width() if self.panes.is_wanted else 0
        place = replace(
            placement.of(self),
            sidebar=sidebar,
            inspector=self.inspector_panes.is_wanted,
            conversation=self.view.here,
        )
        self.preferences.keep_window(place)

    def closeEvent(self, event: QCloseEvent) -> None:
        """Qt's hook: ask to be closed."""
        event.ignore()
        self.close_asked.set()

    def _column(self) -> QWidget:
        content = QWidget()
        column = QVBoxLayout(content)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.title_bar)
        column.addWidget(self.problem_bar)
        column.addWidget(self.inspector_panes, 1)
        return content

    def _connect(self) -> None:
        view, menus, conversations = self.view, self.menus, self.conversations
        for action, slot in (
            (menus.new_chat, conversations.new),
            (menus.find_chat, self._find_chat),
            (menus.close_window, self.close),
            (menus.quit_, self.close),
            (menus.sidebar, self.panes.toggle),
            (menus.inspector, self.inspector_panes.toggle),
            (menus.stop, view.stop),
            (menus.regenerate, view.again.regenerate_last),
            (menus.continue_, view.again.continue_last),
            (menus.check, self._check_last),
            (menus.draft, view.toggle_drafting),
            (menus.chat_settings, self.open_chat_settings),
            (menus.unload, self._unload),
            (menus.rename, self._rename_here),
            (menus.pin, conversations.pin_here),
            (menus.delete, conversations.delete_here),
            (menus.full_screen, self._toggle_full_screen),
            (menus.about, self._show_about),
        ):
            action.triggered.connect(slot)
        self.sidebar.settings_asked.connect(self.preferences.open_sheet)
        self.sidebar.hide_asked.connect(self.panes.toggle)
        self.title_bar.sidebar_asked.connect(self.panes.toggle)
        self.title_bar.new_asked.connect(conversations.new)
        self.preferences.mode_chosen.connect(self._seed_mode)
        self.panes.panel_shown.connect(self._sidebar_shown)
        self.title_bar.inspector_asked.connect(self.inspector_panes.toggle)
        self.inspector_panel.closed.connect(self.inspector_panes.toggle)
        self.inspector_panes.panel_shown.connect(self._inspector_shown)
        self.problem_bar.acted.connect(self._act)
        view.problem_action_asked.connect(self._act_here)
        view.settings_asked.connect(self.open_chat_settings)
        view.opened.connect(self._describe)
        view.opened.connect(self.panes.close_over)
        view.described.connect(self._describe)
        view.following.noted.connect(self.problem_bar.show_notice)
        view.drafting_shown.connect(menus.draft.setChecked)
        view.replies.changed.connect(self._show_state)
        view.replies.ended.connect(self._ended)
        self._themes.changed.connect(self._restyle)

    def _describe(self) -> None:
        view = self.view
        title = view.conversation.title if view.conversation else ""
        drafter = view.settings.drafter
        pair = view.model_name
        if drafter is not None:
            pair = tr(wording.PAIR, target=pair, drafter=drafter.name)
        self.title_bar.show_title(title or tr(wording.NO_CHAT_TITLE), pair)
        self.setWindowTitle(f"{title} - {wording.PRODUCT}" if title else wording.PRODUCT)
        is_pinned = view.conversation is not None and view.conversation.pinned
        self.menus.show_open(view.here is not None, is_pinned)
        self._show_state()

    def _show_state(self) -> None:
        self.menus.show_answering(self.view.is_answering, self.view.here is not None)

    def _ended(self, _reply: object) -> None:
        self._describe()
        if not self.isActiveWindow():
            QApplication.alert(self)

    def _seed_mode(self, mode: Mode) -> None:
        """A chat that was not begun yet is a new chat too."""
        if self.view.here is None:
            settings = self.view.settings
            self.view.set_settings(
                replace(settings, drafting=replace(settings.drafting, exactness=mode))
            )

    def _sidebar_shown(self, is_visible: bool) -> None:
        self.menus.sidebar.setChecked(is_visible)
        self.title_bar.show_sidebar(is_visible and not self.panes.is_narrow)

    def _inspector_shown(self, is_visible: bool) -> None:
        self.menus.inspector.setChecked(is_visible)
        self.title_bar.show_inspector(is_visible)

    def _find_chat(self) -> None:
        if not self.panes.is_panel_visible:
            self.panes.toggle()
        self.sidebar.search.setFocus()
        self.sidebar.search.selectAll()

    def _check_last(self) -> None:
        if self.view.here is not None:
            self.checks.check_last(self.view.here)

    def _rename_here(self) -> None:
        if not self.panes.is_panel_visible:
            self.panes.toggle()
        self.conversations.rename_here()

    def _unload(self) -> None:
        self._tasks.start(self._unload_model())

    async def _unload_model(self) -> None:
        await self._program.chat.unload()
        self.problem_bar.show_notice(tr(wording.UNLOADED))

    async def _load(self, conversation: int) -> None:
        await self._program.chat.load(conversation, self._show_load)

    async def _show_load(self, events: list[Event]) -> None:
        for event in events:
            if isinstance(event, Failed):
                problem = Problem("", event.message, event.safe, event.action, event.code)
                self.problem_bar.show_problem(problem)
            elif isinstance(event, Loaded):
                self.problem_bar.show_notice(tr(wording.LOADED, model=event.target))

    def _act(self, action: str, about: int) -> None:
        view = self.view
        match command_of(action):
            case "undo":
                self.conversations.restore(about)
            case "load":
                self._tasks.start(self._load(view.here or 0))
            case "continue":
                view.again.continue_last()
            case "again":
                view.again.regenerate_last()
            case "plain":
                self._tasks.start(view.write_on_plainly())
            case "settings":
                self.preferences.open_sheet()
            case "new":
                self.conversations.new()
            case "models":
                self.open_chat_settings()
            case None:
                self.problem_bar.show_notice(action)

    def _act_here(self, action: str) -> None:
        self._act(action, 0)

    def _toggle_full_screen(self) -> None:
        if self.isFullScreen():
            self.showNormal()
        else:
            self.showFullScreen()

    def _show_about(self) -> None:
        box = QMessageBox(self)
        box.setWindowTitle(tr(wording.ABOUT))
        box.setText(tr(wording.ABOUT_TEXT, version=program_version()))
        box.setIconPixmap(icons.icon("app", self._themes.current.text).pixmap(64, 64))
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        box.open()

    def _restyle(self) -> None:
        self.setPalette(self._themes.current.palette())
