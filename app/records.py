"""The compact form in which a message keeps its rounds, marks and spans.

A trace is a row of parts, so that a growing reply only ever appends. A part is a version byte,
compressed columns, and a CRC-32 of all before it. Columns are little-endian: counts and ids in 32
bits, times and gaps as doubles, so that what is read is equal to what was written.
"""

import json
import zlib
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, islice
from typing import TypeAlias, get_args

from app.conversation import DraftMark
from engine.events import DraftState, Mode, Round

Span: TypeAlias = tuple[int, int, int]
Record: TypeAlias = "Round | DraftMark | Span"

_VERSION = 1
_MODE, _RECHECK, _REJECTED, _TARGET, _GAP = 3, 4, 8, 16, 32  # of a round's flags
_MODES: tuple[Mode, ...] = get_args(Mode)
_STATES: tuple[DraftState, ...] = get_args(DraftState)


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
    rounds = [r for r in records if isinstance(r, Round)]
    marks = [r for r in records if isinstance(r, DraftMark)]
    spans = [r for r in records if isinstance(r, tuple)]
    columns = (
        ids_to_bytes((len(rounds), len(spans))),
        _rounds_to_bytes(rounds),
        _spans_to_bytes(spans),
        json.dumps([[m.after_round, m.state, m.reason] for m in marks]).encode(),
    )
    body = bytes([_VERSION]) + zlib.compress(b"".join(columns))
    return body + zlib.crc32(body).to_bytes(4, "little")


def unpacked(parts: Iterable[bytes]) -> Trace:
    """The trace whose parts are `parts`.

    Raises:
        UnreadableError: a part is not what was written.
    """
    rounds: list[Round] = []
    marks: list[DraftMark] = []
    spans: list[Span] = []
    for part in parts:
        if len(part) < 5 or zlib.crc32(part[:-4]) != int.from_bytes(part[-4:], "little"):
            raise UnreadableError("A part whose checksum is wrong.")
        if part[0] != _VERSION:
            raise UnreadableError(f"A part of version {part[0]}.")
        try:
            reader = _Reader(zlib.decompress(part[1:-4]))
            round_count, span_count = reader.ints(2)
            rounds += _rounds(reader, round_count)
            spans += _spans(reader, span_count)
            marks += [
                DraftMark(after, _STATES[_STATES.index(state)], reason)
                for after, state, reason in json.loads(reader.rest())
            ]
        except (zlib.error, ValueError, TypeError, IndexError) as error:
            raise UnreadableError(f"A part with wrong content: {error}") from error
    return Trace(tuple(rounds), tuple(marks), tuple(spans))


def ids_to_bytes(ids: Iterable[int]) -> bytes:
    """Whole numbers below 2**32, four bytes each."""
    return array("I", ids).tobytes()


def ids_from_bytes(body: bytes) -> tuple[int, ...]:
    """The numbers that `ids_to_bytes` wrote.

    Raises:
        ValueError: the length is not a multiple of four.
    """
    ids = array("I")
    ids.frombytes(body)
    return tuple(ids)


def _rounds_to_bytes(rounds: Sequence[Round]) -> bytes:
    same = [_common(r.proposed_ids, r.committed_ids) for r in rounds]
    counts = chain(
        (r.index for r in rounds),
        (r.accepted for r in rounds),
        (r.width for r in rounds),
        (len(r.proposed_ids) for r in rounds),
        same,
        (len(r.committed_ids) - k for r, k in zip(rounds, same, strict=True)),
    )
    ids: list[int] = []
    for r, k in zip(rounds, same, strict=True):
        ids += r.proposed_ids
        ids += r.committed_ids[k:]
        ids += [id_ for id_ in (r.rejected_id, r.target_id) if id_ is not None]
    gaps = (r.gap for r in rounds if r.gap is not None)
    times = array("d", chain((r.verify_ms for r in rounds), (r.draft_ms for r in rounds), gaps))
    flags = bytes(map(_flags, rounds))
    return flags + ids_to_bytes(counts) + ids_to_bytes([len(ids), *ids]) + times.tobytes()


def _flags(r: Round) -> int:
    return (
        _MODES.index(r.mode)
        | _RECHECK * r.recheck
        | _REJECTED * (r.rejected_id is not None)
        | _TARGET * (r.target_id is not None)
        | _GAP * (r.gap is not None)
    )


def _common(one: Sequence[int], other: Sequence[int]) -> int:
    """How many ids the two begin with alike."""
    for at, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return at
    return min(len(one), len(other))


def _rounds(reader: "_Reader", count: int) -> Iterator[Round]:
    flags = reader.take(count)
    index, accepted, width = reader.ints(count), reader.ints(count), reader.ints(count)
    proposed_counts, same, tail = reader.ints(count), reader.ints(count), reader.ints(count)
    ids = iter(reader.ints(*reader.ints(1)))
    verify, draft = reader.doubles(count), reader.doubles(count)
    gaps = iter(reader.doubles(sum(flag & _GAP != 0 for flag in flags)))
    for at, flag in enumerate(flags):
        proposed = tuple(islice(ids, proposed_counts[at]))
        yield Round(
            index[at],
            _MODES[flag & _MODE],
            proposed,
            accepted[at],
            (*proposed[: same[at]], *islice(ids, tail[at])),
            next(ids) if flag & _REJECTED else None,
            next(ids) if flag & _TARGET else None,
            next(gaps) if flag & _GAP else None,
            draft[at],
            verify[at],
            width[at],
            flag & _RECHECK != 0,
        )


def _spans_to_bytes(spans: Sequence[Span]) -> bytes:
    """Differences, which compress well: a span begins where the one before it ended."""
    ends = [0, *(end for _, end, _ in spans)]
    tokens = [0, *(token for _, _, token in spans)]
    steps = chain(
        (start - before for (start, _, _), before in zip(spans, ends, strict=False)),
        (end - before for (_, end, _), before in zip(spans, ends, strict=False)),
        (token - before for (_, _, token), before in zip(spans, tokens, strict=False)),
    )
    return array("q", steps).tobytes()


def _spans(reader: "_Reader", count: int) -> Iterator[Span]:
    starts, ends, tokens = reader.longs(count), reader.longs(count), reader.longs(count)
    absolute = list(accumulate(ends, initial=0))
    begun = (before + start for before, start in zip(absolute, starts, strict=False))
    return zip(begun, absolute[1:], accumulate(tokens), strict=True)


class _Reader:
    """Takes columns off the front of bytes."""

    def __init__(self, body: bytes) -> None:
        self._body, self._at = body, 0

    def take(self, count: int) -> bytes:
        """The next `count` bytes."""
        self._at += count
        if self._at > len(self._body):
            raise ValueError("It ends too soon.")
        return self._body[self._at - count : self._at]

    def ints(self, count: int) -> "array[int]":
        """The next `count` whole numbers of 32 bits."""
        return array("I", self.take(4 * count))

    def longs(self, count: int) -> "array[int]":
        """The next `count` whole numbers of 64 bits, with signs."""
        return array("q", self.take(8 * count))

    def doubles(self, count: int) -> "array[float]":
        """The next `count` doubles."""
        return array("d", self.take(8 * count))

    def rest(self) -> bytes:
        """All that is left."""
        return self._body[self._at :]
