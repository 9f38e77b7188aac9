"""What is selected in a row of blocks."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ui.chat.blocks import NOTHING, Block

Position: TypeAlias = tuple[int, int]  # number of the block, offset in it


@dataclass(frozen=True, slots=True)
class Selection:
    """From `anchor`, where it began, to `cursor`."""

    anchor: Position = (0, 0)
    cursor: Position = (0, 0)

    @property
    def first(self) -> Position:
        """The earlier end."""
        return min(self.anchor, self.cursor)

    @property
    def last(self) -> Position:
        """The later end."""
        return max(self.anchor, self.cursor)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is selected."""
        return self.anchor == self.cursor

    def inside(self, number: int, length: int) -> tuple[int, int]:
        """The selected characters of block `number`, which has `length` of them."""
        first, last = self.first, self.last
        if self.is_empty or not first[0] <= number <= last[0]:
            return NOTHING
        start = first[1] if number == first[0] else 0
        end = last[1] if number == last[0] else length
        return (start, min(end, length)) if start < end else NOTHING


def all_of(blocks: Sequence[Block]) -> Selection:
    """Everything."""
    return Selection((0, 0), (len(blocks) - 1, blocks[-1].length)) if blocks else Selection()


def copied(blocks: Sequence[Block], selection: Selection) -> str:
    """The selected text as it is put on the clipboard: blocks apart by an empty line.

    Lines of a list and of verbatim text stand under each other; markers go with whole items.
    """
    parts: list[str] = []
    for number in range(selection.first[0], min(selection.last[0] + 1, len(blocks))):
        block = blocks[number]
        start, end = selection.inside(number, block.length)
        if parts:
            parts.append("\n\n" if block.leaf.apart and not _is_item(block) else "\n")
        if start == 0 and end == block.length:
            parts.append(_markers(block))
        parts.append(block.copied(start, end))
    return "".join(parts)


def from_source(blocks: Sequence[Block], start: int, end: int) -> Selection:
    """What the piece `start` to `end` of the source wrote."""
    found: list[tuple[int, tuple[int, int]]] = []
    for number, block in enumerate(blocks):
        if block.leaf.start < end and start < block.leaf.end + 1:
            span = block.from_source(start, end)
            if span[0] < span[1]:
                found.append((number, span))
    if not found:
        return Selection()
    return Selection((found[0][0], found[0][1][0]), (found[-1][0], found[-1][1][1]))


def to_source(blocks: Sequence[Block], selection: Selection) -> tuple[int, int]:
    """The piece of the source that wrote what is selected."""
    if selection.is_empty:
        return NOTHING
    spans = [
        block.to_source(*selection.inside(number, block.length))
        for number, block in enumerate(blocks)
        if selection.first[0] <= number <= selection.last[0]
    ]
    spans = [span for span in spans if span[0] < span[1]]
    return (min(s for s, _ in spans), max(e for _, e in spans)) if spans else NOTHING


def _is_item(block: Block) -> bool:
    return any(each.kind == "item" and each.marker for each in block.leaf.containers)


def _markers(block: Block) -> str:
    parts: list[str] = []
    for container in block.leaf.containers:
        if container.kind == "quote":
            parts.append("> ")
        elif container.marker:
            box = {None: "", True: "[x] ", False: "[ ] "}[container.ticked]
            parts.append(f"{container.marker} {box}")
        else:
            parts.append("  ")
    return "".join(parts)
