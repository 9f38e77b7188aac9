"""The messages of a transcript, and where each stands: measured when seen, estimated before."""

from bisect import bisect_right
from dataclasses import dataclass

from app.conversation import Message
from ui.chat.message import MessageView

GAP = 18  # px between two messages
TOP, BOTTOM = 26, 26  # px around all of them
_LETTER, _LINE, _REST = 7.2, 22, 110  # px: a letter's width, a line's height, what else there is


@dataclass(slots=True)
class Place:
    """One message; `width` is the one for which its height was measured, 0 if it was not."""

    message: Message
    height: int
    view: MessageView | None = None
    width: int = 0

    @property
    def may_go(self) -> bool:
        """Whether its view, when out of sight, holds nothing that only it knows."""
        view = self.view
        if view is None or self.message.state == "streaming":
            return False
        return view.body.selection.is_empty and not view.is_edited and not view.hasFocus()


class Places:
    """Places in a row. `tops` hold after `stack`."""

    def __init__(self) -> None:
        self.all: list[Place] = []
        self._by_id: dict[int, int] = {}
        self._tops: list[int] = []

    @property
    def height(self) -> int:
        """Of all messages with their gaps."""
        return self._tops[-1] + BOTTOM - GAP if self.all else 0

    def add(self, message: Message, width: int) -> Place:
        """Put a message at the end."""
        place = Place(message, estimate(message, width))
        self._by_id[message.id] = len(self.all)
        self.all.append(place)
        self.stack(len(self.all) - 1)
        return place

    def of(self, message_id: int) -> int | None:
        """The number of a message's place."""
        return self._by_id.get(message_id)

    def clear(self) -> None:
        """Forget all places."""
        self.all, self._by_id, self._tops = [], {}, []

    def stack(self, first: int = 0) -> None:
        """Find the tops anew, from place `first` on."""
        del self._tops[first:]
        if not self._tops:
            self._tops.append(TOP)
            first = 0
        elif len(self._tops) == first:
            self._tops.append(self._bottom(first - 1))
        for number in range(first, len(self.all)):
            self._tops.append(self._bottom(number))

    def _bottom(self, number: int) -> int:
        """Where the place after `number` begins; the buttons under a question are gap enough."""
        place = self.all[number]
        gap = 0 if place.message.role == "user" else GAP
        return self._tops[number] + place.height + gap

    def top(self, number: int) -> int:
        """Where place `number` begins."""
        return self._tops[number]

    def at(self, y: int) -> int:
        """The place at a height, or the nearest."""
        return max(0, min(bisect_right(self._tops, y) - 1, len(self.all) - 1))


def estimate(message: Message, width: int) -> int:
    """About how high a message will be."""
    per_line = max(10, int(width / _LETTER))
    lines = sum(1 + len(line) // per_line for line in message.text.split("\n"))
    return lines * _LINE + _REST
