"""Markdown that grows at its end: what is settled is never read again."""

from dataclasses import dataclass, replace

from ui.chat.fence import Fence
from ui.chat.leaves import Leaf
from ui.chat.markdown import parse


@dataclass(frozen=True, slots=True)
class Change:
    """`leaves` take the place of all leaves from number `keep` on."""

    keep: int
    leaves: tuple[Leaf, ...]


@dataclass(frozen=True, slots=True)
class Grown:
    """`text` was added to the code of the last leaf."""

    text: str


class LiveText:
    """Reads only the tail of a growing text: from the last place where it may be cut.

    Inside an open fence nothing is read at all: lines are handed on. `parsed` counts the
    characters given to the parser so far. `needs_all` is set once a link was defined after it
    may have been used: only reading all of the text again shows such links.
    """

    def __init__(self) -> None:
        self.parsed = 0
        self.needs_all = False
        self._tail = ""
        self._offset = 0  # of the tail in the text
        self._settled = 0  # leaves before the tail
        self._number: int | None = None
        self._after_blank = True
        self._fence: Fence | None = None
        self._held = ""  # a carriage return whose line feed may follow

    def append(self, text: str) -> list[Change | Grown]:
        """Take in more text; return what changed, in order."""
        text = self._held + text
        self._held = "\r" if text.endswith("\r") else ""
        text = text.removesuffix("\r").replace("\r\n", "\n").replace("\r", "\n")
        if self._fence is None:
            self._tail += text
            return [self._read()]
        grown, rest = self._fence.take(text)
        changes: list[Change | Grown] = [Grown(grown)] if grown else []
        if rest is not None:
            self._leave(self._fence)
            self._tail += rest
            changes.append(self._read())
        return changes

    def finish(self) -> list[Change | Grown]:
        """Nothing follows: show also what was held back."""
        changes = self.append("\n") if self._held else []
        if self._fence is not None:
            self._leave(self._fence)
            changes.append(self._read(goes_on=False))
        return changes

    def _leave(self, fence: Fence) -> None:
        self._tail += fence.leave()
        self._fence = None

    def _read(self, *, goes_on: bool = True) -> Change:
        keep, tail = self._settled, self._tail
        self.parsed += len(tail)
        parsed = parse(tail, number=self._number, after_blank=self._after_blank)
        self.needs_all = self.needs_all or parsed.defines_links
        leaves, cut = parsed.leaves, parsed.cut
        if goes_on and leaves and leaves[-1].is_open:
            leaves = (*leaves[:-1], self._enter(leaves[-1]))
        shown = tuple(_moved(leaf, self._offset) for leaf in leaves)
        if cut.offset:
            line_before = tail[: cut.offset - 1].rpartition("\n")[2]
            self._after_blank = not line_before.strip(" \t>")
        self._tail = self._tail[cut.offset :]
        self._offset += cut.offset
        self._settled += cut.leaves
        self._number = cut.number
        return Change(keep, shown)

    def _enter(self, leaf: Leaf) -> Leaf:
        entered = Fence.at_end_of(self._tail, leaf)
        if entered is None:
            return leaf
        self._fence, begin = entered
        self._tail = self._tail[:begin]
        return replace(leaf, text=self._fence.shown)


def _moved(leaf: Leaf, by: int) -> Leaf:
    if not by:
        return leaf
    runs = tuple(replace(run, start=run.start + by, end=run.end + by) for run in leaf.runs)
    rows = tuple(
        tuple(
            replace(
                cell,
                runs=tuple(replace(r, start=r.start + by, end=r.end + by) for r in cell.runs),
            )
            for cell in row
        )
        for row in leaf.rows
    )
    return replace(leaf, start=leaf.start + by, end=leaf.end + by, runs=runs, rows=rows)
