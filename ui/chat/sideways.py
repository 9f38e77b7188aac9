"""Content that is wider than its place."""

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QPainter

from ui.chat.look import Look


class Sideways:
    """How far content of `content` px is moved inside `room` px, and the bar that says so."""

    def __init__(self, look: Look) -> None:
        self._look = look
        self.at = 0.0
        self.content = 0.0
        self.room = 0.0

    @property
    def overflows(self) -> bool:
        """Whether there is anything to move."""
        return self.content > self.room + 1

    def fit(self, content: float, room: float) -> None:
        """Take new widths; what was visible stays so."""
        self.content, self.room = content, room
        self.at = min(self.at, max(0.0, content - room))

    def move(self, by: float) -> bool:
        """Move by `by` px; say whether anything moved."""
        before = self.at
        self.at = min(max(0.0, self.at + by), max(0.0, self.content - self.room))
        return self.at != before

    def reveal(self, left: float, right: float) -> bool:
        """Move as little as shows the content from `left` to `right`; say whether it moved."""
        if left < self.at:
            return self.move(left - self.at)
        return self.move(max(0.0, right - self.at - self.room))

    def paint(self, painter: QPainter, x: float, y: float) -> None:
        """Draw the bar with its top left at (x, y), if there is anything to move."""
        if not self.overflows:
            return
        length = max(24.0, self.room * self.room / self.content)
        left = (self.room - length) * self.at / max(1.0, self.content - self.room)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._look.theme.rejected)
        painter.drawRoundedRect(QRectF(x + left, y, length, 4), 2, 2)
