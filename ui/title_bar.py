"""The bar above the transcript: the chat's title and its pair of models."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QWidget

from ui import wording
from ui.buttons import Button
from ui.inspector.panel import SHORTCUT as INSPECTOR_KEY
from ui.panes import SHORTCUT as SIDEBAR_KEY
from ui.theme import TITLE_BAR, Themes
from ui.wording import tr


class TitleBar(QWidget):
    """Shows title and pair; while the sidebar is hidden, also the buttons that were there.

    Signals:
        sidebar_asked, new_asked, inspector_asked: as they say.
    """

    inspector_asked = Signal()
    sidebar_asked = Signal()
    new_asked = Signal()

    def __init__(self, themes: Themes) -> None:
        super().__init__()
        self._themes = themes
        self._title, self._pair = "", ""
        self.sidebar_button = Button(themes, icon="sidebar")
        self.sidebar_button.describe(tr(wording.SHOW_SIDEBAR), SIDEBAR_KEY)
        self.new_button = Button(themes, icon="compose")
        self.new_button.describe(tr(wording.NEW_CHAT), "Ctrl+N")
        self.inspector_button = Button(themes, icon="inspector")
        self.inspector_button.setCheckable(True)
        self.title, self.pair = QLabel(), QLabel()
        layout = QHBoxLayout(self)
        layout.setContentsMargins(12, 0, 16, 0)
        layout.setSpacing(8)
        layout.addWidget(self.sidebar_button)
        layout.addWidget(self.new_button)
        for label in (self.title, self.pair):
            label.setTextFormat(Qt.TextFormat.PlainText)
            label.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Preferred)
            layout.addWidget(label)
        self.title.setContentsMargins(10, 0, 4, 0)
        layout.addStretch(1)
        layout.addWidget(self.inspector_button)
        self.inspector_button.clicked.connect(self.inspector_asked)
        self.sidebar_button.clicked.connect(self.sidebar_asked)
        self.new_button.clicked.connect(self.new_asked)
        themes.changed.connect(self._restyle)
        self._restyle()
        self.show_sidebar(True)
        self.show_inspector(False)

    def show_title(self, title: str, pair: str) -> None:
        """Show the title of the open chat and its models."""
        self._title, self._pair = " ".join(title.split()), pair
        self._elide()

    def show_sidebar(self, is_visible: bool) -> None:
        """Say whether the sidebar is visible."""
        self.sidebar_button.setVisible(not is_visible)
        self.new_button.setVisible(not is_visible)
        self._elide()

    def show_inspector(self, is_visible: bool) -> None:
        """Say whether the inspector is visible."""
        self.inspector_button.setChecked(is_visible)
        name = wording.HIDE_INSPECTOR if is_visible else wording.SHOW_INSPECTOR
        self.inspector_button.describe(tr(name), INSPECTOR_KEY)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Qt's hook: the ground and the line below."""
        theme, painter = self._themes.current, QPainter(self)
        painter.fillRect(self.rect(), theme.ground)
        painter.fillRect(0, self.height() - 1, self.width(), 1, theme.line)
        painter.end()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Qt's hook: both texts are cut to the room there is."""
        super().resizeEvent(event)
        self._elide()

    def _elide(self) -> None:
        taken = 96 if self.sidebar_button.isHidden() else 166
        room = max(80, self.width() - taken)
        pair_width = min(self.pair.fontMetrics().horizontalAdvance(self._pair), room // 2)
        right = Qt.TextElideMode.ElideRight
        self.title.setText(
            self.title.fontMetrics().elidedText(self._title, right, room - pair_width)
        )
        self.pair.setText(self.pair.fontMetrics().elidedText(self._pair, right, pair_width + 1))
        self.title.setToolTip(self._title)
        self.pair.setToolTip(self._pair)

    def _restyle(self) -> None:
        theme = self._themes.current
        self.title.setFont(theme.font("title"))
        self.title.setPalette(theme.palette())
        self.pair.setFont(theme.font("small"))
        dim = theme.palette()
        dim.setColor(dim.ColorRole.WindowText, theme.dim)
        self.pair.setPalette(dim)
        self.setFixedHeight(max(TITLE_BAR, theme.pixels(44)))
        self._elide()
        self.update()
