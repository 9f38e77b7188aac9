"""Small sheets that hang at a place and close when one looks elsewhere."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import QPoint, Qt, QUrl
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtWidgets import QFrame, QGridLayout, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from ui.buttons import Button
from ui.chat import words
from ui.chat.numbers import Number
from ui.theme import Themes
from ui.wording import tr

WIDTH = 420  # px


class Popover(QFrame):
    """A sheet beside a point of the screen, held inside it."""

    def __init__(self, themes: Themes, parent: QWidget) -> None:
        super().__init__(parent, Qt.WindowType.Popup)
        self._themes = themes
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        theme = themes.current
        self.setObjectName("popover")
        ground, line = theme.panel.name(), theme.line.name()
        self.setStyleSheet(f"#popover {{ background: {ground}; border: 1px solid {line}; }}")

    def show_near(self, place: QPoint) -> None:
        """Show it with its top right near `place`."""
        layout = self.layout()
        height = layout.totalHeightForWidth(self.width()) if layout else 0
        self.resize(self.width(), height if height > 0 else self.sizeHint().height())
        screen = QGuiApplication.screenAt(place) or QGuiApplication.primaryScreen()
        room = screen.availableGeometry()
        x = min(
            max(place.x() - self.width() // 2, room.left() + 8), room.right() - self.width() - 8
        )
        y = place.y() + 6
        if y + self.height() > room.bottom():
            y = max(room.top() + 8, place.y() - self.height() - 24)
        self.move(x, y)
        self.show()

    def _label(self, text: str, *, is_dim: bool = False, is_small: bool = False) -> QLabel:
        theme = self._themes.current
        label = QLabel(text)
        label.setTextFormat(Qt.TextFormat.PlainText)
        label.setFont(theme.font("small" if is_small else "body"))
        label.setStyleSheet(f"color: {(theme.dim if is_dim else theme.text).name()}")
        label.setWordWrap(True)
        return label


class LinkPopover(Popover):
    """Shows where a link leads, in full and as the network sees it, before it is opened."""

    def __init__(
        self, themes: Themes, address: str, open_link: Callable[[str], None], parent: QWidget
    ) -> None:
        super().__init__(themes, parent)
        self.address = bytes(QUrl(address).toEncoded().data()).decode("ascii")
        self._open_link = open_link
        self.open = Button(themes, tr(words.OPEN), kind="filled")
        self.open.setAccessibleName(f"{tr(words.OPEN)} {self.address}")
        self.open.clicked.connect(self._open)
        copy = Button(themes, tr(words.COPY_ADDRESS))
        copy.setAccessibleName(tr(words.COPY_ADDRESS))
        copy.clicked.connect(self._copy)
        buttons = QHBoxLayout()
        buttons.addStretch(1)
        buttons.addWidget(copy)
        buttons.addWidget(self.open)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(14, 12, 12, 12)
        layout.addWidget(self._label(tr(words.LINK_LEADS), is_dim=True, is_small=True))
        shown = self._label("\N{ZERO WIDTH SPACE}".join(_pieces(self.address)))
        shown.setAccessibleName(self.address)
        layout.addWidget(shown)
        layout.addLayout(buttons)
        self.setFixedWidth(WIDTH)
        self.open.setFocus()

    def _open(self) -> None:
        self._open_link(self.address)
        self.close()

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self.address)
        self.close()


def open_in_browser(address: str) -> None:
    """Hand a web or mail address to the system."""
    QDesktopServices.openUrl(QUrl.fromEncoded(address.encode()))


class NumbersPopover(Popover):
    """All numbers of an answer, each with its meaning."""

    def __init__(self, themes: Themes, numbers: Sequence[Number], parent: QWidget) -> None:
        super().__init__(themes, parent)
        grid = QGridLayout(self)
        grid.setContentsMargins(16, 14, 16, 14)
        grid.setHorizontalSpacing(18)
        grid.setVerticalSpacing(2)
        for index, number in enumerate(numbers):
            name = self._label(number.name, is_dim=True)
            value = self._label(number.value)
            meaning = self._label(number.meaning, is_dim=True, is_small=True)
            name.setWordWrap(False)
            meaning.setContentsMargins(0, 0, 0, 7)
            grid.addWidget(name, 2 * index, 0)
            grid.addWidget(value, 2 * index, 1)
            grid.addWidget(meaning, 2 * index + 1, 1)
        grid.setColumnStretch(1, 1)
        self.setFixedWidth(WIDTH + 40)


def _pieces(address: str, length: int = 24) -> list[str]:
    return [address[at : at + length] for at in range(0, len(address), length)]
