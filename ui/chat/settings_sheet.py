"""The settings of one conversation."""

from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QRegularExpression, Signal
from PySide6.QtGui import QRegularExpressionValidator
from PySide6.QtWidgets import (
    QComboBox,
    QDialogButtonBox,
    QDoubleSpinBox,
    QFileDialog,
    QHBoxLayout,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QSpinBox,
    QWidget,
)

from app.conversation import Settings
from app.settings import MANY
from ui import wording
from ui.chat.drafter_field import DrafterField
from ui.forms import ModeField, Sheet
from ui.theme import Themes
from ui.wording import tr


class FolderField(QWidget):
    """The path of a model's folder; empty means `usual`."""

    def __init__(self, folder: Path | None, usual: str, title: str) -> None:
        super().__init__()
        self._title = title
        self.path = QLineEdit("" if folder is None else str(folder))
        self.path.setPlaceholderText(usual)
        self.path.setClearButtonEnabled(True)
        self.path.setAccessibleName(title)
        self.button = QPushButton(tr(wording.CHOOSE))
        self.button.setAccessibleName(title)
        self.button.setAutoDefault(False)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.path, 1)
        layout.addWidget(self.button)
        self.setFocusProxy(self.path)
        self.button.clicked.connect(self._choose)

    @property
    def folder(self) -> Path | None:
        """What is chosen."""
        text = self.path.text().strip()
        return Path(text).expanduser() if text else None

    def _choose(self) -> None:
        dialog = QFileDialog(self, self._title, self.path.text())
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setOption(QFileDialog.Option.ShowDirsOnly)
        dialog.fileSelected.connect(self.path.setText)
        dialog.open()


class ChatSettingsSheet(Sheet):
    """A form over `Settings`; what it does not show stays as it is.

    Signals:
        chosen: carries the new settings, when they differ.
    """

    chosen = Signal(object)

    def __init__(self, themes: Themes, settings: Settings, parent: QWidget) -> None:
        super().__init__(themes, tr(wording.CHAT_SETTINGS), parent)
        self._settings = settings
        sampling = settings.sampling
        self.target = FolderField(settings.target, wording.STARTER, tr(wording.CHOOSE_MODEL))
        self.drafter = FolderField(
            settings.drafter, tr(wording.NO_DRAFTER), tr(wording.CHOOSE_DRAFTER)
        )
        self.runs = DrafterField(settings)
        self.drafting = QComboBox()
        for value, text in wording.WISHES:
            self.drafting.addItem(tr(text), value)
        self.drafting.setCurrentIndex(self.drafting.findData(settings.drafting.wish))
        self.mode = ModeField(themes, settings.drafting.exactness, wording.MODE_NEXT)
        self.system = QPlainTextEdit(settings.system)
        self.system.setTabChangesFocus(True)
        self.system.setFixedHeight(themes.current.pixels(76))
        self.temperature = _number(sampling.temperature, 5.0)
        self.top_p = _number(sampling.top_p, 1.0)
        self.max_tokens = QSpinBox()
        self.max_tokens.setRange(1, MANY)
        self.max_tokens.setGroupSeparatorShown(True)
        self.max_tokens.setValue(settings.max_tokens)
        self.seed = QLineEdit(str(sampling.seed))
        self.seed.setValidator(QRegularExpressionValidator(QRegularExpression("[0-9]{1,20}")))
        for label, field in (
            (wording.MODEL, self.target),
            (wording.DRAFTER, self.drafter),
            (wording.DRAFTER_RUNS, self.runs),
            (wording.DRAFTING, self.drafting),
            (wording.MODE, self.mode),
            (wording.SYSTEM_PROMPT, self.system),
            (wording.TEMPERATURE, self.temperature),
            (wording.TOP_P, self.top_p),
            (wording.MAX_TOKENS, self.max_tokens),
            (wording.SEED, self.seed),
        ):
            self.add(label, field)
        button = QDialogButtonBox.StandardButton
        self.finish(button.Ok | button.Cancel, wording.NEXT_ANSWER)
        self.accepted.connect(self._choose)

    @property
    def settings(self) -> Settings:
        """What the form says."""
        old = self._settings
        sampling = replace(
            old.sampling,
            temperature=self.temperature.value(),
            top_p=self.top_p.value(),
            seed=int(self.seed.text() or 0),
        )
        drafting = replace(
            old.drafting,
            wish=self.drafting.currentData(),
            max_drafts=self.runs.drafts.value(),
            exactness=self.mode.mode,
        )
        options = replace(
            old.drafter_options,
            bits=self.runs.bits.currentData(),
            confidence=self.runs.confidence.value(),
        )
        return replace(
            old,
            target=self.target.folder,
            drafter=self.drafter.folder,
            drafter_options=options,
            system=self.system.toPlainText(),
            drafting=drafting,
            sampling=sampling,
            max_tokens=self.max_tokens.value(),
        )

    def _choose(self) -> None:
        if self.settings != self._settings:
            self.chosen.emit(self.settings)


def _number(value: float, most: float) -> QDoubleSpinBox:
    box = QDoubleSpinBox()
    box.setRange(0.0, most)
    box.setDecimals(3)
    box.setSingleStep(0.05)
    box.setValue(value)
    return box
