"""What the two settings sheets share: labels, a word below, and buttons that need no loop."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QFormLayout,
    QLabel,
    QVBoxLayout,
    QWidget,
)

from ui.theme import Themes
from ui.wording import tr


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

    def add(self, label: str, field: QWidget) -> None:
        """A row; the field is named by its label."""
        text = tr(label)
        field.setAccessibleName(text)
        if isinstance(field, QComboBox):
            field.view().setAccessibleName(text)
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
