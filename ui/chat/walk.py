"""From markdown-it's tokens to leaves, and to the last place where the source may be cut."""

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ui.chat.inline import runs_of
from ui.chat.leaves import Cell, Container, Kind, Leaf, Run, Side

if TYPE_CHECKING:
    from markdown_it.token import Token

BULLETS = ("•", "◦", "▪")
_BOX = re.compile(r"\[([ xX])\][ \t]+(?=\S)")
_SIDES: dict[str, Side] = {
    "text-align:left": "left",
    "text-align:center": "center",
    "text-align:right": "right",
}


@dataclass(frozen=True, slots=True)
class Cut:
    """A place where the source may be cut so that both sides read as they do together.

    `leaves` counts those before it; `number` is what an ordered list goes on with there.
    """

    offset: int
    leaves: int
    number: int | None = None


class Walk:
    """Takes the tokens of a source and keeps its `leaves` and the last safe `cut`."""

    def __init__(self, source: str, number: int | None, after_blank: bool) -> None:
        self.source, self.number, self.after_blank = source, number, after_blank
        self.lines = source.split("\n")
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line) + 1)
        self.leaves: list[Leaf] = []
        self.cut = Cut(0, 0, number)
        self._around: list[Container] = []
        self._numbers: list[int | None] = []  # of the lists that are open; None has bullets
        self._rows: list[tuple[Cell, ...]] = []
        self._cells: list[Cell] = []
        self._table_map: list[int] | None = None
        self._item_map: list[int] | None = None

    def take(self, tokens: "list[Token]") -> None:
        """Walk over all tokens."""
        for index, token in enumerate(tokens):
            is_item = token.level == 1 and token.type == "list_item_open"
            if token.map and token.nesting >= 0 and (token.level == 0 or is_item):
                self._may_cut(token.map[0])
            self._token(token, tokens[index - 1])

    def _may_cut(self, line: int) -> None:
        if line < len(self.lines) - 1:  # an unfinished line may still become something else
            number = self._numbers[0] if self._numbers else self._carried(line)
            self.cut = Cut(self.starts[line], len(self.leaves), number)

    def _carried(self, line: int) -> int | None:
        return self.number if line == 0 else None

    def _token(self, token: "Token", before: "Token") -> None:
        match token.type:
            case "blockquote_open":
                self._around.append(Container("quote"))
            case "blockquote_close":
                self._around.pop()
            case "bullet_list_open" | "ordered_list_open":
                self._open_list(token)
            case "bullet_list_close" | "ordered_list_close":
                self._numbers.pop()
            case "list_item_open":
                self._open_item(token)
            case "list_item_close":
                self._close_item()
            case "fence" | "code_block":
                self._code(token)
            case _:
                self._inside(token, before)

    def _inside(self, token: "Token", before: "Token") -> None:
        match token.type:
            case "inline" if before.type in ("th_open", "td_open"):
                side = _SIDES.get(str(before.attrGet("style") or ""), "")
                self._cells.append(Cell(self._runs(token), side))
            case "inline":
                self._text(token, before)
            case "math_block":
                self._add("math", token.map, text=token.content.strip())
            case "hr":
                self._add("rule", token.map)
            case "tr_close":
                self._rows.append(tuple(self._cells))
                self._cells = []
            case "table_open":
                self._rows, self._table_map = [], token.map
            case "table_close":
                self._add("table", self._table_map, rows=tuple(self._rows))
            case _:
                pass

    def _open_list(self, token: "Token") -> None:
        if token.type == "bullet_list_open":
            self._numbers.append(None)
            return
        start = token.attrGet("start")
        number = 1 if start is None else int(start)
        if not self._around and token.map and self._carried(token.map[0]) is not None:
            number = self.number or 0
        self._numbers.append(number)

    def _open_item(self, token: "Token") -> None:
        self._item_map = token.map
        number = self._numbers[-1]
        if number is None:
            depth = sum(each.kind == "item" for each in self._around)
            marker = BULLETS[min(depth, len(BULLETS) - 1)]
        else:
            marker, self._numbers[-1] = f"{number}.", number + 1
        self._around.append(Container("item", marker))

    def _close_item(self) -> None:
        if self._around[-1].marker:  # there is nothing in it
            self._add("paragraph", self._item_map)
        self._around.pop()

    def _text(self, token: "Token", before: "Token") -> None:
        skip = 0
        if self._around and self._around[-1].marker and before.type == "paragraph_open":
            box = _BOX.match(token.content)
            if box:
                skip = box.end()
                self._around[-1] = replace(self._around[-1], ticked=box[1] != " ")
        level = int(before.tag[1:]) if before.type == "heading_open" else 0
        self._add("heading" if level else "paragraph", token.map,
                  runs=self._runs(token, skip), level=level)  # fmt: skip

    def _runs(self, token: "Token", skip: int = 0) -> tuple[Run, ...]:
        assert token.map is not None
        first, offsets, counted = token.map[0], [0], list[int]()
        for number, line in enumerate(token.content.split("\n")):
            row = min(first + number, len(self.lines) - 1)
            found = self.lines[row].find(line)
            counted.append(self.starts[row] + max(found, 0))
            offsets.append(offsets[-1] + len(line) + 1)

        def place(at: int) -> int:
            line = 0 if len(counted) == 1 else sum(at >= start for start in offsets[1:-1])
            return min(counted[line] + at - offsets[line], len(self.source))

        return runs_of(token, place, skip)

    def _code(self, token: "Token") -> None:
        assert token.map is not None
        is_open = False
        if token.type == "fence":
            last = self.lines[token.map[1] - 1].strip(" \t>")
            length = len(token.markup)
            closes = len(last) >= length and not last.strip(token.markup[0])
            is_open = not (closes and token.map[1] - token.map[0] > 1)
        self._add(
            "code", token.map, text=token.content, is_open=is_open, level=len(token.markup),
            language=token.info.strip().split(" ")[0] if token.info else "",
        )  # fmt: skip

    def _add(  # noqa: PLR0913  each is one field of a leaf
        self,
        kind: Kind,
        map_: list[int] | None,
        *,
        runs: tuple[Run, ...] = (),
        level: int = 0,
        language: str = "",
        text: str = "",
        is_open: bool = False,
        rows: tuple[tuple[Cell, ...], ...] = (),
    ) -> None:
        assert map_ is not None
        first, last = map_
        self.leaves.append(
            Leaf(
                kind,
                self.starts[first],
                min(self.starts[last], len(self.source)),
                self._stands_off(kind, first),
                tuple(self._around),
                runs,
                level,
                language,
                text,
                is_open,
                rows,
            )
        )
        self._around = [replace(c, marker="", ticked=None) for c in self._around]

    def _stands_off(self, kind: Kind, line: int) -> bool:
        if not self._around or kind != "paragraph":
            return True
        if line == 0:
            return self.after_blank
        return not self.lines[line - 1].strip(" \t>")
