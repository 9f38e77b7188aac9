"""The compact form in which a message keeps the engine's summary of its reply.

A prompt repeats what was said before it, so its ids are cut into pieces that are kept once for each
conversation, under a digest of their content.
"""

import json
import zlib
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from hashlib import blake2b
from typing import Any, TypeAlias

from app.fields import Fields, parsed
from app.origins import origin_from
from app.records import UnreadableError, ids_from_bytes, ids_to_bytes
from engine.events import Finished
from engine.origin import Origin

PIECE_IDS = 256
_DIGEST = 8  # bytes
_KEPT_APART = ("prompt_ids", "token_ids", "text", "thinking", "origin")

Piece: TypeAlias = Callable[[bytes], bytes | None]


@dataclass(frozen=True, slots=True)
class Summary:
    """A summary to be kept: its own bytes, and the pieces of its prompt by digest."""

    body: bytes
    pieces: dict[bytes, bytes]


def packed_summary(finished: Finished, text: str, thinking: str) -> Summary:
    """`finished` without the `text` and `thinking` that its message keeps anyway."""
    plain = {
        field.name: getattr(finished, field.name)  # asdict would copy every id
        for field in fields(Finished)
        if field.name not in _KEPT_APART
    }
    if finished.origin is not None:
        plain["origin"] = asdict(finished.origin)
    if finished.text != text:
        plain["text"] = finished.text
    if finished.thinking != thinking:
        plain["thinking"] = finished.thinking
    digests: list[bytes] = []
    pieces: dict[bytes, bytes] = {}
    for start in range(0, len(finished.prompt_ids), PIECE_IDS):
        ids = ids_to_bytes(finished.prompt_ids[start : start + PIECE_IDS])
        digests.append(_digest(ids))
        pieces[digests[-1]] = zlib.compress(ids)
    head = json.dumps(plain | {"pieces": len(digests)}).encode()
    return Summary(
        zlib.compress(b"".join((head, b"\0", *digests, ids_to_bytes(finished.token_ids)))), pieces
    )


def unpacked_summary(body: bytes, text: str, thinking: str, piece: Piece | None = None) -> Finished:
    """The summary of a message that keeps `text` and `thinking`.

    `piece` finds a piece of the prompt by its digest; without it `prompt_ids` stays empty.

    Raises:
        UnreadableError: it is not what was written.
    """
    try:
        head, _, tail = zlib.decompress(body).partition(b"\0")
        values = parsed(head)
        if not isinstance(values, dict):
            raise UnreadableError("A summary that is not an object.")
        kept: dict[str, Any] = {"text": text, "thinking": thinking, **values}  # Any: JSON
        cut = _DIGEST * kept.pop("pieces")
        digests = [tail[at : at + _DIGEST] for at in range(0, cut, _DIGEST)]
        known = {field.name for field in fields(Finished)}
        return Finished(
            prompt_ids=_prompt(digests, piece) if piece else (),
            token_ids=ids_from_bytes(tail[cut:]),
            origin=_origin(kept.pop("origin", None)),
            **{key: _frozen(value) for key, value in kept.items() if key in known},
        )
    except (zlib.error, ValueError, TypeError, KeyError) as error:
        raise UnreadableError(f"A summary: {error}") from error


def _origin(values: object) -> Origin | None:
    if values is None:
        return None
    fields_ = Fields(values, "origin")
    origin = origin_from(fields_)
    if fields_.complaints:
        raise UnreadableError(fields_.complaints[0])
    return origin


def _prompt(digests: list[bytes], piece: Piece) -> tuple[int, ...]:
    ids: list[int] = []
    for digest in digests:
        found = piece(digest)
        body = b"" if found is None else zlib.decompress(found)
        if _digest(body) != digest:
            raise UnreadableError("A piece of the prompt is not what was written.")
        ids += ids_from_bytes(body)
    return tuple(ids)


def _digest(ids: bytes) -> bytes:
    return blake2b(ids, digest_size=_DIGEST).digest()


def _frozen(value: Any) -> Any:  # noqa: ANN401  JSON
    return tuple(map(_frozen, value)) if isinstance(value, list) else value  # pyright: ignore  JSON
