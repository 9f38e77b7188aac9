"""Text to ids and back, and a conversation to the ids of its prompt."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from tokenizers.decoders import Decoder

from engine.chat_format import ChatFormat
from engine.control_tokens import ControlTokens, common
from engine.errors import TemplateRefused
from engine.request import Turn
from engine.thinking import TAGS
from engine.tokenizer_files import TextFiles


@dataclass(frozen=True, slots=True)
class Prompt:
    """A conversation as ids.

    Attributes:
        stable: how many leading ids the next turn's prompt begins with, whatever the reply is.
        opens_thinking: the prompt ends inside an opening thinking tag.
        notes: what had to be changed to fit the template, one sentence each.
    """

    ids: tuple[int, ...]
    stable: int
    opens_thinking: bool = False
    notes: tuple[str, ...] = ()


class Tokenizer:
    """The vocabulary of one model folder and its chat template."""

    def __init__(self, files: TextFiles) -> None:
        self._vocabulary = files.vocabulary
        self._template = files.template
        self.end_ids = files.end_ids
        self._format = ChatFormat(files.template, files.special)
        self._control = ControlTokens(files.vocabulary, files.template)
        layout = _layout(files.vocabulary.decoder)
        self.is_byte_level = _is_byte_level(layout)
        self._falls_back = "ByteFallback" in str(layout)
        self._alphabet = _byte_alphabet() if self.is_byte_level else {}

    @classmethod
    def open(cls, folder: Path, config: dict[str, Any]) -> "Tokenizer":
        """Read tokenizer.json and its companions.

        Raises:
            ModelRefused: there is no tokenizer, or it cannot be read.
        """
        tokenizer = cls(TextFiles.read(folder, config))
        if tokenizer.has_template:
            tokenizer._format.start()
        return tokenizer

    @property
    def has_template(self) -> bool:
        """Whether the model says how a conversation is written."""
        return bool(self._template)

    @cached_property
    def thinking_tags(self) -> tuple[str, str] | None:
        """The tags around thinking that the template writes or the vocabulary knows."""
        known = {str(t.content) for t in self._vocabulary.get_added_tokens_decoder().values()}
        for pair in TAGS:
            if any(tag in self._template or tag in known for tag in pair):
                return pair
        return None

    @property
    def vocab_size(self) -> int:
        """Ids of the vocabulary, added tokens included."""
        return self._vocabulary.get_vocab_size(with_added_tokens=True)

    @cached_property
    def fingerprint(self) -> str:
        """Equal for two folders whose pieces have the same ids."""
        layout = cast("dict[str, Any]", json.loads(self._vocabulary.to_str()))
        return hashlib.sha256(json.dumps(layout["model"], sort_keys=True).encode()).hexdigest()

    def encode(self, text: str) -> list[int]:
        """Ids of ordinary text: control tokens in it are text too, and none is added."""
        return self._control.encode_as_text(_sound(text))

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ids, control tokens included."""
        return self._vocabulary.decode(list(ids), skip_special_tokens=False)

    def piece(self, token: int) -> bytes:
        """The bytes that decoding makes of one token; an unknown id has none."""
        written = self._vocabulary.id_to_token(token)
        if written is None:
            return b""
        if self._falls_back and (byte := _byte_of(written)) is not None:
            return bytes([byte])
        if not self.is_byte_level:
            return self.decode([token]).encode()
        if any(c not in self._alphabet for c in written):
            return written.encode()
        return bytes(self._alphabet[c] for c in written)

    def byte(self, token: int) -> int | None:
        """The byte that a token of a vocabulary with single bytes stands for, else None."""
        if not self._falls_back:
            return None
        return _byte_of(self._vocabulary.id_to_token(token) or "")

    def knows(self, token: int) -> bool:
        """Whether decoding makes anything of `token`."""
        return self._vocabulary.id_to_token(token) is not None

    def close(self) -> None:
        """End the template worker."""
        self._format.close()

    def prompt(
        self,
        turns: Sequence[Turn],
        *,
        continue_last: bool = False,
        thinking: bool | None = None,
        plain_text: bool = False,
    ) -> Prompt:
        """The ids of a conversation, up to where the model goes on.

        Without a template and with `plain_text` they are the ids of the turns' text.

        Raises:
            TemplateRefused: there is no template, or it cannot render the conversation.
        """
        if not self._template:
            if plain_text:
                return self._plain(turns)
            raise TemplateRefused(
                "no_template",
                "This model has no chat format, so it cannot tell who said what.",
                safe="Your message is kept.",
                action="Write on as plain text, or choose a model that was made for chat.",
            )
        turns = [Turn(t.role, _sound(t.text)) for t in turns]
        shield = self._control.hiding((t.text for t in turns), self._template)
        turns = [Turn(t.role, shield.hide(t.text)) for t in turns]
        unfinished = ""
        if continue_last and turns and turns[-1].role == "assistant":
            unfinished = turns.pop().text
        rendered = self._format.render(turns, unfinished, thinking)
        tags = self.thinking_tags or TAGS[0]
        text = rendered.text
        opens = text.rstrip().endswith(tags[0])
        if unfinished:
            text += f"\n{tags[1]}\n\n{unfinished}" if opens else unfinished
        # What the prompts share is encoded once, up to a token at which the rest starts anew.
        shared = min((common(text, other) for other in rendered.others), default=0)
        cut = self._control.last(text, shared)
        start = self._control.encode(text[:cut], shield)
        end = self._control.encode(text[cut:], shield)
        ends = [self._control.encode(other[cut:], shield) for other in rendered.others]
        stable = len(start) + min(common(end, e) for e in ends) if ends else 0
        return Prompt((*start, *end), stable, opens and not unfinished, rendered.notes)

    def _plain(self, turns: Sequence[Turn]) -> Prompt:
        """The turns as one text: a reply goes on right where the turn before it ended."""
        text = ""
        for turn in turns:
            text += turn.text if turn.role == "assistant" or not text else f"\n\n{turn.text}"
        start = [i for i in self._vocabulary.encode("").ids if i not in self.end_ids]
        ids = (*start, *self.encode(text))
        return Prompt(ids, len(ids))


def _sound(text: str) -> str:
    """`text` as Unicode that can be encoded: lone halves of surrogate pairs are replaced."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _layout(decoder: Decoder | None) -> dict[str, Any]:
    """How a decoder is made, as tokenizer.json writes it."""
    state = cast("Any", decoder).__getstate__() if decoder is not None else "{}"
    return cast("dict[str, Any]", json.loads(state))


def _is_byte_level(layout: dict[str, Any]) -> bool:
    if layout.get("type") == "Sequence":
        parts = cast("list[dict[str, Any]]", layout.get("decoders") or [])
        return len(parts) == 1 and _is_byte_level(parts[0])
    return layout.get("type") == "ByteLevel"


def _byte_of(written: str) -> int | None:
    """230 for "<0xE6>", the way vocabularies write single bytes."""
    if len(written) == 6 and written.startswith("<0x") and written.endswith(">"):
        try:
            return int(written[3:5], 16)
        except ValueError:
            return None
    return None


def _byte_alphabet() -> dict[str, int]:
    """The printable character for each byte in byte-level BPE (GPT-2's table), inverted."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    table = {chr(b): b for b in printable}
    others = (b for b in range(256) if b not in printable)
    return table | {chr(256 + i): b for i, b in enumerate(others)}
