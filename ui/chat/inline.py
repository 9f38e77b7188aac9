"""The text inside a paragraph, heading or cell: markdown-it's tokens to runs."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from ui.chat.leaves import BREAK, Run, Style

if TYPE_CHECKING:
    from markdown_it.token import Token

_OPENS = {
    "strong_open": ("bold", True),
    "strong_close": ("bold", False),
    "em_open": ("italic", True),
    "em_close": ("italic", False),
    "s_open": ("struck", True),
    "s_close": ("struck", False),
}


def runs_of(token: "Token", place: Callable[[int], int], skip: int = 0) -> tuple[Run, ...]:
    """The runs of an inline token.

    `place` maps an offset in the token's content to one in the source. The first `skip`
    characters of the content are left out.
    """
    walk = _Inline(token.content, place, skip)
    for child in token.children or []:
        walk.take(child)
    return tuple(walk.runs)


class _Inline:
    """Finds every piece of shown text again in the content that it was read from."""

    def __init__(self, content: str, place: Callable[[int], int], skip: int) -> None:
        self.content, self.place, self.at, self.skip = content, place, 0, skip
        self.runs: list[Run] = []
        self._style = Style()

    def take(self, token: "Token") -> None:
        """Take in the next child."""
        if token.type in _OPENS:
            name, value = _OPENS[token.type]
            self._style = replace(self._style, **{name: value})
            return
        match token.type:
            case "text" | "text_special":
                self._add(token.content, token.markup or token.content, self._style)
            case "softbreak" | "hardbreak":
                self._add(BREAK, "\n", self._style)
            case "code_inline":
                self._add(token.content, token.content, replace(self._style, code=True))
                self.at += len(token.markup)
            case "math_inline" | "math_inline_double":
                whole = token.markup + token.content + _CLOSING.get(token.markup, token.markup)
                self._add(whole, whole, replace(self._style, math=True))
            case "link_open":
                self._style = replace(self._style, link=str(token.attrGet("href") or ""))
            case "link_close":
                self._skip_address()
                self._style = replace(self._style, link="")
            case "image":
                self._image(token)
            case _:  # nothing else is enabled; text of it must not get lost
                self._add(token.content, token.content, self._style)

    def _add(self, text: str, written: str, style: Style) -> None:
        if self.skip and text:
            cut = min(self.skip, len(text))
            self.skip, self.at = self.skip - cut, self.at + cut
            text, written = text[cut:], written[cut:]
        if not text:
            return
        found = self.content.find(written, self.at)
        begin = self.at if found < 0 else found
        self.at = min(begin + len(written), len(self.content))
        start, end = self.place(begin), self.place(self.at)
        last = self.runs[-1] if self.runs else None
        new = Run(text, style, start, max(start, end))
        if last and last.end == start and _is_exact(last) and _is_exact(new) and _alike(last, new):
            new = Run(last.text + text, style, last.start, end)
            self.runs.pop()
        self.runs.append(new)

    def _skip_address(self) -> None:
        if self.content.startswith("](", self.at):
            end = self.content.find(")", self.at)
            self.at = self.at if end < 0 else end + 1

    def _image(self, token: "Token") -> None:
        address = str(token.attrGet("src") or "")
        name = token.content or ""
        if name:
            self._add(name, name, self._style)
            self._add(" ", "](", self._style)
        self._add(address, address, replace(self._style, link=address, faint=True))
        end = self.content.find(")", self.at)
        self.at = self.at if end < 0 else end + 1


_CLOSING = {"\\(": "\\)", "\\[": "\\]"}


def _is_exact(run: Run) -> bool:
    return run.end - run.start == len(run.text)


def _alike(run: Run, other: Run) -> bool:
    return run.style == other.style and not run.style.math
