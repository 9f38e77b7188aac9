"""What an empty chat shows: which model answers, and something to begin with."""

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import (
    QAbstractButton,
    QHBoxLayout,
    QLabel,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from ui import wording
from ui.theme import Themes
from ui.wording import tr

WIDTH = 560  # px


class Example(QAbstractButton):
    """A question that one click asks: its subject and its words."""

    def __init__(self, themes: Themes, subject: str, words: str) -> None:
        super().__init__()
        self._themes = themes
        self.subject, self.words = subject, words
        self.setAccessibleName(f"{subject}: {words}")
        self.setToolTip(words)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        """Qt's hook."""
        return QSize(280, self._themes.current.pixels(54))

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Qt's hook: two lines on a quiet card."""
        theme, painter = self._themes.current, QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        box = QRectF(self.rect()).adjusted(0.75, 0.75, -0.75, -0.75)
        ground = QColor(theme.text)
        ground.setAlphaF(0.05 if self.underMouse() else 0.0)
        painter.setPen(QPen(theme.accent if self.hasFocus() else theme.line, 1))
        painter.setBrush(theme.panel)
        painter.drawRoundedRect(box, 10, 10)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(ground)
        painter.drawRoundedRect(box, 10, 10)
        inner = box.adjusted(14, 9, -14, -9)
        self._line(painter, inner, self.subject, Qt.AlignmentFlag.AlignTop)
        self._line(painter, inner, self.words, Qt.AlignmentFlag.AlignBottom)
        painter.end()

    def _line(self, painter: QPainter, box: QRectF, text: str, edge: Qt.AlignmentFlag) -> None:
        theme, is_first = self._themes.current, edge == Qt.AlignmentFlag.AlignTop
        font = theme.font("small")
        if is_first:
            font.setPixelSize(theme.pixels(13))
        painter.setFont(font)
        painter.setPen(theme.text if is_first else theme.dim)
        right = Qt.TextElideMode.ElideRight
        cut = painter.fontMetrics().elidedText(text, right, int(box.width()))
        painter.drawText(box, int(edge | Qt.AlignmentFlag.AlignLeft), cut)


class Welcome(QWidget):
    """Explains the model and offers examples.

    Signals:
        chosen: carries the words of an example.
    """

    chosen = Signal(str)

    def __init__(self, themes: Themes) -> None:
        super().__init__()
        self._themes = themes
        self.title = QLabel(tr(wording.WELCOME))
        self.text = QLabel()
        self.examples = [Example(themes, tr(a), tr(b)) for a, b in wording.EXAMPLES]
        self.text.setWordWrap(True)
        column = QWidget()
        column.setMaximumWidth(WIDTH)
        inner = QVBoxLayout(column)
        inner.setContentsMargins(0, 0, 0, 0)
        inner.setSpacing(8)
        inner.addWidget(self.title)
        inner.addWidget(self.text)
        inner.addSpacing(12)
        for example in self.examples:
            inner.addWidget(example)
            example.clicked.connect(self._chosen)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(24, 24, 24, 24)
        layout.addStretch(2)
        row = QHBoxLayout()
        row.addWidget(column)
        layout.addLayout(row)
        layout.addStretch(3)
        column.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Maximum)
        themes.changed.connect(self._restyle)
        self._restyle()

    def show_model(self, model: str, *, is_starter: bool) -> None:
        """Say which model will answer."""
        text = tr(wording.WELCOME_MODEL, model=model)
        self.text.setText(f"{text} {tr(wording.WELCOME_STARTER)}" if is_starter else text)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Qt's hook: the ground."""
        painter = QPainter(self)
        painter.fillRect(self.rect(), self._themes.current.ground)
        painter.end()

    def _chosen(self) -> None:
        for example in self.examples:
            if example is self.sender():
                self.chosen.emit(example.words)

    def _restyle(self) -> None:
        theme = self._themes.current
        title = theme.font("title")
        title.setPixelSize(theme.pixels(20))
        self.title.setFont(title)
        self.title.setPalette(theme.palette())
        self.text.setFont(theme.font("body"))
        dim = theme.palette()
        dim.setColor(dim.ColorRole.WindowText, theme.dim)
        self.text.setPalette(dim)
        self.update()
