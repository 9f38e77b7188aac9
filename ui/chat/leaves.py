"""Markdown as plain values: a document is a flat row of leaves, each in its quotes and list items.

Offsets count characters of the source that the leaf was read from.
"""

from dataclasses import dataclass, field
from typing import Literal

BREAK = "\u2028"  # a line break inside a paragraph
Kind = Literal["paragraph", "heading", "code", "table", "math", "rule"]
Side = Literal["", "left", "center", "right"]


@dataclass(frozen=True, slots=True)
class Style:
    """How a run of text looks, and what it leads to."""

    bold: bool = False
    italic: bool = False
    struck: bool = False
    code: bool = False
    math: bool = False
    faint: bool = False
    link: str = ""


@dataclass(frozen=True, slots=True)
class Run:
    """Text of one style, and the piece of the source that it stands for."""

    text: str
    style: Style
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Container:
    """A quote or a list item around a leaf.

    `marker` is set on the first leaf of an item only: a bullet, a number, or a box to tick.
    """

    kind: Literal["quote", "item"]
    marker: str = ""
    ticked: bool | None = None


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a table."""

    runs: tuple[Run, ...]
    side: Side = ""


@dataclass(frozen=True, slots=True)
class Leaf:
    """One block without blocks in it.

    `start` and `end` bound its lines in the source. `apart` says that a blank line or another kind
    of block precedes it, so that it stands off; lines of a list without blank lines do not.
    `text` is the content of code and math; `is_open` tells code that its end was not seen.
    """

    kind: Kind
    start: int
    end: int
    apart: bool
    containers: tuple[Container, ...] = ()
    runs: tuple[Run, ...] = ()
    level: int = 0
    language: str = ""
    text: str = ""
    is_open: bool = False
    rows: tuple[tuple[Cell, ...], ...] = field(default=())
