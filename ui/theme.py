"""Colours and fonts by the name of their use, and which set of them is shown."""

from dataclasses import dataclass, replace
from typing import Literal, cast

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontDatabase, QGuiApplication, QPalette

Role = Literal["body", "small", "label", "code", "title"]
Appearance = Literal["system", "light", "dark"]

COLUMN = 720  # px, the widest that text is set
SIDEBAR = 236  # px
TITLE_BAR = 52  # px
TEXT_SIZES = (0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 1.75, 2.0)

_PIXELS: dict[Role, float] = {"body": 14.0, "small": 12.0, "label": 11.0, "code": 12.5, "title": 15}
_MONOSPACE = ["SF Mono", "Menlo", "JetBrains Mono", "Consolas", "DejaVu Sans Mono", "monospace"]


@dataclass(frozen=True, slots=True)
class Theme:
    """The colours of one appearance. Text colours reach 4.5 to 1 against their ground."""

    is_dark: bool
    ground: QColor
    side: QColor
    panel: QColor
    line: QColor
    text: QColor
    dim: QColor
    faint: QColor
    accent: QColor
    copied: QColor
    rejected: QColor
    plain: QColor
    good: QColor
    caution: QColor
    bad: QColor
    user_bubble: QColor
    code_ground: QColor
    text_size: float = 1.0

    @staticmethod
    def light(text_size: float = 1.0) -> "Theme":
        """Dark text on light ground."""
        return _theme(
            False,
            text_size,
            "#fbfbfa #f2f2ef #ffffff #e4e3de #1d1d1b #5a5953 #6e6d66 #0b6bcb"
            " #c26a00 #a9a8a1 #8a8981 #1b7a3d #8a5300 #b3261e #eef3f9 #f4f4f1",
        )

    @staticmethod
    def dark(text_size: float = 1.0) -> "Theme":
        """Light text on dark ground."""
        return _theme(
            True,
            text_size,
            "#1b1b1a #161615 #232322 #343431 #ececea #b3b2ab #908f87 #6cb2ff"
            " #f0a848 #6b6a65 #8f8e86 #69c98a #f0b35c #ff8a80 #26303b #191918",
        )

    def contrasted(self) -> "Theme":
        """The same colours with every faint one made stronger."""
        return replace(self, dim=self.text, faint=self.dim, line=self.faint, rejected=self.dim)

    @property
    def selection(self) -> QColor:
        """The accent at 14 %, for the ground of what is selected."""
        colour = QColor(self.accent)
        colour.setAlphaF(0.14)
        return colour

    def font(self, role: Role) -> QFont:
        """The font of `role`, at the chosen text size."""
        if role == "code":
            font = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
            font.setFamilies([*_MONOSPACE, font.family()])
            font.setStyleHint(QFont.StyleHint.Monospace)
        else:
            font = QGuiApplication.font()
        font.setPixelSize(self.pixels(_PIXELS[role]))
        if role in ("label", "title"):
            font.setWeight(QFont.Weight.DemiBold)
        return font

    def pixels(self, size: float) -> int:
        """`size` px at the chosen text size, whole and at least 1."""
        return max(1, round(size * self.text_size))

    def palette(self) -> QPalette:
        """These colours in the roles that Qt's own widgets use."""
        palette = QPalette()
        role = QPalette.ColorRole
        for name, colour in (
            (role.Window, self.ground),
            (role.WindowText, self.text),
            (role.Base, self.panel),
            (role.AlternateBase, self.side),
            (role.Text, self.text),
            (role.Button, self.panel),
            (role.ButtonText, self.text),
            (role.PlaceholderText, self.faint),
            (role.Highlight, self.accent),
            (role.HighlightedText, QColor("#111111" if self.is_dark else "#ffffff")),
            (role.Link, self.accent),
            (role.LinkVisited, self.accent),
            (role.Accent, self.accent),
            (role.ToolTipBase, self.panel),
            (role.ToolTipText, self.text),
            (role.Mid, self.line),
        ):
            palette.setColor(name, colour)
        for name in (role.WindowText, role.Text, role.ButtonText):
            palette.setColor(QPalette.ColorGroup.Disabled, name, self.faint)
        return palette


def _theme(is_dark: bool, text_size: float, colours: str) -> Theme:
    return Theme(is_dark, *(QColor(name) for name in colours.split()), text_size=text_size)


class Themes(QObject):
    """The theme that is shown: the system's or a chosen one.

    Signals:
        changed: the current theme is another one now.
    """

    changed = Signal()

    def __init__(
        self,
        appearance: Appearance = "system",
        text_size: float = 1.0,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._appearance: Appearance = appearance
        self._text_size = text_size
        self._hints = QGuiApplication.styleHints()
        self._contrast = self._hints.accessibility()
        self._is_system_dark = self._hints.colorScheme() == Qt.ColorScheme.Dark
        self._current = self._resolved()
        self._hints.colorSchemeChanged.connect(self._follow)
        self._contrast.contrastPreferenceChanged.connect(self._follow_contrast)
        self._tell_qt()

    @property
    def current(self) -> Theme:
        """The theme that widgets paint with now."""
        return self._current

    @property
    def appearance(self) -> Appearance:
        """What was chosen: to follow the system, light or dark."""
        return self._appearance

    @property
    def text_size(self) -> float:
        """The factor on every font's size."""
        return self._text_size

    def set_appearance(self, appearance: Appearance) -> None:
        """Show `appearance` from now on."""
        self._appearance = appearance
        if appearance == "system":
            self._hints.unsetColorScheme()
            self._is_system_dark = self._hints.colorScheme() == Qt.ColorScheme.Dark
        self._refresh()

    def set_text_size(self, text_size: float) -> None:
        """Scale every font by `text_size`, held within what the layout bears."""
        self._text_size = min(max(text_size, TEXT_SIZES[0]), TEXT_SIZES[-1])
        self._refresh()

    def step_text_size(self, step: int) -> None:
        """Go `step` sizes up or down the list of text sizes."""
        sizes = TEXT_SIZES
        here = min(range(len(sizes)), key=lambda index: abs(sizes[index] - self._text_size))
        self.set_text_size(sizes[min(max(here + step, 0), len(sizes) - 1)])

    def _resolved(self) -> Theme:
        dark = self._appearance == "dark" or (self._appearance == "system" and self._is_system_dark)
        theme = Theme.dark(self._text_size) if dark else Theme.light(self._text_size)
        wants_more = self._contrast.contrastPreference() == Qt.ContrastPreference.HighContrast
        return theme.contrasted() if wants_more else theme

    def _follow(self, scheme: Qt.ColorScheme) -> None:
        if self._appearance == "system":
            self._is_system_dark = scheme == Qt.ColorScheme.Dark
            self._refresh()

    def _follow_contrast(self, _preference: Qt.ContrastPreference) -> None:
        self._refresh()

    def _refresh(self) -> None:
        theme = self._resolved()
        if theme != self._current:
            self._current = theme
            self._tell_qt()
            self.changed.emit()

    def _tell_qt(self) -> None:
        """Give the colours to what Qt and the system draw: menus, dialogs, title bars."""
        if self._appearance != "system":
            scheme = Qt.ColorScheme.Dark if self._current.is_dark else Qt.ColorScheme.Light
            self._hints.setColorScheme(scheme)
        cast("QGuiApplication", QGuiApplication.instance()).setPalette(self._current.palette())
