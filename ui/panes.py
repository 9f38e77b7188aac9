"""Sidebar and content side by side; in a narrow window the sidebar slides over."""

from PySide6.QtCore import QEasingCurve, QPoint, QPropertyAnimation, Signal
from PySide6.QtGui import QColor, QMouseEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QStyle, QWidget

NARROW = 720  # px of window width
SLIDE_MS = 150


class Scrim(QWidget):
    """Dims what lies under the sidebar; a click on it closes the sidebar."""

    clicked = Signal()

    def mousePressEvent(self, _event: QMouseEvent) -> None:
        """Qt's hook."""
        self.clicked.emit()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Qt's hook."""
        painter = QPainter(self)
        painter.fillRect(self.rect(), QColor(0, 0, 0, 70))
        painter.end()


class Panes(QWidget):
    """Lays out the sidebar and the content.

    In a wide window the sidebar stays as it was chosen; in a narrow one it is closed until asked
    for, and closes again when something in it was chosen.

    Signals:
        sidebar_shown: carries whether the sidebar is visible.
    """

    sidebar_shown = Signal(bool)

    def __init__(self, sidebar: QWidget, content: QWidget) -> None:
        super().__init__()
        self._sidebar, self._content = sidebar, content
        self._scrim = Scrim()
        for widget in (content, self._scrim, sidebar):
            widget.setParent(self)
        self._is_wanted = True  # in a wide window
        self._is_over = False  # in a narrow window
        self._slide = QPropertyAnimation(sidebar, b"pos", self)
        self._slide.setEasingCurve(QEasingCurve.Type.OutCubic)
        self._slide.finished.connect(self._slid)
        self._scrim.clicked.connect(self.close_over)
        self._scrim.hide()
        self.setMinimumSize(360, 360)

    @property
    def is_narrow(self) -> bool:
        """Whether the sidebar has to lie over the content."""
        return self.width() < NARROW

    @property
    def is_sidebar_wanted(self) -> bool:
        """Whether a wide window shows the sidebar."""
        return self._is_wanted

    @property
    def is_sidebar_visible(self) -> bool:
        """Whether the sidebar is on screen."""
        return self._is_over if self.is_narrow else self._is_wanted

    def want_sidebar(self, is_wanted: bool) -> None:
        """Show the sidebar in a wide window, or not."""
        self._is_wanted = is_wanted
        self._arrange()

    def toggle_sidebar(self) -> None:
        """Show the sidebar when it is hidden, hide it when it is shown."""
        if not self.is_narrow:
            self.want_sidebar(not self._is_wanted)
        elif self._is_over:
            self.close_over()
        else:
            self._is_over = True
            self._arrange()
            self._run_slide(QPoint(-self._sidebar.width(), 0), QPoint(0, 0))
            self._sidebar.setFocus()

    def close_over(self) -> None:
        """Take away the sidebar that lies over the content; a docked one stays."""
        if self._is_over:
            self._is_over = False
            self._run_slide(QPoint(0, 0), QPoint(-self._sidebar.width(), 0))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Qt's hook."""
        super().resizeEvent(event)
        if not self.is_narrow:
            self._is_over = False
        self._arrange()

    def _arrange(self) -> None:
        self._slide.stop()
        is_docked = not self.is_narrow and self._is_wanted
        left = self._sidebar.width() if is_docked else 0
        self._content.setGeometry(left, 0, self.width() - left, self.height())
        self._scrim.setGeometry(self.rect())
        self._sidebar.setGeometry(0, 0, self._sidebar.width(), self.height())
        self._sidebar.setVisible(self.is_sidebar_visible)
        self._scrim.setVisible(self.is_narrow and self._is_over)
        self.sidebar_shown.emit(self.is_sidebar_visible)

    def _run_slide(self, start: QPoint, end: QPoint) -> None:
        hint = QStyle.StyleHint.SH_Widget_Animation_Duration
        self._slide.setDuration(min(SLIDE_MS, self.style().styleHint(hint)))
        self._slide.setStartValue(start)
        self._slide.setEndValue(end)
        self._slide.start()

    def _slid(self) -> None:
        self._arrange()
