"""Text to ids and back, and a conversation to the ids of its prompt."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any, cast

from tokenizers import Tokenizer as Vocabulary

from engine.errors import ModelRefused, TemplateRefused
from engine.request import Turn
from engine.templates import TemplateRenderer, folded
from engine.thinking import TAGS

_PRIVATE = range(0xE000, 0xF900)  # Unicode's private use area


@dataclass(frozen=True, slots=True)
class Prompt:
    """A conversation as ids.

    Attributes:
        stable: how many leading ids the next turn's prompt surely begins with.
        opens_thinking: the prompt ends inside an opening thinking tag.
        notes: what had to be changed to fit the template, one sentence each.
    """

    ids: tuple[int, ...]
    stable: int
    opens_thinking: bool = False
    notes: tuple[str, ...] = ()


class Tokenizer:
    """The vocabulary of one model folder and its chat template."""

    def __init__(
        self, vocabulary: Vocabulary, settings: dict[str, Any], template: str, ends: frozenset[int]
    ) -> None:
        self._vocabulary, self._template = vocabulary, template
        self._settings = settings
        self.end_ids = ends
        self._renderer = TemplateRenderer()
        added = vocabulary.get_added_tokens_decoder()
        self._control = {str(t.content): i for i, t in added.items() if t.special}
        self._added = {i: str(t.content) for i, t in added.items()}
        layout = cast("dict[str, Any]", json.loads(vocabulary.to_str()))
        self.is_byte_level = _is_byte_level(layout.get("decoder"))
        self.fingerprint = hashlib.sha256(
            json.dumps(layout.get("model"), sort_keys=True).encode()
        ).hexdigest()
        self._bytes = _byte_alphabet() if self.is_byte_level else {}

    @classmethod
    def open(cls, folder: Path, config: dict[str, Any]) -> "Tokenizer":
        """Read tokenizer.json and its companions.

        Raises:
            ModelRefused: there is no tokenizer, or it cannot be read.
        """
        try:
            vocabulary = Vocabulary.from_file(str(folder / "tokenizer.json"))
        except Exception as error:  # noqa: BLE001 - the library raises plain Exception
            missing = not (folder / "tokenizer.json").is_file()
            reason = "is missing" if missing else f"cannot be read ({error})"
            raise ModelRefused(
                "tokenizer",
                f"tokenizer.json {reason}.",
                safe="Nothing was loaded.",
                action="Download this model again, or choose another copy.",
            ) from None
        settings = _json(folder / "tokenizer_config.json")
        ends = _ends(vocabulary, settings, config, _json(folder / "generation_config.json"))
        tokenizer = cls(vocabulary, settings, _template(folder, settings), ends)
        if tokenizer.has_template:
            tokenizer._renderer.start()
        return tokenizer

    @property
    def has_template(self) -> bool:
        """Whether the model says how a conversation is written."""
        return bool(self._template)

    @property
    def thinking_tags(self) -> tuple[str, str] | None:
        """The tags around thinking that the template or the vocabulary knows."""
        known = TAGS[0] in self._template or TAGS[0] in self._added.values()
        return TAGS if known else None

    @property
    def vocab_size(self) -> int:
        """Ids of the vocabulary, added tokens included."""
        return self._vocabulary.get_vocab_size(with_added_tokens=True)

    def encode(self, text: str) -> list[int]:
        """Ids of ordinary text: control tokens in it are text too, and none is added."""
        self._vocabulary.encode_special_tokens = True
        return self._vocabulary.encode(text, add_special_tokens=False).ids

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ids, control tokens included."""
        return self._vocabulary.decode(list(ids), skip_special_tokens=False)

    def piece(self, token: int) -> bytes:
        """The bytes of one token of a byte-level vocabulary; an unknown id has none."""
        if token in self._added:
            return self._added[token].encode()
        written = self._vocabulary.id_to_token(token)
        if written is None:
            return b""
        if any(c not in self._bytes for c in written):
            return written.encode()
        return bytes(self._bytes[c] for c in written)

    def close(self) -> None:
        """End the template worker."""
        self._renderer.close()

    def prompt(
        self,
        turns: Sequence[Turn],
        *,
        continue_last: bool = False,
        thinking: bool | None = None,
    ) -> Prompt:
        """The ids of a conversation, up to where the model goes on.

        Raises:
            TemplateRefused: there is no template, or it cannot render the conversation.
        """
        if not self._template:
            raise TemplateRefused(
                "no_template",
                "This model has no chat format, so it cannot tell who said what.",
                safe="Your message is kept.",
                action="Choose a model that was made for chat.",
            )
        unfinished = ""
        if continue_last and turns and turns[-1].role == "assistant":
            *turns, last = turns
            unfinished = last.text
        shield = _Shield([*(t.text for t in turns), unfinished], self._control)
        shielded = [Turn(t.role, shield.hide(t.text)) for t in turns]
        text, stable_text, notes = self._rendered(shielded, thinking)
        opens = text.rstrip().endswith(TAGS[0])
        ids = self._ids(text + shield.hide(unfinished), shield)
        stable = _common(ids, self._ids(stable_text, shield))
        return Prompt(ids, stable, opens and not unfinished, notes)

    def _rendered(
        self, turns: Sequence[Turn], thinking: bool | None
    ) -> tuple[str, str, tuple[str, ...]]:
        """The text with and without the header of the reply; roles are folded if they must be."""
        variables: dict[str, Any] = {
            name: _content(self._settings.get(name))
            for name in ("bos_token", "eos_token", "pad_token", "unk_token")
        }
        if thinking is not None:
            variables["enable_thinking"] = thinking

        def render(turns: Sequence[Turn], *, header: bool) -> str:
            messages = [{"role": t.role, "content": t.text} for t in turns]
            return self._renderer.render(
                self._template,
                {**variables, "messages": messages, "add_generation_prompt": header},
            )

        try:
            text, notes = render(turns, header=True), ()
            whole = all(t.text.strip() in text for t in turns if t.role != "assistant")
        except TemplateRefused:
            whole, text, notes = False, "", ()
        if not whole:
            turns = folded(turns)
            text = render(turns, header=True)
            notes = ("The model takes no such roles: their text was joined with the next turn.",)
        return text, render(turns, header=False), notes

    def _ids(self, text: str, shield: "_Shield") -> tuple[int, ...]:
        """Encode a rendered text; what stands for hidden control tokens becomes ordinary text."""
        if not shield.used:
            self._vocabulary.encode_special_tokens = False
            return tuple(self._vocabulary.encode(text, add_special_tokens=False).ids)
        ids: list[int] = []
        for part, control in shield.parts(text):
            if control is not None:
                ids.append(control)
            elif part:
                ids += self.encode(part)
        return tuple(ids)


class _Shield:
    """Hides control tokens in the texts of turns while the template's own stay recognisable."""

    def __init__(self, texts: Sequence[str], control: dict[str, int]) -> None:
        self._control = control
        everything = "".join(texts)
        found = sorted((c for c in control if c in everything), key=len, reverse=True)
        self.used = bool(found)
        free = (chr(p) for p in _PRIVATE if chr(p) not in everything)
        self._marks = {c: next(free) for c in found}

    def hide(self, text: str) -> str:
        """`text` with a private character for each control token."""
        for control, mark in self._marks.items():
            text = text.replace(control, mark)
        return text

    def parts(self, text: str) -> Iterable[tuple[str, int | None]]:
        """Ordinary text, hidden tokens written out, and the ids of the template's own tokens."""
        while text:
            at, _, control = min(
                ((i, -len(c), c) for c in self._control if (i := text.find(c)) >= 0),
                default=(len(text), 0, ""),
            )
            yield self._written_out(text[:at]), None
            if control:
                yield "", self._control[control]
            text = text[at + len(control) :]

    def _written_out(self, text: str) -> str:
        for control, mark in self._marks.items():
            text = text.replace(mark, control)
        return text


def _template(folder: Path, settings: dict[str, Any]) -> str:
    """The chat template: a file of its own, or in the settings, where it may be one of several."""
    file = folder / "chat_template.jinja"
    if file.is_file():
        return file.read_text(encoding="utf-8", errors="replace")
    found = settings.get("chat_template")
    if isinstance(found, list):
        several = [
            cast("dict[str, Any]", t) for t in cast("list[Any]", found) if isinstance(t, dict)
        ]
        found = next((t.get("template") for t in several if t.get("name") == "default"), None)
    return found if isinstance(found, str) else ""


def _ends(
    vocabulary: Vocabulary,
    settings: dict[str, Any],
    config: dict[str, Any],
    generation: dict[str, Any],
) -> frozenset[int]:
    """Every id that ends a reply, wherever the folder names one."""
    ends: set[int] = set()
    for source in (config, generation):
        named: Any = source.get("eos_token_id")
        several = cast("list[Any]", named if isinstance(named, list) else [named])
        ends.update(i for i in several if isinstance(i, int))
    token = vocabulary.token_to_id(_content(settings.get("eos_token")))
    return frozenset(ends if token is None else {*ends, token})


def _content(token: object) -> str:
    """A special token's text; older files write it as an object."""
    if isinstance(token, dict):
        token = cast("dict[str, Any]", token).get("content")
    return token if isinstance(token, str) else ""


def _json(file: Path) -> dict[str, Any]:
    """An object from a file; a missing or broken companion says nothing."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def _is_byte_level(decoder: object) -> bool:
    if not isinstance(decoder, dict):
        return False
    layout = cast("dict[str, Any]", decoder)
    if layout.get("type") == "Sequence":
        parts = cast("list[Any]", layout.get("decoders") or [])
        return len(parts) == 1 and _is_byte_level(parts[0])
    return layout.get("type") == "ByteLevel"


def _byte_alphabet() -> dict[str, int]:
    """The printable character for each byte in byte-level BPE (GPT-2's table), inverted."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    table = {chr(b): b for b in printable}
    others = (b for b in range(256) if b not in printable)
    return table | {chr(256 + i): b for i, b in enumerate(others)}


def _common(a: Sequence[int], b: Sequence[int]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False)))
