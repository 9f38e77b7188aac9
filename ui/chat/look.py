"""What blocks are painted with: a theme, and how prominent their text is."""

from dataclasses import dataclass

from PySide6.QtGui import QColor, QFont

from ui.theme import Theme

_HEADINGS = {1: 1.5, 2: 1.28, 3: 1.12}  # sizes of the body's


@dataclass(frozen=True, slots=True)
class Look:
    """`is_quiet` makes text smaller and dimmer, as thinking is shown."""

    theme: Theme
    is_quiet: bool = False

    @property
    def colour(self) -> QColor:
        """The colour of text."""
        return self.theme.dim if self.is_quiet else self.theme.text

    @property
    def font(self) -> QFont:
        """The font of text."""
        font = self.theme.font("body")
        if self.is_quiet:
            font.setPixelSize(self.theme.pixels(13))
        return font

    def heading(self, level: int) -> QFont:
        """The font of a heading of `level` 1 to 6."""
        font = self.font
        font.setPixelSize(round(font.pixelSize() * _HEADINGS.get(level, 1.0)))
        font.setWeight(QFont.Weight.DemiBold)
        return font

    def px(self, size: float) -> int:
        """`size` px at the chosen text size."""
        return self.theme.pixels(size)
