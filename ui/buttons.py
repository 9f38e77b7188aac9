"""The buttons of the window: quiet text or icon, and the one filled button of a form."""

from typing import Literal

from PySide6.QtCore import QEvent, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QEnterEvent, QFont, QKeySequence, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QWidget

from ui import icons
from ui.theme import Themes

Kind = Literal["quiet", "filled", "link"]


def shortcut_text(shortcut: QKeySequence | str) -> str:
    """The keys as the platform writes them."""
    return QKeySequence(shortcut).toString(QKeySequence.SequenceFormat.NativeText)


class Button(QAbstractButton):
    """A button that paints itself from the theme.

    `quiet` shows its ground under the pointer only, `filled` is the main action of its place,
    `link` is an action inside a line of text.
    """

    def __init__(
        self,
        themes: Themes,
        text: str = "",
        *,
        icon: str = "",
        kind: Kind = "quiet",
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._themes, self._kind, self._icon_name = themes, kind, icon
        self.setText(text)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        themes.changed.connect(self._restyle)
        self._restyle()

    def describe(self, name: str, shortcut: QKeySequence | str = "") -> None:
        """Set what a screen reader says and what the tooltip shows: `name` and its shortcut."""
        self.setAccessibleName(name)
        keys = shortcut_text(shortcut)
        self.setToolTip(f"{name}  {keys}" if keys else name)

    def show_icon(self, name: str) -> None:
        """Show another icon from now on."""
        self._icon_name = name
        self.update()

    def sizeHint(self) -> QSize:
        """Qt's hook: room for icon and text."""
        theme = self._themes.current
        side, pad = theme.pixels(28), theme.pixels(13 if self._kind == "filled" else 8)
        if self._kind == "link":
            pad = theme.pixels(4)
        if not self.text():
            return QSize(side, side)
        width = self.fontMetrics().horizontalAdvance(self.text()) + 2 * pad
        if self._icon_name:
            width += theme.pixels(22)
        return QSize(width, side)

    def minimumSizeHint(self) -> QSize:
        """Qt's hook: a button never loses its words."""
        return self.sizeHint()

    def enterEvent(self, event: QEnterEvent) -> None:
        """Qt's hook: the ground appears."""
        super().enterEvent(event)
        self.update()

    def leaveEvent(self, event: QEvent) -> None:
        """Qt's hook: the ground goes."""
        super().leaveEvent(event)
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Qt's hook: ground, icon, text, focus ring."""
        theme, painter = self._themes.current, QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        box = QRectF(self.rect()).adjusted(0.75, 0.75, -0.75, -0.75)
        ground, ink = self._colours()
        painter.setPen(QPen(theme.accent, 1.5) if self.hasFocus() else Qt.PenStyle.NoPen)
        painter.setBrush(ground)
        painter.drawRoundedRect(box, 7, 7)
        self._paint_content(painter, ink)
        painter.end()

    def _paint_content(self, painter: QPainter, ink: QColor) -> None:
        theme = self._themes.current
        size = float(theme.pixels(16))
        text_width = self.fontMetrics().horizontalAdvance(self.text())
        gap = theme.pixels(6) if self._icon_name and self.text() else 0
        width = text_width + gap + (size if self._icon_name else 0)
        left = (self.width() - width) / 2
        if self._icon_name:
            square = QRectF(left, (self.height() - size) / 2, size, size)
            icons.paint(painter, self._icon_name, ink, square)
            left += size + gap
        painter.setPen(ink)
        painter.drawText(
            QRectF(left, 0, text_width + 2, self.height()),
            int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft),
            self.text(),
        )

    def _colours(self) -> tuple[QColor, QColor]:
        theme = self._themes.current
        hovered = self.underMouse() and self.isEnabled()
        if self._kind == "filled":
            ground = QColor(theme.text if self.isEnabled() else theme.line)
            if hovered:
                ground.setAlphaF(0.85)
            return ground, (theme.ground if self.isEnabled() else theme.faint)
        ground = QColor(theme.text)
        ground.setAlphaF(0.10 if self.isDown() else 0.06 if hovered or self.isChecked() else 0.0)
        if self._kind == "link":
            return ground, theme.accent
        return ground, (theme.text if hovered or self.isChecked() else theme.dim)

    def _restyle(self) -> None:
        self.setFont(self._font())
        self.updateGeometry()
        self.update()

    def _font(self) -> QFont:
        font = self._themes.current.font("small")
        if self._kind == "filled":
            font.setWeight(font.Weight.DemiBold)
        return font
