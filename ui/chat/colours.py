"""Which parts of code are coloured: Pygments, a little at a time."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import pygments.lexers
from pygments.token import Token
from pygments.util import ClassNotFound

if TYPE_CHECKING:
    from pygments.lexer import Lexer
    from PySide6.QtGui import QColor

    from ui.theme import Theme

LONGEST = 200_000  # characters; beyond that code stays plain
Part = Literal["keyword", "string", "comment", "number", "name", "added", "removed"]

_PARTS: tuple[tuple[object, Part], ...] = (
    (Token.Comment, "comment"),
    (Token.Literal.String, "string"),
    (Token.Literal.Number, "number"),
    (Token.Keyword.Constant, "number"),
    (Token.Keyword, "keyword"),
    (Token.Operator.Word, "keyword"),
    (Token.Name.Tag, "keyword"),
    (Token.Name.Decorator, "name"),
    (Token.Name.Attribute, "name"),
    (Token.Generic.Inserted, "added"),
    (Token.Generic.Deleted, "removed"),
    (Token.Generic.Heading, "keyword"),
    (Token.Generic.Subheading, "keyword"),
    (Token.Generic.Prompt, "comment"),
)


@dataclass(frozen=True, slots=True)
class Ink:
    """`length` characters of a line, from `start` on, that are a `part` of the language."""

    start: int
    length: int
    part: Part


def colour_of(part: Part, theme: "Theme") -> "QColor":
    """The colour in which a part is painted."""
    match part:
        case "keyword" | "name":
            return theme.accent
        case "string" | "added":
            return theme.good
        case "comment":
            return theme.faint
        case "number":
            return theme.caution
        case "removed":
            return theme.bad


def lexer_for(language: str) -> "Lexer | None":
    """What reads `language`, if anything does; plain text needs no reading."""
    if not language or language.lower() in ("text", "plain", "txt"):
        return None
    try:
        found: Lexer = pygments.lexers.get_lexer_by_name(  # pyright: ignore[reportUnknownMemberType]
            language.lower(), stripnl=False, ensurenl=False
        )
    except ClassNotFound:
        return None
    return found


class Colouring:
    """Reads `code` in slices of time, line after line; its first line is number `line`.

    `inks` holds the lines that are done, and `fresh` the last line that begins outside of strings
    and comments: growing code may be read anew from there.
    """

    def __init__(self, code: str, lexer: "Lexer", line: int = 0) -> None:
        self.fresh = self._first = line
        self.inks: dict[int, tuple[Ink, ...]] = {}
        self._steps = self._read(code, lexer)

    def work(self, seconds: float) -> bool:
        """Read for about so long; say whether there is more."""
        end = time.perf_counter() + seconds
        return any(time.perf_counter() >= end for _ in self._steps)

    def _read(self, code: str, lexer: "Lexer") -> Iterator[None]:
        line, column, row = self._first, 0, list[Ink]()
        for kind, value in lexer.get_tokens(code):
            part = _part_of(kind)
            for number, piece in enumerate(value.split("\n")):
                if number:
                    self.inks[line] = tuple(row)
                    line, column, row = line + 1, 0, []
                    if part not in ("string", "comment"):
                        self.fresh = line
                    yield
                if part and piece:
                    row.append(Ink(column, len(piece), part))
                column += len(piece)
        self.inks[line] = tuple(row)


def _part_of(kind: object) -> Part | None:
    for known, part in _PARTS:
        if kind in known:  # type: ignore[operator]  Pygments' token types are made at run time
            return part
    return None
