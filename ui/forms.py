"""What the two settings sheets share: labels, a word below, and buttons that need no loop."""

from typing import Literal

from PySide6.QtCore import QEvent, QRect, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QFormLayout,
    QLabel,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from ui import wording
from ui.theme import Themes
from ui.wording import tr

Mode = Literal["exact", "guarded", "fast"]


class ModeField(QWidget):
    """Exact, Guarded or Fast, with the sentence that says what the chosen one promises."""

    def __init__(self, themes: Themes, mode: str, when: str) -> None:
        super().__init__()
        self._when = when
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.box = QComboBox()
        for value, text in wording.MODES:
            self.box.addItem(tr(text), value)
        self.box.setCurrentIndex(max(0, self.box.findData(mode)))
        self.meaning = QLabel()
        self.meaning.setWordWrap(True)
        self.meaning.setTextFormat(Qt.TextFormat.PlainText)
        self.meaning.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.meaning.setFont(themes.current.font("small"))
        palette = themes.current.palette()
        palette.setColor(palette.ColorRole.WindowText, themes.current.dim)
        self.meaning.setPalette(palette)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        layout.addWidget(self.box, alignment=Qt.AlignmentFlag.AlignLeft)
        layout.addWidget(self.meaning)
        self.setFocusProxy(self.box)
        self.box.currentIndexChanged.connect(self._tell)
        self._tell()

    @property
    def mode(self) -> Mode:
        """What is chosen."""
        return self.box.currentData()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Qt's hook: room for the longest of the sentences, so that a choice moves nothing."""
        super().resizeEvent(event)
        metrics, room = self.meaning.fontMetrics(), QRect(0, 0, self.width(), 10_000)
        wraps = int(Qt.TextFlag.TextWordWrap)
        texts = [self._sentence(mode) for mode in wording.MODE_MEANS]
        heights = [metrics.boundingRect(room, wraps, text).height() for text in texts]
        self.meaning.setMinimumHeight(max(heights))

    def _sentence(self, mode: str) -> str:
        meaning = tr(wording.MODE_MEANS[mode], here=wording.HERE)
        return f"{meaning} {tr(self._when)}"

    def _tell(self) -> None:
        self.meaning.setText(self._sentence(self.mode))
        self.box.setAccessibleDescription(self.meaning.text())


class Sheet(QDialog):
    """A form that is opened, never executed: the window goes on meanwhile."""

    def __init__(self, themes: Themes, title: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.themes = themes
        self.setWindowTitle(title)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.form = QFormLayout()
        self.form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.ExpandingFieldsGrow)
        self.form.setRowWrapPolicy(QFormLayout.RowWrapPolicy.WrapLongRows)
        self.form.setSpacing(10)
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(20, 20, 20, 16)
        self._layout.setSpacing(14)
        self._layout.addLayout(self.form)
        self.setFont(themes.current.font("body"))
        self.setMinimumWidth(themes.current.pixels(440))

    def event(self, event: QEvent) -> bool:
        """Qt's hook: rows that wrap, or say more than before, need room at once."""
        is_done = super().event(event)
        if event.type() in (QEvent.Type.LayoutRequest, QEvent.Type.Resize):
            self.setMinimumHeight(self._layout.totalHeightForWidth(self.width()))
        return is_done

    def add(self, label: str, field: QWidget) -> None:
        """A row; the field is named by its label."""
        text = tr(label)
        field.setAccessibleName(text)
        box = field.box if isinstance(field, ModeField) else field
        box.setAccessibleName(text)
        if isinstance(box, QComboBox):
            box.view().setAccessibleName(text)
        self.form.addRow(text, field)

    def finish(self, buttons: QDialogButtonBox.StandardButton, note: str = "") -> None:
        """Close the form with a word for the reader and its buttons."""
        if note:
            label = QLabel(tr(note))
            label.setWordWrap(True)
            label.setFont(self.themes.current.font("small"))
            self._layout.addWidget(label)
        box = QDialogButtonBox(buttons)
        box.accepted.connect(self.accept)
        box.rejected.connect(self.reject)
        self._layout.addWidget(box)
