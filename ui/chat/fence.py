"""An open code fence, whose lines are code until one closes it."""

import re

from ui.chat.leaves import Leaf


class Fence:
    """Hands on the lines of an open fence without reading them as Markdown.

    `source` keeps the lines that were handed on; `shown` is what a new fence shows at first.
    """

    def __init__(self, column: int, *, is_nested: bool, mark: str, length: int) -> None:
        self.source: list[str] = []
        self.shown = ""
        self._column, self._is_nested, self._mark = column, is_nested, mark
        self._closing = re.compile(rf" {{0,{column + 3}}}{re.escape(mark)}{{{length},}}[ \t]*$")
        self._partial = ""  # the unfinished line
        self._given = 0  # how many characters of its shown form were handed on

    @staticmethod
    def at_end_of(tail: str, leaf: Leaf) -> "tuple[Fence, int] | None":
        """The fence of `leaf`, the last one of `tail`, and where its first line begins.

        None where its lines must be read in full: in a quote, and behind tabs.
        """
        line, _, body = tail[leaf.start :].partition("\n")
        mark = "`" if "`" * leaf.level in line else "~"
        column = line.find(mark * leaf.level)
        is_quoted = any(each.kind == "quote" for each in leaf.containers)
        if not leaf.level or column < 0 or "\t" in line[:column] or is_quoted:
            return None
        begin = leaf.start + len(line) + 1
        if begin > len(tail):
            return None  # the line that opens it is not finished
        fence = Fence(column, is_nested=bool(leaf.containers), mark=mark, length=leaf.level)
        fence.shown, rest = fence.take(body)
        return None if rest is not None else (fence, begin)

    def take(self, text: str) -> tuple[str, str | None]:
        """What `text` adds to the code, and what must be read in full (None: nothing)."""
        lines = (self._partial + text).split("\n")
        shown: list[str] = []
        for number, line in enumerate(lines[:-1]):
            if self._ends_at(line):
                self._partial = ""
                return "".join(shown), "\n".join(lines[number:])
            self.source.append(line + "\n")
            shown.append(self._stripped(line)[self._given :] + "\n")
            self._given = 0
        self._partial = lines[-1]
        if not self._may_close(self._partial):
            rest = self._stripped(self._partial)
            shown.append(rest[self._given :])
            self._given = len(rest)
        return "".join(shown), None

    def leave(self) -> str:
        """The source from the first line of code on."""
        return "".join([*self.source, self._partial])

    def _ends_at(self, line: str) -> bool:
        return bool(self._closing.match(line)) or self._leaves_item(line)

    def _leaves_item(self, line: str) -> bool:
        return self._is_nested and bool(line.strip()) and not line.startswith(" " * self._column)

    def _may_close(self, line: str) -> bool:
        return not line.strip().strip(self._mark) or self._leaves_item(line)

    def _stripped(self, line: str) -> str:
        """Without the indent of the fence."""
        return line[min(self._column, len(line) - len(line.lstrip(" "))) :]
