"""What a person chose for the whole program: shown at once and kept."""

from dataclasses import replace

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QWidget

from app.problem import Problem
from app.settings import AppSettings, SettingsFile, WindowState
from ui.chat.composer import Composer
from ui.menus import Menus
from ui.problem_bar import ProblemBar
from ui.settings_sheet import SettingsSheet
from ui.theme import Themes


class Preferences(QObject):
    """Brings the settings to themes, composer and menus, and back to their file.

    Signals:
        mode_chosen: new chats draft in another mode; carries it.
    """

    mode_chosen = Signal(str)

    def __init__(
        self,
        file: SettingsFile,
        themes: Themes,
        composer: Composer,
        menus: Menus,
        bar: ProblemBar,
        window: QWidget,
    ) -> None:
        super().__init__(window)
        self._file, self._themes, self._composer = file, themes, composer
        self._menus, self._bar, self._window = menus, bar, window
        menus.larger.triggered.connect(self.larger)
        menus.smaller.triggered.connect(self.smaller)
        menus.usual_size.triggered.connect(self.usual_size)
        menus.settings.triggered.connect(self.open_sheet)
        menus.appearances.triggered.connect(self._choose_appearance)
        self._show(file.current)

    def larger(self) -> None:
        """Make all text one size larger."""
        self._themes.step_text_size(1)
        self._choose(replace(self._file.current, text_size=self._themes.text_size))

    def smaller(self) -> None:
        """Make all text one size smaller."""
        self._themes.step_text_size(-1)
        self._choose(replace(self._file.current, text_size=self._themes.text_size))

    def usual_size(self) -> None:
        """Give all text its usual size."""
        self._choose(replace(self._file.current, text_size=1.0))

    def open_sheet(self) -> SettingsSheet:
        """Let a person choose."""
        sheet = SettingsSheet(self._themes, self._file.current, self._window)
        sheet.chosen.connect(self._choose)
        sheet.open()
        return sheet

    def keep_window(self, window: WindowState) -> None:
        """Remember where the window is."""
        self._write(replace(self._file.current, window=window))

    def _choose_appearance(self, action: QAction) -> None:
        self._choose(replace(self._file.current, appearance=action.data()))

    def _choose(self, settings: AppSettings) -> None:
        was, mode = self._file.current.defaults.drafting, settings.defaults.drafting.exactness
        self._write(settings)
        self._show(settings)
        if mode != was.exactness:
            self.mode_chosen.emit(mode)

    def _show(self, settings: AppSettings) -> None:
        self._themes.set_appearance(settings.appearance)
        self._themes.set_text_size(settings.text_size)
        self._composer.set_send_key(enter_sends=settings.send_key == "enter")
        self._menus.show_appearance(settings.appearance)

    def _write(self, settings: AppSettings) -> None:
        try:
            self._file.write(settings)
        except OSError as error:  # the choice holds until the end of this run
            self._bar.show_problem(Problem.from_exception(error))
