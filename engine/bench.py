"""Plain against drafted decoding, in turns, in one process.

A ratio of two rates measured minutes apart says as much about the machine's other work as about the
program. So A and B alternate, each pair gives one ratio, and what is told is the least, the median
and the greatest of them, with the load of the machine.
"""

import os
import statistics
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from engine.controls import Controls
from engine.errors import EngineError
from engine.events import Event, Failed, Finished, PromptProgress, Round
from engine.request import Drafting, DraftWish, ModelChoice, Request, Turn


class Replies(Protocol):
    """What is measured: an engine."""

    def reply(self, request: Request, controls: Controls) -> Iterator[Event]:
        """Answer `request`."""
        ...

    def forget(self, conversation: str) -> None:
        """Drop what is kept of `conversation`."""
        ...


@dataclass(frozen=True, slots=True)
class Spread:
    """Repeated measurements of one thing."""

    median: float
    min: float
    max: float
    n: int

    @staticmethod
    def of(values: Sequence[float]) -> "Spread":
        """The spread of at least one value."""
        assert values
        return Spread(statistics.median(values), min(values), max(values), len(values))


@dataclass(frozen=True, slots=True)
class Timed:
    """One reply and how long it took.

    Attributes:
        first_s: seconds from the request to its first token.
        after_first_s: seconds from the first round to the end, in which `after_first` tokens came.
        decode_s: seconds from the prompt being read to the end, for all tokens.
        finished: the reply.
    """

    first_s: float
    after_first_s: float
    after_first: int
    decode_s: float
    finished: Finished

    @property
    def rate(self) -> float:
        """Tokens per second once the prompt is read."""
        return len(self.finished.token_ids) / self.decode_s


@dataclass(frozen=True, slots=True)
class Panel:
    """Prompts of one kind. `aim` is the ratio that this kind of text should reach."""

    name: str
    aim: float
    prompts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PanelResult:
    """How one panel went. Rates in tokens per second; `ratio` is plain time over drafted time.

    Attributes:
        same_tokens: whether every drafted reply had the ids of the plain one.
        first_difference: index of the first token that differed in the first reply that did.
        load: load average of the machine at the end, None where there is none.
    """

    name: str
    aim: float
    ratio: Spread
    plain: Spread
    drafted: Spread
    tokens: int
    proposed: int
    accepted: int
    tokens_per_round: float
    same_tokens: bool
    first_difference: int | None
    load: float | None


@dataclass(frozen=True, slots=True)
class Together:
    """Several panels as one."""

    ratio: Spread
    plain: Spread
    drafted: Spread


def timed(engine: Replies, request: Request) -> Timed:
    """Run one reply to its end.

    Raises:
        EngineError: it failed, or wrote nothing that could be timed.
    """
    begin = read = time.perf_counter()
    first, before = None, 0
    for event in engine.reply(request, Controls()):
        now = time.perf_counter()
        if isinstance(event, PromptProgress):
            read = now
        elif isinstance(event, Round) and first is None:
            first, before = now, len(event.committed_ids)
        elif isinstance(event, Failed):
            raise EngineError(event.code, event.message, safe=event.safe, action=event.action)
        elif isinstance(event, Finished) and first is not None:
            count = len(event.token_ids) - before
            return Timed(first - begin, now - first, count, now - read, event)
    raise EngineError("nothing_to_time", "The model ended its reply before the first token.")


def run_panel(
    engine: Replies,
    model: ModelChoice,
    panel: Panel,
    *,
    repeats: int,
    max_tokens: int,
    wish: DraftWish = "auto",
) -> Iterator[PanelResult | int]:
    """Measure one panel, plain and drafted in turns; yield repeats done, then the result.

    Raises:
        EngineError: a reply failed.
    """
    pairs: list[list[tuple[Timed, Timed]]] = []
    for done in range(repeats):
        pairs.append(
            [
                (
                    timed(engine, _request(model, prompt, "off", max_tokens)),
                    timed(engine, _request(model, prompt, wish, max_tokens)),
                )
                for prompt in panel.prompts
            ]
        )
        yield done + 1
    yield _result(panel, pairs)


def together(results: Sequence[PanelResult]) -> Together:
    """All panels as one: the ratio of each is weighed alike, rates are taken together."""
    return Together(
        _middle([r.ratio for r in results]),
        _middle([r.plain for r in results]),
        _middle([r.drafted for r in results]),
    )


def warm_up(engine: Replies, model: ModelChoice) -> None:
    """Load, and run every kernel once, so that nothing of that is measured.

    Raises:
        EngineError: the model cannot be used.
    """
    for wish in ("off", "on"):
        timed(engine, _request(model, "Say: one two three one two three.", wish, 16))


def first_difference(a: Sequence[int], b: Sequence[int]) -> int | None:
    """The first index at which two token lists part, None if they are equal."""
    for index, (x, y) in enumerate(zip(a, b, strict=False)):
        if x != y:
            return index
    return None if len(a) == len(b) else min(len(a), len(b))


def load_average() -> float | None:
    """How many processes wanted the machine in the last minute."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None


def _request(model: ModelChoice, prompt: str, wish: DraftWish, max_tokens: int) -> Request:
    return Request(
        model, (Turn("user", prompt),), drafting=Drafting(wish=wish), max_tokens=max_tokens
    )


def _result(panel: Panel, pairs: Sequence[Sequence[tuple[Timed, Timed]]]) -> PanelResult:
    every = [pair for repeat in pairs for pair in repeat]
    drafted = [d.finished for _, d in every]
    differences = [
        at
        for p, d in every
        if (at := first_difference(p.finished.token_ids, d.finished.token_ids)) is not None
    ]
    tokens = sum(len(f.token_ids) for f in drafted)
    return PanelResult(
        name=panel.name,
        aim=panel.aim,
        ratio=Spread.of([_seconds(p for p, _ in r) / _seconds(d for _, d in r) for r in pairs]),
        plain=Spread.of([p.rate for p, _ in every]),
        drafted=Spread.of([d.rate for _, d in every]),
        tokens=tokens,
        proposed=sum(f.proposed for f in drafted),
        accepted=sum(f.accepted for f in drafted),
        tokens_per_round=tokens / max(1, sum(f.rounds for f in drafted)),
        same_tokens=not differences,
        first_difference=differences[0] if differences else None,
        load=load_average(),
    )


def _middle(spreads: Sequence[Spread]) -> Spread:
    return Spread(
        statistics.median([spread.median for spread in spreads]),
        min(spread.min for spread in spreads),
        max(spread.max for spread in spreads),
        sum(spread.n for spread in spreads),
    )


def _seconds(replies: Iterable[Timed]) -> float:
    return sum(reply.decode_s for reply in replies)
