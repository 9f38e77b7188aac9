"""The drafting switch of a conversation, with the reason for its state beside it."""

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QAbstractButton, QHBoxLayout, QLabel, QSizePolicy, QWidget

from ui import wording
from ui.buttons import shortcut_text
from ui.chat.drafting import DraftingNow
from ui.theme import Themes
from ui.wording import tr

SHORTCUT = "Ctrl+D"


class Toggle(QAbstractButton):
    """A switch: a knob at the right when on, at the left when off."""

    def __init__(self, themes: Themes) -> None:
        super().__init__()
        self._themes = themes
        self.setCheckable(True)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.is_paused = False

    def sizeHint(self) -> QSize:
        """Qt's hook."""
        theme = self._themes.current
        return QSize(theme.pixels(32), theme.pixels(20))

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Qt's hook: a paused switch is on but hollow, so that colour is not its only sign."""
        theme, painter = self._themes.current, QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        box = QRectF(self.rect()).adjusted(1.25, 1.75, -1.25, -1.75)
        radius = box.height() / 2
        filled = self.isChecked() and not self.is_paused
        edge = theme.accent if self.isChecked() else theme.faint
        painter.setPen(QPen(edge, 1.25))
        painter.setBrush(theme.accent if filled else QColor(0, 0, 0, 0))
        painter.drawRoundedRect(box, radius, radius)
        knob = box.height() - 4.5
        left = box.right() - knob - 2.25 if self.isChecked() else box.left() + 2.25
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor("#ffffff") if filled else edge)
        painter.drawEllipse(QRectF(left, box.top() + 2.25, knob, knob))
        if self.hasFocus():
            painter.setPen(QPen(theme.accent, 1))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), 9, 9)
        painter.end()


class DraftSwitch(QWidget):
    """Shows `DraftingNow` and says when a person wants it otherwise.

    Signals:
        switched: a person wants it otherwise; carries whether drafting is wanted.
        shown: carries the same of what is shown now.
    """

    switched = Signal(bool)
    shown = Signal(bool)

    def __init__(self, themes: Themes) -> None:
        super().__init__()
        self._themes = themes
        self._line = ""
        self.toggle = Toggle(themes)
        self.label = QLabel(tr(wording.DRAFT))
        self.detail = QLabel()
        self.detail.setTextFormat(Qt.TextFormat.PlainText)
        self.detail.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(8)
        layout.addWidget(self.toggle)
        layout.addWidget(self.label)
        layout.addWidget(self.detail, 1)
        self.toggle.clicked.connect(self.switched)
        themes.changed.connect(self._restyle)
        self._restyle()

    def show_drafting(self, now: DraftingNow) -> None:
        """Show the switch and its reason."""
        self.toggle.is_paused = now.is_paused
        self.toggle.setChecked(now.on)
        self.toggle.update()
        self._line = now.line
        self.shown.emit(now.on)
        self.toggle.setAccessibleName(tr(wording.DRAFT_NAME))
        self.toggle.setAccessibleDescription(self._line)
        self.toggle.setToolTip(f"{self._line}  {shortcut_text(SHORTCUT)}")
        self.detail.setToolTip(self._line)
        self._elide()

    @property
    def line(self) -> str:
        """The reason that is shown, in full."""
        return self._line

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Qt's hook: the reason is cut to the room there is."""
        super().resizeEvent(event)
        self._elide()

    def _elide(self) -> None:
        cut = self.detail.fontMetrics().elidedText(
            self._line, Qt.TextElideMode.ElideRight, max(0, self.detail.width())
        )
        self.detail.setText(cut)

    def _restyle(self) -> None:
        theme = self._themes.current
        self.label.setFont(theme.font("small"))
        self.detail.setFont(theme.font("small"))
        dim = theme.palette()
        dim.setColor(dim.ColorRole.WindowText, theme.dim)
        self.label.setPalette(theme.palette())
        self.detail.setPalette(dim)
        self.toggle.updateGeometry()
        self._elide()
        self.update()
