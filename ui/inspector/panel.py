"""The inspector's panel: told what to show, it says what a person asks for."""

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal
from PySide6.QtGui import QGuiApplication, QPainter, QPaintEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from ui.buttons import Button
from ui.chat.bars import style_of
from ui.chat.verdict import Verdict
from ui.chat.verdict_text import Told
from ui.inspector import texts
from ui.inspector.sections import Guesses, Section, label, paint_label, put
from ui.theme import TITLE_BAR, Themes
from ui.wording import tr

WIDTH = 292  # px
MARGIN = 18  # px
SHORTCUT = "Ctrl+I"
SAID_MS = 1600


class InspectorPanel(QWidget):
    """Headings, numbers and one verdict in a column that scrolls.

    Signals:
        shown: it came on screen.
        closed: a person wants it away.
        scope_changed: other answers are to be counted, see `is_whole`.
        measure_asked, check_asked, stop_asked, save_asked: as they say.
    """

    shown = Signal()
    closed = Signal()
    scope_changed = Signal()
    measure_asked = Signal()
    check_asked = Signal()
    stop_asked = Signal()
    save_asked = Signal()

    def __init__(self, themes: Themes) -> None:
        super().__init__()
        self._themes = themes
        self.setAccessibleName(tr(texts.INSPECTOR))
        self.last, self.whole = Button(themes, tr(texts.LAST)), Button(themes, tr(texts.WHOLE))
        self.copy = Button(themes, tr(texts.COPY))
        self.close_button = Button(themes, icon="close")
        self.measure = Button(themes, tr(texts.MEASURE), kind="link")
        self.verdict = Verdict(themes)
        self.guesses = Guesses(themes, texts.title("guesses"))
        self.sections = {"guesses": self.guesses} | {
            name: Section(themes, texts.title(name))
            for name in ("rounds", "speed", "drafting", "context", "memory", "exactness")
        }
        self._title = label(themes, "title", themes.current.text)
        put(self._title, tr(texts.INSPECTOR))
        self._heading = label(themes, "label", themes.current.dim)
        put(self._heading, texts.title("answer"))
        self._verdict_room = QWidget()
        self._area = QScrollArea()
        self._build()
        self._connect()
        self._restyle()
        self.show_answer(None)
        self.show_measure(can_measure=False, is_measuring=False)

    @property
    def is_whole(self) -> bool:
        """Whether all answers of the chat are counted, not the last one alone."""
        return self.whole.isChecked()

    @property
    def text(self) -> str:
        """All that is shown, as plain text."""
        parts = [section.text for section in self.sections.values()]
        if self.verdict.told is not None:
            parts.append(f"{self._heading.text()}\n{self.verdict.told.text}")
        return "\n\n".join(parts) + "\n"

    def show_answer(self, told: Told | None) -> None:
        """Show the verdict about the newest answer."""
        self.verdict.show_told(told)
        for part in (self._heading, self._verdict_room):
            part.setVisible(told is not None)
        self._lay_out_verdict()

    def show_measure(self, *, can_measure: bool, is_measuring: bool) -> None:
        """Offer to measure, or to stop that while it is being done."""
        text = tr(texts.MEASURING if is_measuring else texts.MEASURE)
        if text != self.measure.text():
            self.measure.setText(text)
            self.measure.setAccessibleName(text)
            self.measure.updateGeometry()
        self.measure.setVisible(can_measure or is_measuring)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Qt's hook: the verdict's lines break elsewhere now."""
        if watched is self._verdict_room and event.type() == QEvent.Type.Resize:
            self._lay_out_verdict()
        return super().eventFilter(watched, event)

    def showEvent(self, event: QShowEvent) -> None:
        """Qt's hook."""
        super().showEvent(event)
        self.shown.emit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Qt's hook."""
        super().resizeEvent(event)
        self._lay_out_verdict()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Qt's hook: the ground and the line to the transcript."""
        theme, painter = self._themes.current, QPainter(self)
        painter.fillRect(self.rect(), theme.side)
        is_mirrored = self.layoutDirection() == Qt.LayoutDirection.RightToLeft
        painter.fillRect(self.width() - 1 if is_mirrored else 0, 0, 1, self.height(), theme.line)
        painter.end()

    def _build(self) -> None:
        for button, is_on in ((self.last, True), (self.whole, False)):
            button.setCheckable(True)
            button.setAutoExclusive(True)
            button.setChecked(is_on)
            button.setToolTip(tr(texts.SCOPE_HELP))
        self.copy.describe(tr(texts.COPY_HELP))
        self.close_button.describe(tr(texts.CLOSE), SHORTCUT)
        head = QHBoxLayout()
        head.setContentsMargins(0, 0, 0, 0)
        for part in (self._title, None, self.copy, self.close_button):
            head.addStretch(1) if part is None else head.addWidget(part)
        scope = QHBoxLayout()
        scope.setContentsMargins(0, 0, 0, 0)
        scope.setSpacing(2)
        for part in (self.last, self.whole):
            scope.addWidget(part)
        scope.addStretch(1)
        content = QWidget()
        column = QVBoxLayout(content)
        column.setContentsMargins(MARGIN, 2, MARGIN, MARGIN)
        column.setSpacing(18)
        column.addLayout(scope)
        for section in self.sections.values():
            column.addWidget(section)
        self.sections["exactness"].column.addWidget(self.measure, 0, Qt.AlignmentFlag.AlignLeft)
        answer = QVBoxLayout()
        answer.setSpacing(4)
        answer.addWidget(self._heading)
        answer.addWidget(self._verdict_room)
        column.addLayout(answer)
        column.addStretch(1)
        self.verdict.setParent(self._verdict_room)
        self._verdict_room.installEventFilter(self)
        self._area.setWidget(content)
        self._area.setWidgetResizable(True)
        self._area.setFrameShape(QFrame.Shape.NoFrame)
        self._area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._area.setAccessibleName(tr(texts.INSPECTOR))
        self.setFocusProxy(self._area)
        for ground in (content, self._area.viewport()):
            ground.setAutoFillBackground(False)
        self._head = QWidget()
        self._head.setLayout(head)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(1, 0, 0, 0)
        outer.setSpacing(0)
        outer.addWidget(self._head)
        outer.addWidget(self._area, 1)

    def _connect(self) -> None:
        self.close_button.clicked.connect(self.closed)
        self.copy.clicked.connect(self._copy)
        self.measure.clicked.connect(self.measure_asked)
        self.whole.toggled.connect(self.scope_changed)
        self.verdict.check_asked.connect(self.check_asked)
        self.verdict.stop_asked.connect(self.stop_asked)
        self.verdict.save_asked.connect(self.save_asked)
        self._said = QTimer(self)
        self._said.setSingleShot(True)
        self._said.setInterval(SAID_MS)
        self._said.timeout.connect(self._say_copy)
        self._themes.changed.connect(self._restyle)

    def _lay_out_verdict(self) -> None:
        if self.verdict.told is None:
            return
        width = self._verdict_room.width()
        height = self.verdict.lay_out(width)
        self.verdict.setGeometry(0, 0, width, height)
        self._verdict_room.setFixedHeight(height)

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self.text)
        self.copy.setText(tr(texts.COPIED))
        self._said.start()

    def _say_copy(self) -> None:
        self.copy.setText(tr(texts.COPY))

    def _restyle(self) -> None:
        theme = self._themes.current
        self.setFixedWidth(theme.pixels(WIDTH))
        self._head.setFixedHeight(max(TITLE_BAR, theme.pixels(44)))
        self._head.setContentsMargins(MARGIN, 0, 10, 0)
        paint_label(self._title, self._themes, "title", theme.text)
        paint_label(self._heading, self._themes, "label", theme.dim)
        self._area.verticalScrollBar().setStyleSheet(style_of(theme))
        for section in self.sections.values():
            section.restyle()
        self.verdict.restyle()
        self._lay_out_verdict()
        self.update()
