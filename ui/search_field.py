"""The field above the conversations."""

from PySide6.QtCore import QEvent, QRectF, Qt
from PySide6.QtGui import QColor, QKeyEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QLineEdit

from ui import icons, wording
from ui.theme import Themes
from ui.wording import tr


class SearchField(QLineEdit):
    """A rounded field with a glass in it."""

    def __init__(self, themes: Themes) -> None:
        super().__init__()
        self._themes = themes
        self.setFrame(False)
        self.setClearButtonEnabled(True)
        self.setPlaceholderText(tr(wording.SEARCH))
        self.setAccessibleName(tr(wording.SEARCH))
        themes.changed.connect(self._restyle)
        self._restyle()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Qt's hook: the rounded ground and the glass under the text."""
        theme, painter = self._themes.current, QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        pen = QPen(theme.accent, 1.5) if self.hasFocus() else QPen(theme.line, 1)
        painter.setPen(pen)
        painter.setBrush(theme.panel)
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.75, 0.75, -0.75, -0.75), 7, 7)
        size = theme.pixels(14)
        icons.paint(
            painter, "search", theme.faint, QRectF(9, (self.height() - size) / 2, size, size)
        )
        painter.end()
        super().paintEvent(event)

    def event(self, event: QEvent) -> bool:
        """Qt's hook: while there is text, Esc belongs to this field and not to Stop."""
        is_shortcut = event.type() == QEvent.Type.ShortcutOverride
        if is_shortcut and isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_Escape:
            event.setAccepted(bool(self.text()))
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Qt's hook: Esc empties the field."""
        if event.key() == Qt.Key.Key_Escape and self.text():
            self.clear()
            return
        super().keyPressEvent(event)

    def _restyle(self) -> None:
        theme = self._themes.current
        font = theme.font("body")
        font.setPixelSize(theme.pixels(13))
        self.setFont(font)
        self.setTextMargins(theme.pixels(24), 0, 4, 0)
        self.setFixedHeight(theme.pixels(32))
        palette = theme.palette()
        palette.setColor(palette.ColorRole.Base, QColor(0, 0, 0, 0))
        self.setPalette(palette)
