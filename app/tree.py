"""The messages of a conversation as a tree, and the branch of it that is shown."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Node:
    """A message's place: its parent, and which of its own children is shown (None: the last)."""

    id: int
    parent: int | None
    chosen: int | None


@dataclass(frozen=True, slots=True)
class Place:
    """Where a message is: the `position`-th (from 1) of its parent's `alternatives` children."""

    id: int
    parent: int | None
    position: int
    alternatives: int


class Tree:
    """The places of all messages of a conversation; `chosen` is the root that is shown.

    A parent always has the smaller id. A message that names another is put below the message
    before it, so that damage to one never hides those after it.
    """

    def __init__(self, nodes: Iterable[Node], chosen: int | None) -> None:
        self._children: dict[int | None, list[int]] = {}
        self._parents: dict[int, int | None] = {}
        self._chosen: dict[int | None, int | None] = {None: chosen}
        before: int | None = None
        for node in sorted(nodes, key=lambda node: node.id):
            known = node.parent is None or node.parent in self._parents
            parent = node.parent if known else before
            self._children.setdefault(parent, []).append(node.id)
            self._parents[node.id] = parent
            self._chosen[node.id] = node.chosen
            before = node.id

    def place(self, id_: int) -> Place:
        """Where `id_` is."""
        parent = self._parents[id_]
        siblings = self._children[parent]
        return Place(id_, parent, siblings.index(id_) + 1, len(siblings))

    def branch(self) -> list[Place]:
        """The shown messages, root to leaf."""
        places: list[Place] = []
        at: int | None = None
        while siblings := self._children.get(at):
            chosen = self._chosen[at]
            at = chosen if chosen in siblings else siblings[-1]
            assert at is not None
            places.append(self.place(at))
        return places

    def path_to(self, id_: int) -> list[Place]:
        """The messages from the root to `id_`, both included."""
        path: list[Place] = []
        at: int | None = id_
        while at is not None:
            path.append(self.place(at))
            at = self._parents[at]
        return path[::-1]

    def beside(self, id_: int, step: int) -> int | None:
        """The sibling `step` after (or before) `id_`; None beyond the ends."""
        siblings = self._children[self._parents[id_]]
        at = siblings.index(id_) + step
        return siblings[at] if 0 <= at < len(siblings) else None
