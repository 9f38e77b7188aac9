"""How the drafter of a chat is run: one row of three small fields."""

from PySide6.QtWidgets import QComboBox, QDoubleSpinBox, QHBoxLayout, QSpinBox, QWidget

from app.conversation import Settings
from ui import wording
from ui.wording import tr

_MOST = 511  # guesses of any drafter: a block of 512 rows


class DrafterField(QWidget):
    """Its numbers as released or packed, the most guesses at once, and how sure they must be."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self.bits = QComboBox()
        for bits, text in wording.DRAFTER_BITS:
            self.bits.addItem(tr(text), bits)
        asked = settings.drafter_options.bits
        if self.bits.findData(asked) < 0:
            self.bits.addItem(tr(wording.DRAFTER_OTHER_BITS, bits=asked), asked)
        self.bits.setCurrentIndex(self.bits.findData(asked))
        self.drafts = QSpinBox()
        self.drafts.setRange(1, _MOST)
        self.drafts.setPrefix(tr(wording.UP_TO))
        self.drafts.setValue(settings.drafting.max_drafts)
        self.confidence = QDoubleSpinBox()
        self.confidence.setRange(0.0, 1.0)
        self.confidence.setDecimals(3)
        self.confidence.setSingleStep(0.05)
        self.confidence.setPrefix(tr(wording.SURE_BY))
        self.confidence.setSpecialValueText(tr(wording.SURE_OR_NOT))
        self.confidence.setValue(settings.drafter_options.confidence)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        for field, name, hint in (
            (self.bits, wording.DRAFTER_NUMBERS, wording.DRAFTER_NUMBERS_HINT),
            (self.drafts, wording.MOST_GUESSES, wording.MOST_GUESSES_HINT),
            (self.confidence, wording.CONFIDENCE, wording.CONFIDENCE_HINT),
        ):
            field.setAccessibleName(tr(name))
            field.setAccessibleDescription(tr(hint))
            field.setToolTip(tr(hint))
            layout.addWidget(field, 1)
        self.setFocusProxy(self.bits)
