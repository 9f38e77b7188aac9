"""Telling a model's thinking from its answer while the text is still arriving."""

from dataclasses import dataclass

from engine.events import Channel

TAGS = (  # pairs that models use; the first is by far the most common
    ("<think>", "</think>"),
    ("[THINK]", "[/THINK]"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<seed:think>", "</seed:think>"),
    ("<longcat_think>", "</longcat_think>"),
    ("<|think:start|>", "<|think:end|>"),
    ("◁think▷", "◁/think▷"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
)


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of text and where it belongs."""

    channel: Channel
    text: str


class ThinkingSplitter:
    """Splits text at one pair of tags; only an opening tag that comes first opens thinking.

    What could still become a tag is held back; nothing is swallowed but the tags themselves.
    """

    def __init__(self, tags: tuple[str, str] = TAGS[0], *, inside: bool = False) -> None:
        self._open, self._close = tags
        self._state = "thinking" if inside else "start"
        self._held = ""

    @property
    def unclosed(self) -> bool:
        """Whether thinking was opened and not closed."""
        return self._state == "thinking"

    def push(self, text: str) -> list[Part]:
        """The parts that became certain."""
        self._held += text
        parts: list[Part] = []
        if self._state == "start":
            lead = self._held.lstrip()
            if lead.startswith(self._open):
                self._state, self._held = "thinking", lead[len(self._open) :]
            elif not self._open.startswith(lead):
                self._state = "answer"
            else:
                return parts
        if self._state == "thinking":
            before, closed, after = self._held.partition(self._close)
            if closed:
                self._state, self._held = "answer", after
            else:
                keep = held_back(before, (self._close,))
                before, self._held = before[: len(before) - keep], before[len(before) - keep :]
            if before:
                parts.append(Part("thinking", before))
        if self._state == "answer" and self._held:
            parts.append(Part("answer", self._held))
            self._held = ""
        return parts

    def finish(self) -> list[Part]:
        """What was held back, as what it then is."""
        text, self._held = self._held, ""
        channel: Channel = "thinking" if self._state == "thinking" else "answer"
        return [Part(channel, text)] if text else []


def held_back(text: str, wanted: tuple[str, ...]) -> int:
    """Length of the longest end of `text` with which one of `wanted` could still begin."""
    longest = max((len(w) for w in wanted), default=0) - 1
    for length in range(min(longest, len(text)), 0, -1):
        end = text[len(text) - length :]
        if any(w.startswith(end) for w in wanted):
            return length
    return 0
