"""The columns of the strip on screen: pointed at, chosen, walked through."""

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, QSize, QSizeF, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen, QPixmap
from PySide6.QtWidgets import QToolTip, QWidget

from app.conversation import DraftMark
from engine.events import Round
from ui.chat import strip_text
from ui.chat.strip_columns import Columns, Measures, scale_for
from ui.chat.strip_paint import paint_ground, paint_round, paint_sign
from ui.theme import Themes

PAD = 4  # px above and below, for the ground of a chosen column
KEPT_LINES = 8  # pictures


class StripGrid(QWidget):
    """One column a round.

    Signals:
        chosen: carries the number of the round that was clicked or walked to; -1 for none.
        near: carries the height (px) that should be seen.
    """

    chosen = Signal(int)
    near = Signal(int)

    def __init__(self, themes: Themes) -> None:
        super().__init__()
        self._themes = themes
        self._rounds: list[Round] = []
        self._marks: list[DraftMark] = []
        self._scale = 0
        self._columns = Columns(Measures.of(4, 1.0), 1)
        self._lit: range = range(0)  # rounds whose text is selected
        self._current = -1
        self._pictures: dict[int, tuple[QPixmap, int]] = {}  # lines, and columns drawn of each
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(self.sizePolicy().Policy.Ignored, self.sizePolicy().Policy.Fixed)

    @property
    def current(self) -> int:
        """The round that is chosen, or -1."""
        return self._current

    @property
    def lines(self) -> int:
        """How many lines there are."""
        return self._columns.lines

    @property
    def line_height(self) -> int:
        """The distance of two lines."""
        return round(self._columns.measures.line)

    def show_rounds(self, rounds: Sequence[Round], marks: Sequence[DraftMark]) -> None:
        """Show these rounds and changes of drafting and nothing else."""
        self._rounds, self._marks = list(rounds), list(marks)
        self.rebuild()

    def add(self, rounds: Sequence[Round], marks: Sequence[DraftMark]) -> None:
        """Show more at the end; marks stand after the rounds that they count."""
        if scale_for(rounds) > self._scale or marks or not self._rounds:
            self._rounds += rounds
            self._marks += marks
            self.rebuild()
            return
        self._rounds += rounds
        first = len(self._columns.columns)
        for round_ in rounds:
            self._columns.add_round(round_)
        for index in {first, len(self._columns.columns) - 1} if rounds else ():
            line = self._columns.places[index][0] * self._columns.measures.line
            self.update(0, int(line), self.width(), self.line_height + PAD)

    def rebuild(self) -> None:
        """Place all columns anew: for another width, scale or theme."""
        self._pictures.clear()
        self._scale = scale_for(self._rounds)
        measures = Measures.of(self._scale, self._themes.current.text_size)
        self._columns = Columns(measures, max(self.width(), 20))
        marks = list(self._marks)
        is_first = True
        for number, round_ in enumerate(self._rounds):
            while marks and marks[0].after_round <= number:
                self._columns.add_mark(marks.pop(0), is_first=is_first)
                is_first = False
            self._columns.add_round(round_)
        for mark in marks:
            self._columns.add_mark(mark, is_first=is_first)
            is_first = False
        self.update()

    def lay_out(self, width: int) -> int:
        """Take `width` px; return the height."""
        if width != self.width() or self._columns.width != width:
            self.resize(width, self.height())
            self.rebuild()
        return round(self._columns.height) + 2 * PAD

    def light(self, rounds: range) -> None:
        """Mark the rounds whose text is selected."""
        if rounds != self._lit:
            self._lit = rounds
            if rounds:
                self.near.emit(round(self._columns.box_of_round(rounds[0]).bottom()) + PAD)
            self.update()

    def choose(self, number: int) -> None:
        """Make round `number` the current one, -1 none."""
        number = max(-1, min(number, len(self._rounds) - 1))
        if number != self._current:
            self._current = number
            if number >= 0:
                self.near.emit(round(self._columns.box_of_round(number).bottom()) + PAD)
                self.setAccessibleDescription(strip_text.of_round(self._rounds[number]))
            self.update()
        self.chosen.emit(number)

    def tip_at(self, x: float, y: float) -> str:
        """What is told about the column at a point."""
        column = self._columns.at(x, y - PAD)
        if column is None:
            return ""
        if column.mark is not None:
            return strip_text.of_mark(column.mark)
        return strip_text.of_round(self._rounds[column.round])

    def sizeHint(self) -> QSize:
        """Qt's hook: room for all lines."""
        return QSize(100, round(self._columns.height) + 2 * PAD)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Qt's hook: the columns that are seen."""
        painter, theme, columns = QPainter(self), self._themes.current, self._columns
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.translate(0, PAD)
        clip = QRectF(event.rect()).translated(0, -PAD)
        for number in {*self._lit, self._current} - {-1}:
            box = columns.box_of_round(number)
            if box.intersects(clip):
                paint_ground(painter, box, theme.selection)
        for line in columns.lines_between(clip.top(), clip.bottom()):
            painter.drawPixmap(QPointF(0, line * columns.measures.line), self._line(line))
        if self.hasFocus() and self._current >= 0:
            painter.setPen(QPen(theme.accent, 1.5))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            box = columns.box_of_round(self._current).adjusted(-2, -3, 2, 3)
            painter.drawRoundedRect(box, 3, 3)
        painter.end()

    def _line(self, line: int) -> QPixmap:
        """The columns of a line as a picture, to which only new ones are added."""
        columns, ratio = self._columns, self.devicePixelRatioF()
        picture, drawn = self._pictures.pop(line, (None, 0))
        if picture is None:
            size = QSizeF(columns.width, columns.measures.row + 1) * ratio
            picture = QPixmap(size.toSize())
            picture.setDevicePixelRatio(ratio)
            picture.fill(Qt.GlobalColor.transparent)
        first, end = columns.bounds(line)
        if first + drawn < end:
            painter, theme = QPainter(picture), self._themes.current
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.translate(0, -line * columns.measures.line)
            for index in range(first + drawn, end):
                column, box = columns.columns[index], columns.box_of(index)
                if column.sign is not None:
                    paint_sign(painter, box, column.sign, columns.measures, theme)
                else:
                    paint_round(painter, box, self._rounds[column.round], columns.measures, theme)
            painter.end()
        self._pictures[line] = picture, end - first
        if len(self._pictures) > KEPT_LINES:
            del self._pictures[next(iter(self._pictures))]
        return picture

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Qt's hook: tell the round under the pointer."""
        tip = self.tip_at(event.position().x(), event.position().y())
        if tip:
            QToolTip.showText(event.globalPosition().toPoint() + QPoint(8, 10), tip, self)
        else:
            QToolTip.hideText()
        self.setCursor(Qt.CursorShape.PointingHandCursor if tip else Qt.CursorShape.ArrowCursor)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Qt's hook: choose the round under the pointer."""
        column = self._columns.at(event.position().x(), event.position().y() - PAD)
        self.choose(-1 if column is None else column.round)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Qt's hook: walk through the rounds."""
        last = len(self._rounds) - 1
        steps = {
            Qt.Key.Key_Right: self._current + 1,
            Qt.Key.Key_Left: max(self._current - 1, 0),
            Qt.Key.Key_Home: 0,
            Qt.Key.Key_End: last,
            Qt.Key.Key_PageDown: min(self._current + 10, last),
            Qt.Key.Key_PageUp: max(self._current - 10, 0),
            Qt.Key.Key_Escape: -1,
        }
        key = Qt.Key(event.key())
        if key not in steps or not self._rounds:
            super().keyPressEvent(event)
            return
        self.choose(steps[key])
        if self._current >= 0:
            box = self._columns.box_of_round(self._current)
            place = self.mapToGlobal(box.bottomRight().toPoint() + QPoint(0, PAD))
            QToolTip.showText(place, strip_text.of_round(self._rounds[self._current]), self)

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Qt's hook: the ring appears."""
        super().focusInEvent(event)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Qt's hook: the ring goes."""
        super().focusOutEvent(event)
        self.update()

    def leaveEvent(self, event: QEvent) -> None:
        """Qt's hook: nothing is pointed at."""
        super().leaveEvent(event)
        QToolTip.hideText()
