"""The sentences about drafting under an answer. Numbers are never rounded in our favour."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias

from app.conversation import DraftMark
from engine.events import DraftState, Finished, Mode, Round
from ui.wording import tr

ENOUGH_STEPS = 8  # plain steps, before a speed-up is told
ENOUGH_CHECKED = 20  # guesses, before their rate is told as a percentage
SEPARATOR = " · "
Wish: TypeAlias = Literal["auto", "on", "off"]  # of a chat; on: drafting never pauses

_STATES: dict[DraftState, str] = {"on": "Draft on", "paused": "Draft paused", "off": "Draft off"}
_MARKS: dict[DraftState, str] = {
    "on": "Drafting went on",
    "paused": "Drafting was paused",
    "off": "Drafting was switched off",
}


class Tally:
    """The sums over the rounds of an answer."""

    def __init__(self) -> None:
        self.rounds = self.proposed = self.accepted = self.written = 0
        self.modes: Counter[Mode] = Counter()

    def add(self, rounds: Iterable[Round]) -> None:
        """Count more rounds."""
        for round_ in rounds:
            self.rounds += 1
            self.proposed += len(round_.proposed_ids)
            self.accepted += round_.accepted
            self.written += len(round_.committed_ids)
            self.modes[round_.mode] += 1


def down(value: float, places: int = 1) -> str:
    """A number cut off after `places`: what we boast of is never rounded up."""
    scale = 10**places
    return f"{math.floor(value * scale + 1e-9) / scale:,.{places}f}"


def up(value: float, places: int = 1) -> str:
    """A number rounded up after `places`: what a person waits for is never rounded down."""
    scale = 10**places
    return f"{math.ceil(value * scale - 1e-9) / scale:,.{places}f}"


def state_of(finished: Finished | None, tally: Tally, marks: Sequence[DraftMark]) -> str:
    """Whether drafting was on at the end, or is now."""
    if finished is not None:
        return tr(_STATES[finished.drafting])
    if marks:
        return tr(_STATES[marks[-1].state])
    return tr(_STATES["on"]) if tally.proposed else ""


def kept_on(marks: Sequence[DraftMark]) -> str:
    """That a person keeps drafting on at the end, or now, and what it costs."""
    return marks[-1].reason.rstrip(".") if marks and marks[-1].state == "on" else ""


def is_paused(finished: Finished | None, marks: Sequence[DraftMark]) -> bool:
    """Whether drafting was paused at the end, or is now."""
    if finished is not None:
        return finished.drafting == "paused"
    return bool(marks) and marks[-1].state == "paused"


def saved(finished: Finished) -> str:
    """The time that drafting saved or cost on this answer; empty when it was not measured."""
    if finished.saved_s is None or not finished.proposed:
        return ""
    low, high = sorted(finished.saved_s)
    if low == high:
        if low >= 0:
            return tr("Saved {seconds} s", seconds=down(low)) + _speedup(finished)
        return tr("Took {seconds} s longer", seconds=up(-low)) + _speedup(finished)
    if low >= 0:
        return tr("Saved {low} to {high} s", low=down(low), high=down(high))
    if high <= 0:
        return tr("Took {low} to {high} s longer", low=up(-high), high=up(-low))
    return tr("Between {slow} s longer and {fast} s saved", slow=up(-low), fast=down(high))


def per_round(tally: Tally) -> str:
    """How many tokens a round wrote."""
    if not tally.proposed:
        return ""
    return tr("{tokens} tokens per round", tokens=down(tally.written / tally.rounds))


def accepted(tally: Tally) -> str:
    """How many guesses were right, always with their number."""
    proposed, right = tally.proposed, tally.accepted
    if not proposed:
        return ""
    if proposed < ENOUGH_CHECKED:
        return tr("accepted {right} of {all}", right=right, all=proposed)
    percent = 100 * right // proposed
    return tr(
        "accepted {percent} % ({right:,} of {all:,})", percent=percent, right=right, all=proposed
    )


def collapsed(finished: Finished | None, tally: Tally, marks: Sequence[DraftMark]) -> str:
    """The strip as one line."""
    time = saved(finished) if finished else ""
    state = kept_on(marks) or state_of(finished, tally, marks)
    parts = [state, per_round(tally), time[:1].lower() + time[1:]]
    return SEPARATOR.join(part for part in parts if part)


def opened(finished: Finished | None, tally: Tally, marks: Sequence[DraftMark]) -> tuple[str, str]:
    """The line above the open strip: what is set in bold, and the rest."""
    time = saved(finished) if finished else ""
    first = time or state_of(finished, tally, marks)
    paused = tr(_STATES["paused"]) if time and is_paused(finished, marks) else ""
    rest = (kept_on(marks) or paused, per_round(tally), accepted(tally))
    return first, SEPARATOR.join(part for part in rest if part)


def of_round(round_: Round) -> str:
    """One round, as the pointer over it tells."""
    parts = [tr("Round {number}", number=round_.index + 1)]
    if round_.proposed_ids:
        parts.append(tr("proposed {count}", count=len(round_.proposed_ids)))
        parts.append(tr("accepted {count}", count=round_.accepted))
    else:
        parts.append(tr("plain step"))
    parts.append(tr("wrote {count}", count=len(round_.committed_ids)))
    parts.append(milliseconds(round_.draft_ms + round_.verify_ms))
    if round_.mode == "copy":
        parts.append(tr("copied from the chat"))
    if round_.recheck:
        parts.append(tr("near-tie, checked again"))
    return SEPARATOR.join(parts)


def of_mark(mark: DraftMark) -> str:
    """One mark, as the pointer over it tells."""
    sentence = tr(_MARKS[mark.state])
    return f"{sentence}. {mark.reason}" if mark.reason else sentence


def milliseconds(value: float) -> str:
    """A time of a round."""
    return tr("under 1 ms") if 0 < value < 1 else tr("{ms:,} ms", ms=math.ceil(value - 1e-9))


def summary(finished: Finished | None, tally: Tally, marks: Sequence[DraftMark]) -> str:
    """All of the strip in words, for those who hear it."""
    modes = tally.modes
    kinds: tuple[tuple[Mode, str], ...] = (
        ("drafter", tr("with the drafter")),
        ("copy", tr("copied")),
        ("plain", tr("plain")),
    )
    counts = ", ".join(f"{modes[mode]:,} {name}" for mode, name in kinds if modes[mode])
    bold, rest = opened(finished, tally, marks)
    sentences = [
        tr("Drafting, {rounds:,} rounds: {counts}", rounds=tally.rounds, counts=counts),
        bold,
        rest,
        *(of_mark(mark) for mark in marks),
    ]
    return ". ".join(sentence.rstrip(".") for sentence in sentences if sentence) + "."


def rate(finished: Finished) -> str:
    """Tokens per second after the first one."""
    return tr("{rate} tok/s", rate=down(finished.tokens_per_s)) if finished.tokens_per_s else ""


def first_word(finished: Finished) -> str:
    """How long the first word took."""
    if finished.first_token_s <= 0:
        return ""
    return tr("{seconds} s to first word", seconds=up(finished.first_token_s))


def _speedup(finished: Finished) -> str:
    if finished.speedup is None or finished.plain_steps < ENOUGH_STEPS:
        return ""
    return tr(" ({factor}×)", factor=down(finished.speedup))
