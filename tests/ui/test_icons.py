import pytest
from PySide6.QtCore import QRectF
from PySide6.QtGui import QColor, QImage, QPainter

import resources
from ui import icons

NAMES = sorted(path.stem for path in resources.path("icons").glob("*.svg") if path.stem != "app")


def drawn(name, colour):
    image = QImage(32, 32, QImage.Format.Format_ARGB32_Premultiplied)
    image.fill(QColor("#ffffff"))
    painter = QPainter(image)
    icons.paint(painter, name, QColor(colour), QRectF(0, 0, 32, 32))
    painter.end()
    return {image.pixelColor(x, y).name() for x in range(32) for y in range(32)}


@pytest.mark.parametrize("name", NAMES)
def test_that_an_icon_is_drawn_in_the_colour_asked_for(qapp, name):
    assert "#ff0000" in drawn(name, "#ff0000")
    assert "#0000ff" in drawn(name, "#0000ff")


def test_that_the_application_icon_shows_both_strokes_at_16_px(qapp):
    image = icons.icon("app", QColor("#000")).pixmap(16, 16).toImage()
    colours = [image.pixelColor(x, y) for x in range(16) for y in range(16)]
    assert any(c.lightnessF() > 0.85 and c.alphaF() > 0.9 for c in colours)
    assert any(c.blueF() > 0.85 and c.redF() < 0.6 for c in colours)
