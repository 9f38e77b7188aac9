"""Buttons and quiet words in a line under a message."""

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QWidget

from ui.buttons import Button
from ui.chat import words
from ui.theme import Themes
from ui.wording import tr


class Versions(QWidget):
    """Which of a message's versions is shown, and arrows to the others.

    Signals:
        stepped: carries -1 or 1.
    """

    stepped = Signal(int)

    def __init__(self, themes: Themes) -> None:
        super().__init__()
        self._themes = themes
        self.back = Button(themes, words.BACK)
        self.back.describe(tr(words.PREVIOUS))
        self.onward = Button(themes, words.ONWARD)
        self.onward.describe(tr(words.NEXT))
        self._label = QLabel()
        self.back.clicked.connect(self._go_back)
        self.onward.clicked.connect(self._go_on)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        for part in (self.back, self._label, self.onward):
            layout.addWidget(part)

    def show_version(self, position: int, count: int) -> None:
        """Show that this is `position` of `count`; one alone is not worth telling."""
        self.setVisible(count > 1)
        self._label.setText(tr(words.OF, position=position, count=count))
        self._label.setAccessibleName(tr(words.VERSION, position=position, count=count))
        self.back.setEnabled(position > 1)
        self.onward.setEnabled(position < count)
        self.restyle()

    def restyle(self) -> None:
        """The theme is another one."""
        theme = self._themes.current
        self._label.setFont(theme.font("small"))
        self._label.setStyleSheet(f"color: {theme.dim.name()}")

    def _go_back(self) -> None:
        self.stepped.emit(-1)

    def _go_on(self) -> None:
        self.stepped.emit(1)


class Row(QWidget):
    """Words on the left, buttons on the right."""

    def __init__(self, themes: Themes) -> None:
        super().__init__()
        self._themes = themes
        self._label = QLabel()
        self._layout = QHBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(2)
        self._layout.addWidget(self._label)
        self._layout.addStretch(1)

    def add(self, widget: QWidget) -> None:
        """Put a widget at the right end."""
        self._layout.addWidget(widget)

    @property
    def left_width(self) -> int:
        """The px that its words take, with the gap behind them."""
        return self._label.sizeHint().width() + self._themes.current.pixels(18)

    @property
    def right_width(self) -> int:
        """The px that its buttons take, with a gap before them."""
        taken = self._layout.sizeHint().width() - self._label.sizeHint().width()
        return taken + self._themes.current.pixels(12)

    def tell(self, parts: Sequence[str]) -> None:
        """Show these words on the left."""
        self._label.setText("     ".join(part for part in parts if part))

    def restyle(self) -> None:
        """The theme is another one."""
        theme = self._themes.current
        self._label.setFont(theme.font("small"))
        self._label.setStyleSheet(f"color: {theme.faint.name()}")


class FadingButton(Button):
    """A button that is not painted while nobody needs it; the keyboard reaches it all the same."""

    def __init__(self, themes: Themes, text: str = "") -> None:
        super().__init__(themes, text)
        self._is_faded = False

    def set_faded(self, is_faded: bool) -> None:
        """Paint it, or leave its place empty."""
        if is_faded != self._is_faded:
            self._is_faded = is_faded
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Qt's hook: the button, unless it is faded and has no focus."""
        if not self._is_faded or self.hasFocus():
            super().paintEvent(event)
