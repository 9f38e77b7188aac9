"""A panel and its content side by side; where it is narrow, the panel slides over."""

import sys

from PySide6.QtCore import QEasingCurve, QEvent, QObject, QPoint, QPropertyAnimation, Qt, Signal
from PySide6.QtGui import QColor, QMouseEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QStyle, QWidget

SHORTCUT = "Meta+Ctrl+S" if sys.platform == "darwin" else "F9"
NARROW = 720  # px: below it the panel lies over the content
PANELS = 2.4  # and below so many widths of the panel, which grows with the text
SLIDE_MS = 150


class Scrim(QWidget):
    """Dims what lies under the panel; a click on it closes the panel."""

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
    """Lays out a panel and the content beside it, the panel first or `at_end`.

    Where there is room the panel stays as it was chosen; where it is narrow it is closed until
    asked for, and closes again when something in it was chosen.

    Signals:
        panel_shown: carries whether the panel is visible.
    """

    panel_shown = Signal(bool)

    def __init__(self, panel: QWidget, content: QWidget, *, at_end: bool = False) -> None:
        super().__init__()
        self._panel, self._content, self._at_end = panel, content, at_end
        self._scrim = Scrim()
        for widget in (content, self._scrim, panel):
            widget.setParent(self)
        self._is_wanted = True  # where there is room
        self._is_over = False  # where there is none
        self._slide = QPropertyAnimation(panel, b"pos", self)
        self._slide.setEasingCurve(QEasingCurve.Type.OutCubic)
        self._slide.finished.connect(self._slid)
        self._scrim.clicked.connect(self.close_over)
        self._scrim.hide()
        panel.installEventFilter(self)

    @property
    def is_narrow(self) -> bool:
        """Whether the panel has to lie over the content."""
        return self.width() < max(NARROW, PANELS * self._panel.width())

    @property
    def is_wanted(self) -> bool:
        """Whether the panel is shown where there is room."""
        return self._is_wanted

    @property
    def is_panel_visible(self) -> bool:
        """Whether the panel is on screen."""
        return self._is_over if self.is_narrow else self._is_wanted

    def want(self, is_wanted: bool) -> None:
        """Show the panel where there is room, or not."""
        self._is_wanted = is_wanted
        self._arrange()

    def toggle(self) -> None:
        """Show the panel when it is hidden, hide it when it is shown."""
        if not self.is_narrow:
            self.want(not self._is_wanted)
        elif self._is_over:
            self.close_over()
        else:
            self._is_over = True
            self._arrange()
            self._run_slide(self._away, self._home)
            self._panel.setFocus()

    def close_over(self) -> None:
        """Take away the panel that lies over the content; a docked one stays."""
        if self._is_over:
            self._is_over = False
            self._run_slide(self._home, self._away)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Qt's hook."""
        super().resizeEvent(event)
        if not self.is_narrow:
            self._is_over = False
        self._arrange()

    def changeEvent(self, event: QEvent) -> None:
        """Qt's hook: the other side is the first now."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.LayoutDirectionChange:
            self._arrange()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Qt's hook: the panel got wider or narrower with its text."""
        if event.type() == QEvent.Type.Resize and watched is self._panel:
            self._arrange()
        return super().eventFilter(watched, event)

    def _arrange(self) -> None:
        self._slide.stop()
        self._place_content()
        self._scrim.setGeometry(self.rect())
        self._panel.setGeometry(self._home.x(), 0, self._panel.width(), self.height())
        self._panel.setVisible(self.is_panel_visible)
        self._scrim.setVisible(self.is_narrow and self._is_over)
        self.panel_shown.emit(self.is_panel_visible)

    def _place_content(self) -> None:
        is_docked = not self.is_narrow and self._is_wanted
        taken = self._panel.width() if is_docked else 0
        left = 0 if self._is_mirrored else taken
        self._content.setGeometry(left, 0, self.width() - taken, self.height())

    @property
    def _is_mirrored(self) -> bool:
        """Whether the panel is on the right."""
        return (self.layoutDirection() == Qt.LayoutDirection.RightToLeft) != self._at_end

    @property
    def _home(self) -> QPoint:
        """Where the visible panel lies."""
        return QPoint(self.width() - self._panel.width() if self._is_mirrored else 0, 0)

    @property
    def _away(self) -> QPoint:
        """Where it comes from."""
        return QPoint(self.width() if self._is_mirrored else -self._panel.width(), 0)

    def _run_slide(self, start: QPoint, end: QPoint) -> None:
        hint = QStyle.StyleHint.SH_Widget_Animation_Duration
        self._slide.setDuration(min(SLIDE_MS, self.style().styleHint(hint)))
        self._slide.setStartValue(start)
        self._slide.setEndValue(end)
        self._slide.start()

    def _slid(self) -> None:
        self._arrange()
