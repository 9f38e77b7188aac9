"""What the files beside a model's weights say about its text: template, special tokens, ends."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from tokenizers import Tokenizer as Vocabulary

from engine.errors import ModelRefused

_SPECIAL = ("bos_token", "eos_token", "pad_token", "unk_token")


@dataclass(frozen=True, slots=True)
class TextFiles:
    """The text side of a model folder.

    Attributes:
        template: the chat template, "" when there is none.
        special: the texts of the special tokens that a template may write, by name.
        end_ids: every id that ends a reply, wherever the folder names one.
    """

    vocabulary: Vocabulary
    template: str
    special: dict[str, str]
    end_ids: frozenset[int]

    @classmethod
    def read(cls, folder: Path, config: dict[str, Any]) -> "TextFiles":
        """Read tokenizer.json and its companions; a broken companion says nothing.

        Raises:
            ModelRefused: there is no tokenizer, or it cannot be read.
        """
        vocabulary = _vocabulary(folder)
        settings = _json(folder / "tokenizer_config.json")
        special = {name: _content(settings.get(name)) for name in _SPECIAL}
        special = {name: text for name, text in special.items() if text}
        ends: set[int] = set()
        for source in (config, _json(folder / "generation_config.json")):
            named: Any = source.get("eos_token_id")
            several = cast("list[Any]", named if isinstance(named, list) else [named])
            ends.update(i for i in several if type(i) is int)
        token = vocabulary.token_to_id(special.get("eos_token", ""))
        ends |= set() if token is None else {token}
        return cls(vocabulary, _template(folder, settings), special, frozenset(ends))


def _vocabulary(folder: Path) -> Vocabulary:
    file = folder / "tokenizer.json"
    try:
        vocabulary = Vocabulary.from_file(str(file))
    except Exception as error:  # noqa: BLE001 - the library raises plain Exception
        raise _refused(folder, str(error)) from None
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # the library's own faults are no Exception
            raise
        raise _refused(folder, str(error)) from None
    # Some files carry the lengths that a training used: a prompt would be cut without a word.
    vocabulary.no_truncation()
    vocabulary.no_padding()
    return vocabulary


def _refused(folder: Path, error: str) -> ModelRefused:
    if (folder / "tokenizer.json").is_file():
        reason = f"cannot be read ({error[:200]})"
    elif (folder / "tokenizer.model").is_file():
        reason = "is missing; tokenizer.model alone cannot be used"
    else:
        reason = "is missing"
    return ModelRefused(
        "tokenizer",
        f"tokenizer.json {reason}.",
        safe="Nothing was loaded.",
        action="Download this model again, or choose another copy.",
    )


def _template(folder: Path, settings: dict[str, Any]) -> str:
    """The chat template: a file of its own, or in the settings, where it may be one of several."""
    file = folder / "chat_template.jinja"
    if file.is_file():
        return file.read_text(encoding="utf-8", errors="replace")
    found = settings.get("chat_template") or _json(folder / "chat_template.json").get(
        "chat_template"
    )
    if isinstance(found, list):
        several = [
            cast("dict[str, Any]", t) for t in cast("list[Any]", found) if isinstance(t, dict)
        ]
        found = next((t.get("template") for t in several if t.get("name") == "default"), None)
    return found if isinstance(found, str) else ""


def _content(token: object) -> str:
    """A special token's text; older files write it as an object."""
    if isinstance(token, dict):
        token = cast("dict[str, Any]", token).get("content")
    return token if isinstance(token, str) else ""


def _json(file: Path) -> dict[str, Any]:
    """An object from a file, {} where it is missing or broken."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}
