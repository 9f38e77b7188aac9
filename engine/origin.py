"""Where a reply came from: what is needed to write it again, and to know that nothing changed."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from typing import TypeAlias

from engine.request import Exactness, Sampling

Pass: TypeAlias = tuple[int, int]  # see `Written.passes`
_NAMES = {
    "program": "Slipstream",
    "mlx": "MLX",
    "mlx_lm": "mlx-lm",
    "backend": "The back end",
    "chip": "The chip",
    "system": "The system",
}


@dataclass(frozen=True, slots=True)
class Machine:
    """The programs and the hardware that compute; others may round otherwise.

    `program`, `mlx` and `mlx_lm` are versions, `backend` names the BLAS too.
    """

    program: str
    mlx: str
    mlx_lm: str
    backend: str
    chip: str
    system: str


@dataclass(frozen=True, slots=True)
class Origin:
    """What wrote a reply. Folders are whole paths; an id is a SHA-256 of config and weights.

    The id reads every header and a sample of every tensor, not every byte.
    """

    target: str
    target_id: str
    drafter: str | None
    drafter_id: str
    machine: Machine
    exactness: Exactness
    sampling: Sampling


@dataclass(frozen=True, slots=True)
class Written:
    """A reply as ids, with all that decoding it again needs.

    Attributes:
        end_id: the end token that ended the reply, None if something else did.
        passes: how the prompt's rows, all but the last, came into the cache: `(rows, width)` means
            that many rows by passes of `width`, of which the last was cut when it does not divide.
            Rows of earlier replies count as passes of one, as plain decoding makes them.
    """

    origin: Origin
    prompt_ids: tuple[int, ...]
    token_ids: tuple[int, ...]
    end_id: int | None
    passes: tuple[Pass, ...]


def change(then: Machine, now: Machine) -> str:
    """The first difference as a sentence, empty if there is none."""
    for field in fields(Machine):
        old, new = getattr(then, field.name), getattr(now, field.name)
        if old != new:
            return f"{_NAMES[field.name]} was {old} when this was written; it is {new} now."
    return ""


def grown(passes: Iterable[Pass], rows: int, width: int) -> tuple[Pass, ...]:
    """`passes` and `rows` more, by passes of `width`."""
    before = tuple(passes)
    if rows == 0:
        return before
    if before and before[-1][1] == width and before[-1][0] % width == 0:  # no cut pass goes on
        return (*before[:-1], (before[-1][0] + rows, width))
    return (*before, (rows, width))


def shortened(passes: Iterable[Pass], rows: int) -> tuple[Pass, ...]:
    """`passes` for the first `rows` rows; those they do not cover came in one by one."""
    kept: list[Pass] = []
    for count, width in passes:
        if rows > 0:
            kept.append((min(count, rows), width))
            rows -= min(count, rows)
    return grown(kept, rows, 1)


def steps(passes: Iterable[Pass]) -> Iterator[tuple[int, int]]:
    """Each pass as its width and how many of its rows stayed."""
    for rows, width in passes:
        for at in range(0, rows, width):
            yield width, min(width, rows - at)
