"""Our icons: strokes on a 16 px grid, tinted when they are drawn."""

from functools import lru_cache

from PySide6.QtCore import QByteArray, QRectF, Qt
from PySide6.QtGui import QColor, QIcon, QImage, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

import resources


@lru_cache(maxsize=64)
def _source(name: str) -> str:
    return (resources.path("icons") / f"{name}.svg").read_text(encoding="utf-8")


@lru_cache(maxsize=256)
def _image(name: str, colour: str, pixels: int) -> QImage:
    drawing = _source(name).replace("currentColor", colour)
    renderer = QSvgRenderer(QByteArray(drawing.encode()))
    image = QImage(pixels, pixels, QImage.Format.Format_ARGB32_Premultiplied)
    image.fill(Qt.GlobalColor.transparent)
    painter = QPainter(image)
    renderer.render(painter, QRectF(0, 0, pixels, pixels))
    painter.end()
    return image


def paint(painter: QPainter, name: str, colour: QColor, target: QRectF) -> None:
    """Draw the icon `name` in `colour` into the square `target`, sharp on any screen."""
    ratio = painter.device().devicePixelRatioF()
    painter.drawImage(target, _image(name, colour.name(), max(1, round(target.width() * ratio))))


def icon(name: str, colour: QColor) -> QIcon:
    """The icon `name` in `colour`, for menus and windows."""
    made = QIcon()
    for pixels in (16, 32, 48, 128, 256):
        made.addPixmap(QPixmap.fromImage(_image(name, colour.name(), pixels)))
    return made
