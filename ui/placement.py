"""Where a window was, and where it can be now."""

from PySide6.QtCore import QPoint, QRect
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

from app.settings import WindowState


def of(window: QWidget) -> WindowState:
    """Where `window` is; a maximised one remembers its usual place too."""
    place = window.normalGeometry()
    return WindowState(
        x=place.x(),
        y=place.y(),
        width=place.width(),
        height=place.height(),
        maximised=window.isMaximized(),
    )


def restore(window: QWidget, state: WindowState) -> None:
    """Put `window` where it was, but onto a screen that is there now."""
    screens = [screen.availableGeometry() for screen in QGuiApplication.screens()]
    if state.x is not None and state.y is not None:
        place = QRect(state.x, state.y, state.width, state.height)
        screen = max(screens, key=lambda area: _overlap(area, place))
        window.setGeometry(_within(place, screen))
    else:
        area = QGuiApplication.primaryScreen().availableGeometry()
        window.resize(min(state.width, area.width()), min(state.height, area.height()))
    if state.maximised:
        window.setWindowState(window.windowState() | window.windowState().WindowMaximized)


def _overlap(area: QRect, place: QRect) -> int:
    common = area.intersected(place)
    return common.width() * common.height()


def _within(place: QRect, area: QRect) -> QRect:
    width, height = min(place.width(), area.width()), min(place.height(), area.height())
    left = min(max(place.x(), area.left()), area.right() - width + 1)
    top = min(max(place.y(), area.top()), area.bottom() - height + 1)
    return QRect(QPoint(left, top), place.size().boundedTo(area.size()))
