"""The compact form in which a message keeps its rounds, marks, spans and summary.

A trace is a row of parts, so that a growing reply only ever appends; each part is a version byte,
records, and a CRC-32 of all before it. Numbers are LEB128, times and gaps are doubles, so that what
is read is equal to what was written.
"""

import json
import struct
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, TypeAlias, TypeVar, get_args

from app.conversation import DraftMark
from app.fields import parsed
from engine.events import DraftState, Finished, Mode, Round

Span: TypeAlias = tuple[int, int, int]
Record: TypeAlias = "Round | DraftMark | Span"

W = TypeVar("W")

_VERSION = 1
_ROUND, _MARK, _SPAN = 0, 1, 2  # the low two bits of a record's first byte
_RECHECK, _REJECTED, _GAP, _DRAFT = 16, 32, 64, 128  # flags of a round; bits 2 and 3 are its mode
_MODES: tuple[Mode, ...] = get_args(Mode)
_STATES: tuple[DraftState, ...] = get_args(DraftState)
_DOUBLE = struct.Struct("<d")


class UnreadableError(Exception):
    """Stored bytes that are not what was written."""


@dataclass(frozen=True, slots=True)
class Trace:
    """What a reply did, in order."""

    rounds: tuple[Round, ...] = ()
    marks: tuple[DraftMark, ...] = ()
    spans: tuple[Span, ...] = ()


def packed(records: Sequence[Record]) -> bytes:
    """One part of a trace."""
    out = bytearray([_VERSION])
    for record in records:
        if isinstance(record, Round):
            _put_round(out, record)
        elif isinstance(record, DraftMark):
            out.append(_MARK | _STATES.index(record.state) << 2)
            _put(out, record.after_round)
            _put_text(out, record.reason)
        else:
            start, end, token = record
            out.append(_SPAN)
            for number in (start, end - start, token):
                _put(out, number)
    return bytes(out) + zlib.crc32(out).to_bytes(4, "little")


def unpacked(parts: Sequence[bytes]) -> Trace:
    """The trace whose parts are `parts`.

    Raises:
        UnreadableError: a part is not what was written.
    """
    rounds: list[Round] = []
    marks: list[DraftMark] = []
    spans: list[Span] = []
    for part in parts:
        reader = _Reader(_checked(part))
        while reader.more:
            head = reader.byte()
            if head & 3 == _ROUND:
                rounds.append(_round(reader, head))
            elif head & 3 == _MARK:
                state: DraftState = _item(_STATES, head >> 2)
                marks.append(DraftMark(reader.number(), state, reader.text()))
            elif head & 3 == _SPAN:
                start = reader.number()
                spans.append((start, start + reader.number(), reader.number()))
            else:
                raise UnreadableError("A record of an unknown kind.")
    return Trace(tuple(rounds), tuple(marks), tuple(spans))


def packed_summary(finished: Finished, text: str, thinking: str) -> bytes:
    """`finished` without the `text` and `thinking` that its message keeps anyway."""
    plain = asdict(finished)
    for key, kept in (("text", text), ("thinking", thinking)):
        if plain[key] == kept:
            del plain[key]
    ids = bytearray()
    for key in ("prompt_ids", "token_ids"):
        _put_ids(ids, plain.pop(key))
    return zlib.compress(json.dumps(plain).encode() + b"\0" + ids)


def unpacked_summary(body: bytes, text: str, thinking: str) -> Finished:
    """The summary of a message that keeps `text` and `thinking`.

    Raises:
        UnreadableError: it is not what was written.
    """
    try:
        plain, _, ids = zlib.decompress(body).partition(b"\0")
        values = parsed(plain)
    except (zlib.error, ValueError) as error:
        raise UnreadableError(f"A summary: {error}") from error
    if not isinstance(values, dict):
        raise UnreadableError("A summary that is not an object.")
    known = {field.name for field in fields(Finished)}
    kept: dict[str, Any] = {"text": text, "thinking": thinking}  # Any: fields of many kinds
    kept |= {
        str(key): tuple(value) if isinstance(value, list) else value  # pyright: ignore  of JSON
        for key, value in values.items()  # pyright: ignore  JSON
        if key in known
    }
    reader = _Reader(ids)
    try:
        return Finished(prompt_ids=reader.ids(), token_ids=reader.ids(), **kept)
    except TypeError as error:
        raise UnreadableError(f"A summary: {error}") from error


def _put_round(out: bytearray, r: Round) -> None:
    wrong = r.rejected_id is not None or r.target_id is not None
    out.append(
        _ROUND
        | _MODES.index(r.mode) << 2
        | _RECHECK * r.recheck
        | _REJECTED * wrong
        | _GAP * (r.gap is not None)
        | _DRAFT * (r.draft_ms != 0)
    )
    same = 0
    for proposed, committed in zip(r.proposed_ids, r.committed_ids, strict=False):
        if proposed != committed:
            break
        same += 1
    _put(out, r.index)
    _put_ids(out, r.proposed_ids)
    _put(out, r.accepted)
    _put(out, same)
    _put_ids(out, r.committed_ids[same:])
    _put(out, r.width)
    if wrong:
        _put(out, 0 if r.rejected_id is None else r.rejected_id + 1)
        _put(out, 0 if r.target_id is None else r.target_id + 1)
    if r.gap is not None:
        out += _DOUBLE.pack(r.gap)
    if r.draft_ms != 0:
        out += _DOUBLE.pack(r.draft_ms)
    out += _DOUBLE.pack(r.verify_ms)


def _round(reader: "_Reader", head: int) -> Round:
    index, proposed, accepted = reader.number(), reader.ids(), reader.number()
    committed = (*proposed[: reader.number()], *reader.ids())
    width = reader.number()
    rejected = reader.number() - 1 if head & _REJECTED else -1
    target = reader.number() - 1 if head & _REJECTED else -1
    return Round(
        index=index,
        mode=_item(_MODES, head >> 2 & 3),
        proposed_ids=proposed,
        accepted=accepted,
        committed_ids=committed,
        rejected_id=None if rejected < 0 else rejected,
        target_id=None if target < 0 else target,
        gap=reader.double() if head & _GAP else None,
        draft_ms=reader.double() if head & _DRAFT else 0.0,
        verify_ms=reader.double(),
        width=width,
        recheck=bool(head & _RECHECK),
    )


def _put(out: bytearray, number: int) -> None:
    assert number >= 0, number
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)


def _put_ids(out: bytearray, ids: Sequence[int]) -> None:
    _put(out, len(ids))
    for id_ in ids:
        _put(out, id_)


def _put_text(out: bytearray, text: str) -> None:
    body = text.encode()
    _put(out, len(body))
    out += body


def _checked(part: bytes) -> bytes:
    if len(part) < 5 or zlib.crc32(part[:-4]) != int.from_bytes(part[-4:], "little"):
        raise UnreadableError("A part whose checksum is wrong.")
    if part[0] != _VERSION:
        raise UnreadableError(f"A part of version {part[0]}.")
    return part[1:-4]


def _item(items: tuple[W, ...], index: int) -> W:
    if index >= len(items):
        raise UnreadableError("A record with an unknown word.")
    return items[index]


class _Reader:
    """Takes numbers off the front of bytes."""

    def __init__(self, body: bytes) -> None:
        self._body, self._at = body, 0

    @property
    def more(self) -> bool:
        return self._at < len(self._body)

    def byte(self) -> int:
        if not self.more:
            raise UnreadableError("A record that ends too soon.")
        self._at += 1
        return self._body[self._at - 1]

    def take(self, count: int) -> bytes:
        if self._at + count > len(self._body):
            raise UnreadableError("A record that ends too soon.")
        self._at += count
        return self._body[self._at - count : self._at]

    def number(self) -> int:
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7

    def ids(self) -> tuple[int, ...]:
        return tuple(self.number() for _ in range(self.number()))

    def double(self) -> float:
        return _DOUBLE.unpack(self.take(8))[0]

    def text(self) -> str:
        try:
            return self.take(self.number()).decode()
        except UnicodeDecodeError as error:
            raise UnreadableError("A reason that is not text.") from error
