"""The sums that the inspector shows, over one answer or over a conversation."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from app.conversation import Message
from engine.events import Finished, Round


@dataclass(frozen=True, slots=True)
class Figures:
    """Counts and times that can be added up.

    Attributes:
        rounds: drafted and plain ones.
        drafted: rounds with guesses.
        written: tokens that all rounds wrote.
        accepted_at: by the guess's place in its round.
        proposed_at: the same, of those that were looked at: after a wrong guess none is.
        guess_ms: sum over the drafted rounds, of the guessing.
        check_ms: and of the checking.
        timed: tokens after each answer's first, where their time is known.
        timed_s: the seconds they took.
        plain_steps: plain steps that were timed.
        plain_ms: the sum of their times.
    """

    rounds: int = 0
    drafted: int = 0
    written: int = 0
    proposed: int = 0
    accepted: int = 0
    accepted_at: tuple[int, ...] = ()
    proposed_at: tuple[int, ...] = ()
    guess_ms: float = 0.0
    check_ms: float = 0.0
    timed: int = 0
    timed_s: float = 0.0
    plain_steps: int = 0
    plain_ms: float = 0.0

    def plus(self, other: "Figures") -> "Figures":
        """Both together."""
        return Figures(
            self.rounds + other.rounds,
            self.drafted + other.drafted,
            self.written + other.written,
            self.proposed + other.proposed,
            self.accepted + other.accepted,
            _sums(self.accepted_at, other.accepted_at),
            _sums(self.proposed_at, other.proposed_at),
            self.guess_ms + other.guess_ms,
            self.check_ms + other.check_ms,
            self.timed + other.timed,
            self.timed_s + other.timed_s,
            self.plain_steps + other.plain_steps,
            self.plain_ms + other.plain_ms,
        )

    @property
    def rate(self) -> float | None:
        """Tokens per second as they were written, guesses and plain steps together."""
        return self.timed / self.timed_s if self.timed and self.timed_s else None

    @property
    def plain_rate(self) -> float | None:
        """Tokens per second of the plain steps."""
        return 1000 * self.plain_steps / self.plain_ms if self.plain_ms else None


def of_answer(message: Message) -> Figures:
    """The figures of a finished answer; none of one that broke off or was not drafted by rounds."""
    finished = message.finished
    return Figures() if finished is None else of_rounds(message.rounds).plus(_rates(finished))


def of_rounds(rounds: Sequence[Round]) -> Figures:
    """What the rounds alone tell; they know no wall time."""
    drafted = [round_ for round_ in rounds if round_.proposed_ids]
    accepted_at, proposed_at = _positions(drafted)
    return Figures(
        len(rounds),
        len(drafted),
        sum(len(round_.committed_ids) for round_ in rounds),
        sum(len(round_.proposed_ids) for round_ in drafted),
        sum(round_.accepted for round_ in drafted),
        accepted_at,
        proposed_at,
        sum(round_.draft_ms for round_ in drafted),
        sum(round_.verify_ms for round_ in drafted),
    )


def live(rounds: Sequence[Round], before: Figures) -> Figures:
    """An answer that is being written: `before` and `rounds` more, timed by themselves."""
    ms = sum(round_.draft_ms + round_.verify_ms for round_ in rounds)
    plain = [round_.verify_ms for round_ in rounds if not round_.proposed_ids]
    found = of_rounds(rounds)
    times = Figures(
        timed=found.written, timed_s=ms / 1000, plain_steps=len(plain), plain_ms=sum(plain)
    )
    return before.plus(found).plus(times)


def _rates(finished: Finished) -> Figures:
    after_first, rate = len(finished.token_ids) - 1, finished.tokens_per_s
    plain = finished.plain_ms or 0.0
    return Figures(
        timed=after_first if rate else 0,
        timed_s=after_first / rate if rate else 0.0,
        plain_steps=finished.plain_steps if plain else 0,
        plain_ms=plain * finished.plain_steps,
    )


def _positions(drafted: Iterable[Round]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Accepted and looked at, by place: those up to the first wrong guess were looked at."""
    right: list[int] = []  # how many rounds had so many accepted
    seen: list[int] = []
    for round_ in drafted:
        looked = min(len(round_.proposed_ids), round_.accepted + 1)
        for counts, number in ((right, round_.accepted), (seen, looked)):
            counts.extend([0] * (number + 1 - len(counts)))
            counts[number] += 1
    proposed_at = _at_least(seen)
    accepted_at = _at_least(right)
    return _sums(accepted_at, (0,) * len(proposed_at)), proposed_at


def _at_least(counts: Sequence[int]) -> tuple[int, ...]:
    """From how often each number came to how often at least 1, at least 2, and so on."""
    total, sums = 0, list[int]()
    for count in reversed(counts[1:]):
        total += count
        sums.append(total)
    return tuple(reversed(sums))


def _sums(a: Sequence[int], b: Sequence[int]) -> tuple[int, ...]:
    return tuple(x + y for x, y in zip_longest(a, b, fillvalue=0))
