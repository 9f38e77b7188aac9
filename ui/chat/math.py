"""Formulas as drawings: LaTeX to SVG by ziamath, or nothing when that is not possible."""

import re
import warnings
from dataclasses import dataclass
from functools import lru_cache
from xml.etree import ElementTree

from PySide6.QtCore import QByteArray, QRectF
from PySide6.QtGui import QPainter
from PySide6.QtSvg import QSvgRenderer

LONGEST = 2000  # characters of LaTeX
DEEPEST = 24  # braces in braces
LARGEST = 400_000  # characters of SVG
WIDEST = 6000.0  # px

_DRAWN = {"svg", "g", "symbol", "use", "path", "rect", "line", "polyline", "polygon"}
_DELIMITERS = (("$$", "$$"), ("$", "$"), ("\\(", "\\)"), ("\\[", "\\]"))
_REFUSED = re.compile(r"\\(?:href|url|includegraphics|input|include|def|newcommand|let)\b")


@dataclass(frozen=True, slots=True)
class Drawing:
    """A formula drawn at its size in px; `ascent` is what stands above the line of the text."""

    renderer: QSvgRenderer
    width: float
    height: float
    ascent: float

    def paint(self, painter: QPainter, x: float, baseline: float) -> None:
        """Draw it so that it stands on `baseline`."""
        box = QRectF(x, baseline - self.ascent, self.width, self.height)
        self.renderer.render(painter, box)


def latex_of(written: str) -> str:
    """The LaTeX between the delimiters of a formula as it was written."""
    for opening, closing in _DELIMITERS:
        if written.startswith(opening) and written.endswith(closing) and len(written) > 2:
            return written[len(opening) : len(written) - len(closing)].strip()
    return written.strip()


@lru_cache(maxsize=512)
def drawing(latex: str, size: float, colour: str, *, in_line: bool) -> Drawing | None:
    """Draw `latex` with letters of `size` px, or return None: then its source is shown."""
    if not latex or len(latex) > LONGEST or _depth(latex) > DEEPEST or _REFUSED.search(latex):
        return None
    try:
        return _drawn(latex, size, colour, in_line)
    except Exception:  # noqa: BLE001  the library meets whatever a model wrote, and has no one error
        return None


def _drawn(latex: str, size: float, colour: str, in_line: bool) -> Drawing | None:
    with warnings.catch_warnings():  # ziamath 0.13 opens its font in a deprecated way
        warnings.simplefilter("ignore", DeprecationWarning)
        from ziamath.config import config  # takes a quarter of a second: formulas alone pay it
        from ziamath.zmath import Latex

    config.svg2 = False  # Qt draws no symbols that reach out of their box

    svg = Latex(latex, size=size, color=colour, inline=in_line).svg()
    root = ElementTree.fromstring(svg)
    tags = {element.tag.rpartition("}")[2] for element in root.iter()}
    if len(svg) > LARGEST or not tags <= _DRAWN:
        return None
    renderer = QSvgRenderer(QByteArray(svg.encode()))
    box = renderer.viewBoxF()
    if not renderer.isValid() or box.isEmpty() or box.width() > WIDEST:
        return None
    return Drawing(renderer, box.width(), box.height(), -box.top())


def _depth(latex: str) -> int:
    depth = deepest = 0
    for letter in latex:
        depth += (letter == "{") - (letter == "}")
        deepest = max(deepest, depth)
    return deepest
