"""The shapes of the strip."""

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPen, QPolygonF

from engine.events import Round
from ui.chat.strip_columns import Measures, Sign
from ui.theme import Theme

_CORNER = 1.5


def paint_round(painter: QPainter, box: QRectF, round_: Round, m: Measures, theme: Theme) -> None:
    """Draw a round: a cell a guess, from the bottom up, and the model's own token as a dot."""
    count = len(round_.proposed_ids)
    for index in range(count):
        part, row = divmod(index, m.scale)
        bottom = box.bottom() - row * (m.cell_height + m.gap)
        left = box.left() + part * (m.cell + 1)
        cell = QRectF(left, bottom - m.cell_height, m.cell, m.cell_height)
        if index >= round_.accepted:
            _paint_hollow(painter, cell, theme)
        elif round_.mode == "copy":
            _paint_hatched(painter, cell, theme)
        else:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(theme.accent)
            painter.drawRoundedRect(cell, _CORNER, _CORNER)
    if len(round_.committed_ids) > round_.accepted:
        _paint_dot(painter, box, count, m, theme)


def paint_sign(painter: QPainter, box: QRectF, sign: Sign, m: Measures, theme: Theme) -> None:
    """Draw a sign at the foot of its column."""
    side = m.sign
    place = QRectF(box.left(), box.bottom() - side, side, side)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(theme.caution)
    match sign:
        case "paused":
            for left in (0.18, 0.58):
                bar = QRectF(place.left() + left * side, place.top(), 0.24 * side, side)
                painter.drawRoundedRect(bar, 1, 1)
        case "resumed":
            corners = [QPointF(0.15, 0), QPointF(0.95, 0.5), QPointF(0.15, 1)]
            painter.drawPolygon(QPolygonF([place.topLeft() + c * side for c in corners]))
        case "off":
            painter.setPen(QPen(theme.caution, 1.5))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawEllipse(place.adjusted(1, 1, -1, -1))
        case "tie":
            painter.setPen(QPen(theme.caution, 1.4, c=Qt.PenCapStyle.RoundCap))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            for level in (0.34, 0.68):
                painter.drawPath(_wave(place, level))


def paint_ground(painter: QPainter, box: QRectF, colour: QColor) -> None:
    """Mark a column that is chosen or whose text is selected."""
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(colour)
    painter.drawRoundedRect(box.adjusted(-1.5, -3, 1.5, 3), 2.5, 2.5)


def _wave(place: QRectF, level: float) -> QPainterPath:
    y, side = place.top() + level * place.height(), place.width()
    path = QPainterPath(QPointF(place.left() + 0.1 * side, y + 0.06 * side))
    path.cubicTo(
        QPointF(place.left() + 0.4 * side, y - 0.3 * side),
        QPointF(place.left() + 0.6 * side, y + 0.3 * side),
        QPointF(place.left() + 0.9 * side, y - 0.06 * side),
    )
    return path


def _paint_hollow(painter: QPainter, cell: QRectF, theme: Theme) -> None:
    painter.setPen(QPen(theme.rejected, 1))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawRoundedRect(cell.adjusted(0.5, 0.5, -0.5, -0.5), _CORNER, _CORNER)


def _paint_hatched(painter: QPainter, cell: QRectF, theme: Theme) -> None:
    ground = QColor(theme.copied)
    ground.setAlphaF(0.45)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(ground)
    painter.drawRoundedRect(cell, _CORNER, _CORNER)
    painter.save()
    painter.setClipRect(cell, Qt.ClipOperation.IntersectClip)
    painter.setPen(QPen(theme.copied, 1.3))
    x = cell.left() - cell.height()
    while x < cell.right():
        painter.drawLine(QPointF(x, cell.bottom()), QPointF(x + cell.height(), cell.top()))
        x += 3
    painter.restore()


def _paint_dot(painter: QPainter, box: QRectF, count: int, m: Measures, theme: Theme) -> None:
    part, row = divmod(max(count - 1, 0), m.scale)
    if count:
        row += 1
    bottom = box.bottom() - row * (m.cell_height + m.gap)
    left = box.left() + part * (m.cell + 1) + (m.cell - m.dot) / 2
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(theme.plain)
    painter.drawEllipse(QRectF(left, bottom - m.dot, m.dot, m.dot))
