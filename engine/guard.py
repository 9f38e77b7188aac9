"""How many drafts to make now: as many as this machine and this text repay, often none.

Measured online from the rounds themselves. Pure arithmetic: no clock, no tokens, no
model; it changes speed only, never a word.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

Source = Literal["drafter", "copy"]

MARGIN = 1.05  # drafting must win by this factor
_PRIOR = (0.85, 0.75, 0.70, 0.65, 0.60, 0.55)  # chance of draft j given those before it, then 0.5
_LEARN = 0.15  # weight of a new acceptance
_CLOCK = 0.2  # weight of a new time
_DEEPER = 8  # every so many drafted rounds one depth more is tried
_FIRST_PROBE, _LAST_PROBE = 8, 128  # plain rounds between two probes while plain wins
_REFRESH = 64  # drafted rounds between two plain ones
_FEW = 64  # drafted rounds below which the cost of near-ties is taken for that of so many
COPY_LIMIT = 31  # drafts of one copy
_DRAFTER = -1  # among the lengths of matches, which are positive
# By length of the match.
_RUN_PRIOR = ((16, 0.95), (8, 0.9), (5, 0.8), (4, 0.7), (3, 0.6), (0, 0.5))


class Times:
    """Seconds of whole rounds at each number of drafts, smoothed; kept as long as the model is."""

    def __init__(self) -> None:
        self.plain: float | None = None
        self._seen: dict[Source, dict[int, float]] = {"drafter": {}, "copy": {}}
        self._settling, self._drafted = 0.0, 0  # seconds for near-ties, and drafted rounds

    def saw(self, source: Source, drafts: int, seconds: float) -> None:
        """Take in one round; 0 drafts is plain whoever was asked."""
        if drafts == 0:
            self.plain = _smoothed(self.plain, seconds)
        else:
            self._drafted += 1
            seen = self._seen[source]
            seen[drafts] = _smoothed(seen.get(drafts), seconds)

    def settled(self, seconds: float) -> None:
        """Take in what near-ties cost in one round, beyond the seconds that it was said to take."""
        self._settling += seconds

    def knows(self, source: Source, drafts: int) -> bool:
        """Whether a round of that many drafts was ever timed."""
        return drafts in self._seen[source]

    def at(self, source: Source, drafts: int) -> float | None:
        """Seconds of a round, interpolated between timed depths; None before anything is known.

        Never below a plain one: a pass of more rows is not faster, and what says so is noise. The
        mean cost of near-ties is in it.
        """
        found = self._interpolated(source, drafts)
        if found is None or self.plain is None:
            return None
        return max(found, self.plain) + self._settling / max(self._drafted, _FEW)

    def _interpolated(self, source: Source, drafts: int) -> float | None:
        if self.plain is None:
            return None
        seen = self._seen[source]
        below = max((d for d in seen if d <= drafts), default=0)
        low = seen[below] if below else self.plain
        above = min((d for d in seen if d >= drafts), default=None)
        if above is not None:
            if above == below:
                return low
            return low + (seen[above] - low) * (drafts - below) / (above - below)
        if not below:
            return None
        slope = max(0.0, (low - self.plain) / below)
        return low + slope * (drafts - below)


@dataclass(slots=True)
class _Patience:
    """How long to leave a losing source alone before it is tried again."""

    wait: int = _FIRST_PROBE  # rounds until the next try
    left: int = 0
    paused: bool = False

    def lost(self) -> None:
        if self.paused:
            self.wait = min(2 * self.wait, _LAST_PROBE)
        self.paused, self.left = True, self.wait

    def won(self) -> None:
        self.paused, self.left, self.wait = False, 0, _FIRST_PROBE


@dataclass(slots=True)
class Guard:
    """Decides the depth of each round of one conversation.

    Attributes:
        times: of this model on this machine, shared by its conversations.
        always: draft as deep as pays best even where plain decoding wins ("on").
    """

    times: Times
    always: bool = False
    _chance: list[float] = field(default_factory=list[float])
    _runs: dict[int, float] = field(default_factory=lambda: dict(_RUN_PRIOR))
    # One patience for the drafter and one for each length of match: that short matches mislead on
    # this text says nothing about long ones.
    _patience: dict[int, _Patience] = field(
        default_factory=lambda: {_DRAFTER: _Patience(), **{b: _Patience() for b, _ in _RUN_PRIOR}}
    )
    _tried: set[int] = field(default_factory=set[int])
    _brought: dict[Source, tuple[float, float]] = field(
        default_factory=dict[Source, tuple[float, float]]
    )  # tokens and seconds of a drafted round, smoothed
    _drafted: int = 0  # drafted rounds since the last plain one
    _rounds: int = 0  # drafted rounds of the drafter

    def paused(self, source: Source) -> bool:
        """Whether the source is left alone because plain decoding wins.

        Copies are, when matches of every length that was tried lose.
        """
        return not self.always and self._loses(source)

    def kept_on(self, source: Source) -> bool:
        """Whether the source is asked although plain decoding wins, as `always` wants it."""
        return self.always and self._loses(source)

    def _loses(self, source: Source) -> bool:
        if source == "drafter":
            return self._patience[_DRAFTER].paused
        tried = [self._patience[key].paused for key in self._tried if key != _DRAFTER]
        return bool(tried) and all(tried)

    def next_probe(self, source: Source) -> int:
        """Rounds until a paused source is tried again."""
        if source == "drafter":
            return self._patience[_DRAFTER].left
        return min(self._patience[key].left for key in self._tried if key != _DRAFTER)

    def plain_ahead(self, *, drafter: bool, match: int) -> bool:
        """Whether the round after a plain one will surely be plain too.

        Args:
            drafter: there is a drafter to ask.
            match: the longest copy match there may be then, 0 if none.
        """
        keys = ([_DRAFTER] if drafter else []) + [b for b, _ in _RUN_PRIOR if 0 < b <= match]
        asked = [self._patience[key] for key in keys]
        return all(p.paused and p.left > 1 for p in asked) and not (asked and self.always)

    def rate(self, source: Source) -> float | None:
        """Tokens per second of a source's newest rounds, as they are judged; None before any.

        A round is never taken for faster than a plain one: see `Times.at`.
        """
        tokens, seconds = self._brought.get(source, (0.0, 0.0))
        seconds = max(seconds, self.times.plain or 0.0) if seconds else 0.0
        return tokens / seconds if seconds else None

    def drafter_depth(self, cap: int) -> int:
        """Drafts to ask of the drafter now, 0 to `cap`."""
        return self._decide("drafter", cap, 0)

    def copy_depth(self, match: int, cap: int) -> int:
        """Drafts to copy now after a match of that many tokens, 0 to `cap`."""
        return self._decide("copy", min(cap, COPY_LIMIT, max(4, 2 * match)), match)

    def saw(
        self, source: Source, drafts: int, accepted: int, seconds: float | None, match: int = 0
    ) -> None:
        """Learn from one checked proposal: drafts past the first miss teach nothing.

        `seconds` is None for a round that is not measured.
        """
        tested = min(drafts, accepted + 1)
        self._tried.add(_DRAFTER if source == "drafter" else _bucket(match))
        self._drafted += 1
        if seconds is not None:
            self.times.saw(source, drafts, seconds)
            tokens, spent = self._brought.get(source, (None, None))
            self._brought[source] = (
                _smoothed(tokens, accepted + 1),
                _smoothed(spent, seconds),
            )
        if source == "copy":
            key = _bucket(match)
            self._runs[key] += _LEARN * (accepted / tested - self._runs[key])
            return
        self._rounds += 1
        for j in range(tested):
            hit = 1.0 if j < accepted else 0.0
            old = self.chance(j)
            while len(self._chance) <= j:
                self._chance.append(self.chance(len(self._chance)))
            self._chance[j] = old + _LEARN * (hit - old)

    def saw_plain(self, seconds: float | None) -> None:
        """Count one round without drafts; `seconds` as in `saw`."""
        if seconds is not None:
            self.times.saw("copy", 0, seconds)
        self._drafted = 0
        for patience in self._patience.values():
            patience.left = max(0, patience.left - 1)

    def chance(self, j: int) -> float:
        """Chance that draft `j` (0-based) of the drafter is accepted, given those before it."""
        if j < len(self._chance):
            return self._chance[j]
        return _PRIOR[j] if j < len(_PRIOR) else 0.5

    def _decide(self, source: Source, cap: int, match: int) -> int:
        if cap <= 0:
            return 0
        key = _DRAFTER if source == "drafter" else _bucket(match)
        patience = self._patience[key]
        if self.times.plain is None:
            return 0  # nothing to compare with yet
        if self._drafted >= _REFRESH and not self.always:
            return 0  # keeps the plain time fresh
        first = self._unseen(source, cap)
        if first is not None:
            return first
        if patience.paused and patience.left > 0 and not self.always:
            return 0
        depth, value = self._best(source, cap, match)
        plain = 1.0 / (self.times.plain or 1.0)
        wins = value > MARGIN * plain
        if wins:
            patience.won()
        elif self.always and not patience.paused:
            patience.lost()  # only to say so
        if wins or self.always:
            if source == "drafter" and self._rounds % _DEEPER == _DEEPER - 1:
                return min(cap, depth + 1)
            return depth
        tried_again = patience.paused
        patience.lost()
        return 1 if tried_again else 0

    def _unseen(self, source: Source, cap: int) -> int | None:
        """A depth to visit because no time near it is known."""
        wanted = (1, min(4, cap), cap) if source == "drafter" else (min(7, cap),)
        for depth in wanted:
            if not self.times.knows(source, depth) and (
                source == "drafter" or self.times.at(source, depth) is None
            ):
                return depth
        return None

    def _best(self, source: Source, cap: int, match: int) -> tuple[int, float]:
        """The depth from 1 to `cap` with the most tokens per second, and that rate."""
        best, value = 1, 0.0
        tokens, alive = 1.0, 1.0
        for depth, chance in zip(range(1, cap + 1), self._chances(source, match), strict=False):
            alive *= chance
            tokens += alive
            seconds = self.times.at(source, depth)
            if seconds and tokens / seconds > value:
                best, value = depth, tokens / seconds
        return best, value

    def _chances(self, source: Source, match: int) -> Iterator[float]:
        j = 0
        while True:
            yield self.chance(j) if source == "drafter" else self._runs[_bucket(match)]
            j += 1


def _bucket(match: int) -> int:
    return next(least for least, _ in _RUN_PRIOR if match >= least)


def _smoothed(old: float | None, new: float) -> float:
    return new if old is None else old + _CLOCK * (new - old)
