"""Whether a reply is what plain decoding writes: the verdict, and all that another check needs."""

import hashlib
import json
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

from app.fields import Fields, parsed
from app.files import write_whole
from app.origins import written_from
from app.problem import Problem, ProblemError
from engine.events import Finished, Rechecked
from engine.origin import Written

Verdict: TypeAlias = Literal["same", "differs", "cannot"]
_VERDICTS: tuple[Verdict, ...] = ("same", "differs", "cannot")
_KIND = "slipstream receipt 1"  # with the version of the form
_LARGEST = 64 << 20  # bytes of a file
_MOST = 2**31


@dataclass(frozen=True, slots=True)
class Receipt:
    """The verdict about one reply.

    Attributes:
        tokens: so many were equal, from the first on.
        total: tokens of the reply.
        at: index of the first token that differs; `total` if only the end of the reply does.
        drafted: the text of that token in the reply, empty if none differs.
        plain: the text of the token that plain decoding writes there.
        gap: the distance of plain decoding's two best scores there.
        reason: why it cannot be checked, or empty.
        checked: seconds since 1970.
        before: tokens of the answer from before it was continued, which are not part of the check.
        written: what was checked; None if that is not known.
    """

    verdict: Verdict
    tokens: int
    total: int
    at: int | None
    drafted: str
    plain: str
    gap: float | None
    reason: str
    checked: float
    before: int = 0
    written: Written | None = None

    @property
    def ids_sha256(self) -> str:
        """SHA-256 of the ids, four little-endian bytes each; empty if they are not known."""
        return "" if self.written is None else digest_of(self.written)


def receipt_of(
    found: Rechecked, written: Written | None, checked: float, before: int = 0
) -> Receipt:
    """The receipt that says what a check has found."""
    verdict: Verdict = "cannot" if found.reason else "same" if found.at is None else "differs"
    return Receipt(
        verdict, found.matched, found.total, found.at, found.drafted, found.plain, found.gap,
        found.reason, checked, before, written,
    )  # fmt: skip


def written_of(finished: Finished) -> Written | None:
    """What a check of a reply needs of its summary; None for replies of earlier versions."""
    if finished.origin is None:
        return None
    return Written(
        finished.origin,
        finished.prompt_ids,
        finished.token_ids,
        finished.end_id,
        finished.passes,
    )


def digest_of(written: Written) -> str:
    """SHA-256 of the ids of a reply, its end token included."""
    ids = (*written.token_ids, *(() if written.end_id is None else (written.end_id,)))
    return hashlib.sha256(b"".join(id_.to_bytes(4, "little") for id_ in ids)).hexdigest()


def save(receipt: Receipt, path: Path) -> None:
    """Write a receipt to a file, whole or not at all.

    Args:
        receipt: of `Check.result` or `Chat.message`; `Chat.messages` leaves the prompt out.
        path: of the file.

    Raises:
        ProblemError: it could not be written.
    """
    assert receipt.written is None or receipt.written.prompt_ids, "a receipt without its prompt"
    try:
        write_whole(path, receipt_to_json(receipt).encode())
    except OSError as error:
        raise ProblemError(Problem.from_exception(error)) from error


def receipt_to_json(receipt: Receipt) -> str:
    """A receipt as text; `receipt_from_json` reads it."""
    plain = {"kind": _KIND, **asdict(receipt), "ids_sha256": receipt.ids_sha256}
    return json.dumps({**plain, "seal": _seal(plain)})


def receipt_from_json(content: bytes | str) -> Receipt:
    """The receipt in the content of a file.

    Raises:
        ProblemError: it is no receipt, or not what was written.
    """
    try:
        values = parsed(content)
    except ValueError:
        raise _refused("is no receipt: it is not JSON") from None
    if not isinstance(values, dict):
        raise _refused("is no receipt of Slipstream")
    plain = cast("dict[str, Any]", values)  # Any: JSON from outside
    if plain.get("kind") != _KIND:
        raise _refused("is no receipt of this version of Slipstream")
    seal = plain.pop("seal", None)
    if seal != _seal(plain):
        raise _refused("is damaged: its checksum is wrong")
    fields_ = Fields(plain)
    receipt = verdict_from(fields_)
    if plain.get("written") is not None:
        receipt = replace(receipt, written=written_from(fields_.part("written")))
    fields_.need("written", "ids_sha256")
    if not fields_.complaints and fields_.text("ids_sha256") != receipt.ids_sha256:
        fields_.complaints.append("ids_sha256 belongs to other ids.")
    if fields_.complaints:
        raise _refused(f"is damaged: {fields_.complaints[0].rstrip('.')}")
    return receipt


def read(path: Path) -> Receipt:
    """The receipt in a file.

    Raises:
        ProblemError: it cannot be read, or holds no receipt.
    """
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST + 1)
    except OSError as error:
        raise ProblemError(Problem.from_exception(error)) from error
    if len(content) > _LARGEST:
        raise _refused("is too large for a receipt")
    return receipt_from_json(content)


def verdict_from(fields_: Fields) -> Receipt:
    """A receipt from its fields, all but what was checked; complaints are those of `fields_`."""
    fields_.need(*(field.name for field in fields(Receipt) if field.name != "written"))
    return Receipt(
        fields_.choice("verdict", "cannot", _VERDICTS),
        fields_.integer("tokens", 0, 0, _MOST),
        fields_.integer("total", 0, 0, _MOST),
        fields_.optional("at", 0, _MOST),
        fields_.text("drafted"),
        fields_.text("plain"),
        fields_.optional_number("gap", 0, 1e30),
        fields_.text("reason"),
        fields_.number("checked", 0, 0, 1e12),
        fields_.integer("before", 0, 0, _MOST),
    )


def _seal(plain: dict[str, Any]) -> str:
    """SHA-256 of a receipt's JSON in its canonical form."""
    canonical = json.dumps(plain, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def _refused(reason: str) -> ProblemError:
    return ProblemError(
        Problem(
            "This receipt cannot be read",
            f"The file {reason}.",
            "Nothing was changed.",
            "Choose another file",
        )
    )
