"""The settings of one conversation."""

from dataclasses import replace

from PySide6.QtCore import QRegularExpression, Signal
from PySide6.QtGui import QRegularExpressionValidator
from PySide6.QtWidgets import (
    QComboBox,
    QDialogButtonBox,
    QDoubleSpinBox,
    QLineEdit,
    QPlainTextEdit,
    QSpinBox,
    QWidget,
)

from app.catalogue import Catalogue
from app.conversation import Settings
from app.settings import MANY
from app.turns import model_of
from ui import wording
from ui.chat import pair_text
from ui.chat.drafter_field import DrafterField
from ui.chat.folder_field import FolderField
from ui.forms import ModeField, Sheet
from ui.theme import Themes
from ui.wording import tr


class ChatSettingsSheet(Sheet):
    """A form over `Settings`; what it does not show stays as it is.

    Below a folder stands what the catalogue knows of it, and which other half goes with it.

    Signals:
        chosen: carries the new settings, when they differ.
    """

    chosen = Signal(object)

    def __init__(
        self, themes: Themes, settings: Settings, catalogue: Catalogue, parent: QWidget
    ) -> None:
        super().__init__(themes, tr(wording.CHAT_SETTINGS), parent)
        self._settings, self._catalogue = settings, catalogue
        sampling = settings.sampling
        self.target = FolderField(
            themes, settings.target, wording.STARTER, tr(wording.CHOOSE_MODEL)
        )
        self.drafter = FolderField(
            themes, settings.drafter, tr(wording.NO_DRAFTER), tr(wording.CHOOSE_DRAFTER)
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
        for field in (self.target, self.drafter):
            field.path.textChanged.connect(self._tell_pair)
        self._tell_pair()

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

    def _tell_pair(self) -> None:
        chosen = replace(self._settings, target=self.target.folder, drafter=self.drafter.folder)
        choice, find = model_of(chosen), self._catalogue.find
        target = find(choice.target)
        drafter = None if choice.drafter is None else find(choice.drafter)
        has_drafter = choice.drafter is not None
        note = pair_text.target_note(target, has_drafter=has_drafter)
        self.target.tell(note, pair_text.hint(target))
        self.drafter.tell(pair_text.drafter_note(drafter, target), pair_text.hint(drafter))

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
