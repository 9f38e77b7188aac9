"""Where a person chooses the folder of a model, with what is known of it below."""

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QFileDialog,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from ui import wording
from ui.theme import Themes
from ui.wording import tr


class FolderField(QWidget):
    """The path of a model's folder; empty means `usual`."""

    def __init__(self, themes: Themes, folder: Path | None, usual: str, title: str) -> None:
        super().__init__()
        self._title = title
        self.path = QLineEdit("" if folder is None else str(folder))
        self.path.setPlaceholderText(usual)
        self.path.setClearButtonEnabled(True)
        self.path.setAccessibleName(title)
        self.button = QPushButton(tr(wording.CHOOSE))
        self.button.setAccessibleName(title)
        self.button.setAutoDefault(False)
        self.note = QLabel()
        self.note.setTextFormat(Qt.TextFormat.PlainText)  # a licence's name comes from a folder
        self.note.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.note.setWordWrap(True)
        self.note.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.note.setFont(themes.current.font("small"))
        palette = themes.current.palette()
        palette.setColor(palette.ColorRole.WindowText, themes.current.dim)
        self.note.setPalette(palette)
        self.note.hide()
        row = QHBoxLayout()
        row.addWidget(self.path, 1)
        row.addWidget(self.button)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        layout.addLayout(row)
        layout.addWidget(self.note)
        self.setFocusProxy(self.path)
        self.button.clicked.connect(self._choose)

    @property
    def folder(self) -> Path | None:
        """What is chosen."""
        text = self.path.text().strip()
        if not text:
            return None
        try:
            return Path(text).expanduser()
        except RuntimeError:  # nobody here has the name after the ~
            return Path(text)

    def tell(self, note: str, hint: str) -> None:
        """Show what is known of the folder, as plain text; `hint` is for the pointer."""
        self.note.setText(note)
        self.note.setAccessibleName(note)
        self.note.setToolTip(hint)
        self.note.setVisible(bool(note))
        self.path.setAccessibleDescription(note)

    def _choose(self) -> None:
        dialog = QFileDialog(self, self._title, self.path.text())
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setOption(QFileDialog.Option.ShowDirsOnly)
        dialog.fileSelected.connect(self.path.setText)
        dialog.open()
