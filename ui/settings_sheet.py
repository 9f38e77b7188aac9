"""The settings of the program: how it looks and which key sends."""

from dataclasses import replace

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QComboBox, QDialogButtonBox, QWidget

from app.settings import AppSettings
from ui import wording
from ui.buttons import shortcut_text
from ui.forms import ModeField, Sheet
from ui.theme import TEXT_SIZES, Themes
from ui.wording import tr


class SettingsSheet(Sheet):
    """Every choice holds at once.

    Signals:
        chosen: carries the settings as they are now.
    """

    chosen = Signal(object)

    def __init__(self, themes: Themes, settings: AppSettings, parent: QWidget) -> None:
        super().__init__(themes, tr(wording.SETTINGS), parent)
        self._settings = settings
        self.appearance, self.size_box, self.key = QComboBox(), QComboBox(), QComboBox()
        for value, text in wording.APPEARANCES:
            self.appearance.addItem(tr(text), value)
        for size in TEXT_SIZES:
            self.size_box.addItem(f"{round(100 * size)} %", size)
        self.key.addItem(shortcut_text("Return"), "enter")
        self.key.addItem(shortcut_text("Ctrl+Return"), "mod+enter")
        for box, value in (
            (self.appearance, settings.appearance),
            (self.size_box, themes.text_size),
            (self.key, settings.send_key),
        ):
            box.setCurrentIndex(max(0, box.findData(value)))
            box.currentIndexChanged.connect(self._choose)
        mode = settings.defaults.drafting.exactness
        self.mode = ModeField(themes, mode, wording.MODE_NEW)
        self.mode.box.currentIndexChanged.connect(self._choose)
        self.add(wording.APPEARANCE, self.appearance)
        self.add(wording.TEXT_SIZE, self.size_box)
        self.add(wording.SEND_KEY, self.key)
        self.add(wording.MODE_OF_NEW, self.mode)
        self.finish(QDialogButtonBox.StandardButton.Close)

    def _choose(self, _index: int) -> None:
        usual = self._settings.defaults
        drafting = replace(usual.drafting, exactness=self.mode.mode)
        self._settings = replace(
            self._settings,
            appearance=self.appearance.currentData(),
            text_size=self.size_box.currentData(),
            send_key=self.key.currentData(),
            defaults=replace(usual, drafting=drafting),
        )
        self.chosen.emit(self._settings)
