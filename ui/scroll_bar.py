"""A slim scroll bar, where the system's own does not lie over the content."""

import sys

from PySide6.QtCore import QEvent, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QEnterEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractScrollArea, QScrollBar, QStyle, QStyleOptionSlider

from ui.theme import Themes

WIDTH = 10  # px


class SlimScrollBar(QScrollBar):
    """Only a handle, without arrows and without a trough."""

    def __init__(self, themes: Themes) -> None:
        super().__init__(Qt.Orientation.Vertical)
        self._themes = themes
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        themes.changed.connect(self.update)

    def sizeHint(self) -> QSize:
        """Qt's hook."""
        return QSize(WIDTH, super().sizeHint().height())

    def enterEvent(self, event: QEnterEvent) -> None:
        """Qt's hook: the handle gets stronger."""
        super().enterEvent(event)
        self.update()

    def leaveEvent(self, event: QEvent) -> None:
        """Qt's hook: the handle gets weaker."""
        super().leaveEvent(event)
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Qt's hook: a rounded handle where the style would put its own."""
        if self.maximum() <= self.minimum():
            return
        option = QStyleOptionSlider()
        self.initStyleOption(option)
        part = QStyle.SubControl.SC_ScrollBarSlider
        control = QStyle.ComplexControl.CC_ScrollBar
        handle = QRectF(self.style().subControlRect(control, option, part, self))
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        colour = QColor(self._themes.current.text)
        colour.setAlphaF(0.45 if self.underMouse() or self.isSliderDown() else 0.22)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colour)
        painter.drawRoundedRect(handle.adjusted(2, 2, -2, -2), 3, 3)
        painter.end()


def slim(area: QAbstractScrollArea, themes: Themes, step: int) -> int:
    """Give `area` a slim scroll bar that always has its room; return that room in px.

    On macOS the system's own bars stay: they lie over the content and take no room.
    """
    if sys.platform == "darwin":
        return 0
    area.setVerticalScrollBar(SlimScrollBar(themes))
    area.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
    area.verticalScrollBar().setSingleStep(step)
    return WIDTH
