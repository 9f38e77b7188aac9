"""Scroll bars as quiet as the rest, where the platform has none of its own."""

import sys

from ui.theme import Theme


def style_of(theme: Theme) -> str:
    """A style sheet for thin bars; empty on macOS, whose own bars stay."""
    if sys.platform == "darwin":
        return ""
    return (
        "QScrollBar:vertical { background: transparent; width: 10px; margin: 0; }"
        "QScrollBar::handle:vertical { background: "
        f"{theme.rejected.name()}; border-radius: 3px; min-height: 28px; margin: 2px; }}"
        "QScrollBar::add-line:vertical, QScrollBar::sub-line:vertical { height: 0; }"
        "QScrollBar::add-page:vertical, QScrollBar::sub-page:vertical { background: transparent; }"
    )
