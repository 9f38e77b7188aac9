"""Committed ids to text that is safe to show, as early as it is certain.

The joined deltas equal one decode of all ids: no space is lost, no character is shown before its
bytes are complete, and none is held back once they are.
"""

import codecs
from collections.abc import Sequence
from dataclasses import dataclass

from engine.events import Channel, TextDelta
from engine.thinking import TAGS, ThinkingSplitter, held_back
from engine.tokenizer import Tokenizer

_LONGEST = 8  # pieces that one character may be spread over


@dataclass(frozen=True, slots=True)
class Pushed:
    """What a push made certain.

    Attributes:
        used: how many of the pushed ids belong to the reply; fewer when a stop string was found.
        stopped: whether it was.
    """

    deltas: tuple[TextDelta, ...]
    used: int
    stopped: bool


class TextStream:
    """The text of one reply.

    Args:
        tokenizer: of the target.
        stop: strings before which the reply ends; the earliest match wins.
        opens_thinking: the prompt ends inside an opening thinking tag.
        first_token: the reply's index of the first id that is pushed.
        prefix_ids: ids just before the reply, where it continues a text.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        stop: Sequence[str] = (),
        *,
        opens_thinking: bool = False,
        first_token: int = 0,
        prefix_ids: Sequence[int] = (),
    ) -> None:
        self._stop = tuple(s for s in stop if s)
        self._decoder = _decoder(tokenizer, prefix_ids)
        self._splitter = ThinkingSplitter(tokenizer.thinking_tags or TAGS[0], inside=opens_thinking)
        self._held = ""  # could still become a stop string
        self._next = first_token
        self._since = first_token  # the first token whose text is still held
        self._stopped = False
        self._parts: dict[Channel, list[str]] = {"answer": [], "thinking": []}
        self._raw: list[str] = []

    @property
    def answer(self) -> str:
        """The answer so far."""
        return "".join(self._parts["answer"])

    @property
    def thinking(self) -> str:
        """The thinking so far."""
        return "".join(self._parts["thinking"])

    @property
    def text(self) -> str:
        """All text so far, tags included, up to a stop string."""
        return "".join(self._raw)

    def push(self, ids: Sequence[int]) -> Pushed:
        """Take ids one by one, up to the one that completes a stop string."""
        deltas: list[TextDelta] = []
        for used, token in enumerate(ids, start=1):
            assert not self._stopped
            self._next += 1
            self._held += self._decoder.push(token)
            found = [at for s in self._stop if (at := self._held.find(s)) >= 0]
            if found:
                text, self._held = self._held[: min(found)], ""
                self._stopped = True
            else:
                keep = held_back(self._held, self._stop)
                text = self._held[: len(self._held) - keep]
                self._held = self._held[len(text) :]
            deltas += self._emit(text)
            if self._stopped:
                return Pushed(tuple(deltas), used, stopped=True)
        return Pushed(tuple(deltas), len(ids), stopped=False)

    def finish(self) -> tuple[TextDelta, ...]:
        """What was held back. Thinking that was never closed is the answer: nothing hides it."""
        text = "" if self._stopped else self._held + self._decoder.finish()
        self._held = ""
        deltas = self._emit(text)
        for part in self._splitter.finish():
            self._parts[part.channel].append(part.text)
            deltas.append(self._delta(part.channel, part.text))
        if self._splitter.unclosed and (thinking := self.thinking):
            self._parts = {"answer": [thinking], "thinking": []}
            deltas.append(self._delta("answer", thinking))
        return tuple(deltas)

    def _emit(self, text: str) -> list[TextDelta]:
        if not text:
            return []
        self._raw.append(text)
        deltas: list[TextDelta] = []
        for part in self._splitter.push(text):
            self._parts[part.channel].append(part.text)
            deltas.append(self._delta(part.channel, part.text))
        if deltas:
            self._since = self._next
        return deltas

    def _delta(self, channel: Channel, text: str) -> TextDelta:
        last = self._next - 1
        return TextDelta(channel, text, min(self._since, last), last)


class _ByteDecoder:
    """For byte-level vocabularies: every token is bytes, and UTF-8 says when they are complete."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._utf8 = codecs.getincrementaldecoder("utf-8")("replace")

    def push(self, token: int) -> str:
        return self._utf8.decode(self._tokenizer.piece(token))

    def finish(self) -> str:
        return self._utf8.decode(b"", final=True)


class _WindowDecoder:
    """For any other vocabulary: decode the new token behind the last one and take what it added.

    Single bytes are joined here. As in a decode of all ids, a byte that makes a run of them no text
    turns into a replacement sign, and so does the rest of the run; but a character of it that was
    complete has been shown by then and stays.
    """

    def __init__(self, tokenizer: Tokenizer, prefix_ids: Sequence[int]) -> None:
        self._tokenizer = tokenizer
        self._last = list(prefix_ids[-1:])  # keeps the spaces between pieces right
        self._waiting: list[int] = []  # pieces that end inside a character
        self._bytes = b""  # of a character that is not complete
        self._is_broken = False  # the run of bytes is no text

    def push(self, token: int) -> str:
        if not self._tokenizer.knows(token):
            return ""
        byte = self._tokenizer.byte(token)
        if byte is not None:
            text = self._added() + self._joined(byte)
            self._last = [token]
            return text
        text = self._end_of_bytes()
        self._waiting.append(token)
        if self._whole().endswith("\ufffd") and len(self._waiting) < _LONGEST:
            return text
        return text + self._added()

    def finish(self) -> str:
        return self._end_of_bytes() + self._added()

    def _whole(self) -> str:
        return self._tokenizer.decode([*self._last, *self._waiting])

    def _added(self) -> str:
        """What the waiting pieces add to the text; they wait no longer."""
        if not self._waiting:
            return ""
        new = self._whole()[len(self._tokenizer.decode(self._last)) :]
        self._last, self._waiting = self._waiting[-1:], []
        return new

    def _joined(self, byte: int) -> str:
        """The character that `byte` completes, if it does."""
        if self._is_broken:
            return "\ufffd"
        self._bytes += bytes([byte])
        try:
            text = self._bytes.decode()
        except UnicodeDecodeError as error:
            if error.reason == "unexpected end of data":
                return ""
            self._is_broken = True
            text = "\ufffd" * len(self._bytes)
        self._bytes = b""
        return text

    def _end_of_bytes(self) -> str:
        text = "\ufffd" * len(self._bytes)
        self._bytes, self._is_broken = b"", False
        return text


def _decoder(tokenizer: Tokenizer, prefix_ids: Sequence[int]) -> _ByteDecoder | _WindowDecoder:
    if tokenizer.is_byte_level:
        return _ByteDecoder(tokenizer)
    return _WindowDecoder(tokenizer, prefix_ids)
