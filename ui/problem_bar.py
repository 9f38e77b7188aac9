"""The bar below the title: what went wrong, what is safe, what to do; or what can be undone."""

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QRectF, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QGuiApplication, QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QWidget

from app.problem import Problem
from ui import icons, wording
from ui.buttons import Button
from ui.theme import Themes
from ui.wording import tr

NOTICE_MS = 10_000


@dataclass(frozen=True, slots=True)
class Shown:
    """What the bar says. `action` is a button when the window can do it; `about` names for what."""

    text: str
    action: str = ""
    details: str = ""
    about: int = 0
    is_problem: bool = True


class ProblemBar(QWidget):
    """Shows one thing at a time; what came later waits behind it.

    Signals:
        acted: a person chose the action; carries it and what it is about.
    """

    acted = Signal(str, int)

    def __init__(self, themes: Themes, doable: Callable[[str], bool]) -> None:
        super().__init__()
        self._themes, self._doable = themes, doable
        self._queue: list[Shown] = []
        self.label = QLabel()
        self.action = Button(themes, kind="link")
        self.copy = Button(themes, tr(wording.COPY_DETAILS), kind="link")
        self.copy.describe(tr(wording.COPY_DETAILS))
        self.close_button = Button(themes, icon="close")
        self.close_button.describe(tr(wording.DISMISS))
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(NOTICE_MS)
        self._build()
        self._timer.timeout.connect(self.dismiss)
        self.action.clicked.connect(self._act)
        self.copy.clicked.connect(self._copy)
        self.close_button.clicked.connect(self.dismiss)
        themes.changed.connect(self._restyle)
        self._restyle()
        self.hide()

    @property
    def shown(self) -> Shown | None:
        """What the bar says now."""
        return self._queue[0] if self._queue else None

    def show_problem(self, problem: Problem) -> None:
        """Say what went wrong, unless the bar says so already."""
        advice = problem.action.removesuffix(".")
        can_do = self._doable(advice)
        title = f"{problem.title}." if problem.title else ""
        parts = [title, problem.sentence, problem.safe]
        if advice and not can_do and advice != wording.COPY_DETAILS:
            parts.append(f"{advice}.")
        text = " ".join(part for part in parts if part)
        shown = Shown(text, advice if can_do else "", problem.details)
        if shown not in self._queue:
            self._queue.append(shown)
            self._refresh()

    def show_notice(self, text: str, action: str = "", about: int = 0) -> None:
        """Say what was done, for ten seconds; a newer notice takes its place."""
        self._queue = [one for one in self._queue if one.is_problem]
        self._queue.insert(0, Shown(text, action, about=about, is_problem=False))
        self._refresh()

    def dismiss(self) -> None:
        """Go on to what waits behind, or hide."""
        del self._queue[:1]
        self._refresh()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Qt's hook: a quiet ground, a line below, and the glyph."""
        theme, painter = self._themes.current, QPainter(self)
        colour = self._colour()
        ground = QColor(colour)
        ground.setAlphaF(0.10 if self.shown and self.shown.is_problem else 0.05)
        painter.fillRect(self.rect(), theme.ground)
        painter.fillRect(self.rect(), ground)
        painter.fillRect(0, self.height() - 1, self.width(), 1, theme.line)
        size = theme.pixels(16)
        square = QRectF(18, (self.height() - size) / 2, size, size)
        is_problem = self.shown is not None and self.shown.is_problem
        icons.paint(painter, "caution" if is_problem else "note", colour, square)
        painter.end()

    def _build(self) -> None:
        self.label.setWordWrap(True)
        self.label.setTextFormat(Qt.TextFormat.PlainText)
        self.label.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(42, 7, 12, 8)
        layout.setSpacing(6)
        layout.addWidget(self.label, 1)
        for button in (self.action, self.copy, self.close_button):
            layout.addWidget(button)

    def _colour(self) -> QColor:
        theme = self._themes.current
        return theme.caution if self.shown and self.shown.is_problem else theme.dim

    def _refresh(self) -> None:
        shown = self.shown
        self._timer.stop()
        self.setVisible(shown is not None)
        if shown is None:
            return
        if not shown.is_problem:
            self._timer.start()
        self.label.setText(shown.text)
        self.setAccessibleName(shown.text)
        self.action.setText(tr(shown.action))
        self.action.describe(tr(shown.action))
        self.action.setVisible(bool(shown.action))
        self.action.updateGeometry()
        self.copy.setVisible(bool(shown.details))
        self.update()

    def _act(self) -> None:
        shown = self.shown
        if shown is not None:
            self.dismiss()
            self.acted.emit(shown.action, shown.about)

    def _copy(self) -> None:
        if self.shown is not None:
            QGuiApplication.clipboard().setText(f"{self.shown.text}\n\n{self.shown.details}")

    def _restyle(self) -> None:
        theme = self._themes.current
        font = theme.font("body")
        font.setPixelSize(theme.pixels(13))
        self.label.setFont(font)
        self.label.setPalette(theme.palette())
        self.update()
