"""The parts of the inspector: a heading with lines below it, and bars by position."""

from collections.abc import Sequence

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QGridLayout, QLabel, QSizePolicy, QVBoxLayout, QWidget

from ui.inspector.texts import NONE_YET, POSITIONS, Line, Place
from ui.theme import Role, Themes
from ui.wording import tr

FEWEST = 4  # places whose room is kept free, so that nothing moves when they come


def label(themes: Themes, role: Role, colour: QColor, *, wraps: bool = False) -> QLabel:
    """Plain text that the pointer can select."""
    made = QLabel()
    made.setTextFormat(Qt.TextFormat.PlainText)
    made.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    made.setWordWrap(wraps)
    paint_label(made, themes, role, colour)
    return made


def paint_label(made: QLabel, themes: Themes, role: Role, colour: QColor) -> None:
    """Give a label its font and colour."""
    made.setFont(themes.current.font(role))
    palette = themes.current.palette()
    palette.setColor(palette.ColorRole.WindowText, colour)
    made.setPalette(palette)


def put(made: QLabel, text: str, name: str = "") -> None:
    """Set a label's text, but only when it is another one."""
    if made.text() != text:
        made.setText(text)
        made.setAccessibleName(f"{name}: {text}" if name else text)


class Section(QWidget):
    """A heading, lines of name and value, and a sentence below; its lines keep their places."""

    def __init__(self, themes: Themes, title: str) -> None:
        super().__init__()
        self._themes = themes
        theme = themes.current
        self.heading = label(themes, "label", theme.dim)
        put(self.heading, title)
        self.note = label(themes, "small", theme.dim, wraps=True)
        self.note.hide()
        self._rows: list[tuple[QLabel, QLabel]] = []
        self._grid = QGridLayout()
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(10)
        self._grid.setVerticalSpacing(5)
        self._grid.setColumnStretch(1, 1)
        self.column = QVBoxLayout(self)
        self.column.setContentsMargins(0, 0, 0, 0)
        self.column.setSpacing(6)
        self.column.addWidget(self.heading)
        self.column.addLayout(self._grid)
        self.column.addWidget(self.note)

    @property
    def text(self) -> str:
        """All of it as lines of plain text."""
        rows = [f"{name.text()}: {value.text()}" for name, value in self._rows]
        note = [self.note.text()] if self.note.text() else []
        return "\n".join([self.heading.text(), *rows, *note])

    def tell(self, lines: Sequence[Line], note: str = "") -> None:
        """Show these lines and this sentence."""
        while len(self._rows) < len(lines):
            self._add_row()
        for (name, value), line in zip(self._rows, lines, strict=True):
            put(name, line.name)
            put(value, line.value, line.name)
            for part in (name, value):
                part.setToolTip(line.meaning)
        put(self.note, note)
        self.note.setVisible(bool(note))

    def restyle(self) -> None:
        """The theme is another one."""
        theme = self._themes.current
        paint_label(self.heading, self._themes, "label", theme.dim)
        paint_label(self.note, self._themes, "small", theme.dim)
        for name, value in self._rows:
            paint_label(name, self._themes, "small", theme.dim)
            paint_label(value, self._themes, "small", theme.text)

    def _add_row(self) -> None:
        theme, number = self._themes.current, len(self._rows)
        name = label(self._themes, "small", theme.dim)
        value = label(self._themes, "small", theme.text)
        value.setMinimumWidth(1)  # a value may come from a folder: it never widens the panel
        end = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        self._grid.addWidget(name, number, 0)
        self._grid.addWidget(value, number, 1, end)
        self._rows.append((name, value))


class Bar(QWidget):
    """A share: filled is accepted, hollow is not, as in the strip."""

    def __init__(self, themes: Themes) -> None:
        super().__init__()
        self._themes, self.share = themes, 0.0
        self.is_known = False
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        """Qt's hook."""
        return QSize(60, self._themes.current.pixels(9))

    def show_share(self, accepted: int, proposed: int) -> None:
        """Show how many of those proposed were accepted."""
        share = accepted / proposed if proposed else 0.0
        if (share, bool(proposed)) != (self.share, self.is_known):
            self.share, self.is_known = share, bool(proposed)
            self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Qt's hook."""
        theme, painter = self._themes.current, QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        box = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
        painter.setPen(QPen(theme.rejected if self.is_known else theme.line, 1))
        painter.drawRoundedRect(box, 2, 2)
        if self.share:
            filled = QRectF(self.rect())
            filled.setWidth(filled.width() * self.share)
            if self.layoutDirection() == Qt.LayoutDirection.RightToLeft:
                filled.moveRight(self.width())
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(theme.accent)
            painter.drawRoundedRect(filled, 2, 2)
        painter.end()


class Guesses(Section):
    """Acceptance as a whole and by position."""

    def __init__(self, themes: Themes, title: str) -> None:
        super().__init__(themes, title)
        self._places: list[tuple[QLabel, Bar, QLabel]] = []
        grid = QGridLayout()
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(10)
        grid.setVerticalSpacing(5)
        grid.setColumnStretch(1, 1)
        for number in range(POSITIONS):
            name = label(themes, "small", themes.current.dim)
            bar = Bar(themes)
            value = label(themes, "small", themes.current.text)
            value.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
            grid.addWidget(name, number, 0)
            grid.addWidget(bar, number, 1)
            grid.addWidget(value, number, 2)
            self._places.append((name, bar, value))
        self.column.insertLayout(2, grid)
        self.show_places([])

    @property
    def text(self) -> str:
        """All of it as lines of plain text."""
        shown = [(name, value) for name, _, value in self._places if not name.isHidden()]
        places = [f"{name.text()}: {value.text()}" for name, value in shown]
        return "\n".join([super().text, *places])

    def show_places(self, places: Sequence[Place]) -> None:
        """Show these places; so many as are always there keep their room without guesses."""
        for number, (name, bar, value) in enumerate(self._places):
            known = number < len(places)
            place = places[number] if known else Place(str(number + 1), 0, 0)
            put(name, place.name)
            put(value, place.text if known else NONE_YET, tr("Guess {name}", name=place.name))
            bar.show_share(place.accepted, place.proposed)
            for part in (name, bar, value):
                part.setVisible(known or number < FEWEST)

    def restyle(self) -> None:
        """The theme is another one."""
        super().restyle()
        for name, bar, value in self._places:
            paint_label(name, self._themes, "small", self._themes.current.dim)
            paint_label(value, self._themes, "small", self._themes.current.text)
            bar.updateGeometry()
