"""Rows of the store turned into values; what cannot be read is named, and the rest stands."""

import json
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from app.conversation import Conversation, Failure, Message, MessageState, Settings
from app.fields import Fields, parsed
from app.kept_receipts import unpacked_receipt
from app.receipts import Receipt, written_of
from app.records import Trace, UnreadableError, unpacked
from app.settings import settings_from
from app.summary import Piece, unpacked_summary
from app.tree import Place
from engine.events import Finished

CONVERSATION = "id, title, created, updated, pinned, settings"
MESSAGE = (
    "id, conversation, role, state, created, text, thinking, thinking_s, finished, failure, seal,"
    " receipt"
)
WORDS = MESSAGE.replace("finished, failure", "NULL, NULL").replace("receipt", "NULL")
_STATES: tuple[MessageState, ...] = get_args(MessageState)


@dataclass(frozen=True, slots=True)
class Damage:
    """A field of a record that is not what was written, with the bytes that are there."""

    field: str
    reason: str
    body: bytes


def seal(role: str, text: str, thinking: str) -> int:
    """What a message's row keeps to notice that its words have changed."""
    return zlib.crc32("\0".join((role, text, thinking)).encode("utf-8", "surrogatepass"))


def conversation_from(row: Sequence[Any]) -> tuple[Conversation, list[Damage]]:
    """A conversation from its row, whose texts are bytes, and what was wrong with it."""
    damages: list[Damage] = []
    title = _text(row[1], "title", damages)
    settings = Settings()
    body = _bytes(row[5])
    try:
        fields = Fields(parsed(body))
        settings = settings_from(fields)
        if fields.complaints:
            damages.append(Damage("settings", " ".join(fields.complaints), body))
    except ValueError as error:
        damages.append(Damage("settings", str(error), body))
    created, updated = _number(row[2]), _number(row[3])
    return Conversation(row[0], title, created, updated, bool(row[4]), settings), damages


def message_from(
    row: Sequence[Any], parts: Sequence[Any], place: Place, piece: Piece | None = None
) -> tuple[Message, list[Damage]]:
    """A message from its row and the parts of its trace, and what was wrong with them.

    `piece` finds the pieces of its prompt; without it the prompt is left out.
    """
    damages: list[Damage] = []
    role_text, state_text = _text(row[2], "role", damages), _text(row[3], "state", damages)
    text, thinking = _text(row[5], "text", damages), _text(row[6], "thinking", damages)
    if not damages and seal(role_text, text, thinking) != row[10]:
        damages.append(Damage("text", "The checksum is wrong.", _bytes(row[5])))
    if not damages and state_text not in _STATES:
        damages.append(Damage("state", "An unknown word.", _bytes(row[3])))
    role: Literal["user", "assistant"] = "user" if role_text == "user" else "assistant"
    state: MessageState = "damaged"
    for known in _STATES:
        state = known if known == state_text else state
    trace = _trace(parts, damages) if not damages else Trace()
    finished = _summary(row[8], (text, thinking), piece, damages)
    message = Message(
        id=row[0],
        conversation=row[1],
        parent=place.parent,
        role=role,
        text=text,
        state="damaged" if any(d.field in _WORDS for d in damages) else state,
        created=_number(row[4]),
        thinking=thinking,
        thinking_s=row[7] if isinstance(row[7], float) else None,
        rounds=trace.rounds,
        marks=trace.marks,
        spans=trace.spans,
        finished=finished,
        failure=_failure(row[9], damages),
        position=place.position,
        alternatives=place.alternatives,
        receipt=_receipt(row[11], finished, damages),
    )
    return message, damages


_WORDS = {"role", "state", "text", "thinking"}


def lost_message(conversation: int, place: Place) -> Message:
    """What is shown for a message whose row cannot be read at all."""
    return Message(
        id=place.id,
        conversation=conversation,
        parent=place.parent,
        role="assistant",
        text="",
        state="damaged",
        created=0.0,
        position=place.position,
        alternatives=place.alternatives,
    )


def failure_to_text(failure: Failure | None) -> str | None:
    """A failure as the store keeps it."""
    return None if failure is None else json.dumps(asdict(failure), ensure_ascii=False)


def _trace(parts: Sequence[Any], damages: list[Damage]) -> Trace:
    try:
        return unpacked([_bytes(part) for part in parts])
    except UnreadableError as error:
        damages.append(Damage("trace", str(error), b"".join(_bytes(part) for part in parts)))
        return Trace()


def _summary(
    value: object, words: tuple[str, str], piece: Piece | None, damages: list[Damage]
) -> Finished | None:
    if value is None:
        return None
    try:
        return unpacked_summary(_bytes(value), *words, piece)
    except UnreadableError as error:
        damages.append(Damage("finished", str(error), _bytes(value)))
        return None


def _receipt(value: object, finished: Finished | None, damages: list[Damage]) -> Receipt | None:
    if value is None:
        return None
    try:
        return unpacked_receipt(_bytes(value), finished and written_of(finished))
    except UnreadableError as error:
        damages.append(Damage("receipt", str(error), _bytes(value)))
        return None


def _failure(value: object, damages: list[Damage]) -> Failure | None:
    if value is None:
        return None
    try:
        fields = Fields(parsed(_bytes(value)))
    except ValueError as error:
        damages.append(Damage("failure", str(error), _bytes(value)))
        return None
    return Failure(*(fields.text(name) for name in ("code", "message", "safe", "action")))


def _text(value: object, field: str, damages: list[Damage]) -> str:
    body = _bytes(value)
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        damages.append(Damage(field, str(error), body))
        return body.decode(errors="replace")


def _bytes(value: object) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
