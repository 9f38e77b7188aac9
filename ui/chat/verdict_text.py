"""What is told about an answer that was, is or can be written again without drafting."""

import math
import time
import unicodedata
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from app.conversation import Message, Pair
from app.pairs import pair_that_wrote
from app.receipts import Receipt
from engine.events import Finished
from ui import wording
from ui.wording import tr

Kind = Literal["unchecked", "running", "waiting", "same", "differs", "cannot", "fast"]
# Of a check: tokens that matched, of how many; or that it gave way, and waits to be made again.
CheckState: TypeAlias = tuple[int, int] | Literal["waiting", "gave way"]
Action = Literal["", "check", "stop", "save", "pair off", "pair on"]

CHECK, STOP, SAVE = "Check this answer", "Stop", "Save report…"
PAIR_OFF, MODEL_OFF = "Turn drafting off for this pair", "Turn drafting off for this model"
ON_AGAIN = "Turn drafting on again"
LONGEST = 24  # characters that are shown of a token
_SEEN = {" ": "␣", "\n": "⏎", "\r": "␍", "\t": "⇥", "\u00a0": "⍽"}
_UNSEEN = ("Cc", "Cf", "Co", "Cn", "Cs", "Zl", "Zp", "Zs")  # categories without a picture


@dataclass(frozen=True, slots=True)
class Told:
    """A verdict in words: its first ones, the rest, the one thing to do and perhaps another."""

    kind: Kind
    first: str
    rest: str = ""
    action: Action = ""
    label: str = ""
    also: Action = ""
    also_label: str = ""

    @property
    def text(self) -> str:
        """All of it, as a screen reader says it."""
        return " ".join(part for part in (self.first, self.rest) if part)


def told(
    message: Message,
    check: CheckState | None,
    now: float,
    plain_pairs: Collection[Pair] | None = None,
) -> Told | None:
    """What is told about `message` and its check at `now`; None when there is nothing to check.

    `plain_pairs` are those with drafting off for new chats; None offers no such switch.
    """
    finished = message.finished
    if check == "waiting":
        rest = tr("It starts again by itself when the engine rests.")
        return Told("waiting", tr("The check gave way to other work."), rest, "stop", tr(STOP))
    if isinstance(check, tuple):
        return _running(*check)
    if message.receipt is not None:
        found, pair = _found(message.receipt, now), pair_that_wrote(message)
        if found.kind != "differs" or plain_pairs is None or pair is None:
            return found
        return _with_switch(found, pair, is_off=pair in plain_pairs)
    if finished is None or message.state == "streaming":
        return None
    about = duration(finished)
    label = tr("{check} (about {time})", check=tr(CHECK), time=about) if about else tr(CHECK)
    if check == "gave way":
        rest = tr("the check gave way to other work.")
        return Told("unchecked", tr("Not checked:"), rest, "check", label)
    if not finished.proposed:
        return None
    if finished.origin is not None and finished.origin.exactness == "fast":
        rest = tr("it does not promise the words of plain decoding. Not checked.")
        return Told("fast", tr("Fast mode:"), rest, "check", label)
    return Told("unchecked", tr("Not checked."), "", "check", label)


def scope() -> str:
    """What a verdict holds for."""
    return tr("Same model, weights, settings and app version, on {here}.", here=wording.HERE)


def duration(finished: Finished) -> str:
    """About how long writing it again takes; empty when no plain step was timed."""
    if finished.plain_ms is None:
        return ""
    # Rows of earlier replies are read one by one again, as plain decoding wrote them.
    rows = sum(count for count, width in finished.passes if width == 1)
    seconds = (len(finished.token_ids) + rows) * finished.plain_ms / 1000 + finished.prompt_s
    if seconds <= 10:
        return tr("{seconds} s", seconds=max(1, math.ceil(seconds)))
    if seconds <= 90:
        return tr("{seconds} s", seconds=5 * math.ceil(seconds / 5))
    return tr("{minutes} min", minutes=math.ceil(seconds / 60))


def visible(text: str) -> str:
    """The text of a token as one can see it: spaces and controls have a picture, long ends."""
    if not text:
        return tr("(nothing)")
    letters = [_visible(letter) for letter in text[:LONGEST]]
    if unicodedata.combining(text[0]):
        letters.insert(0, "◌")
    return "".join(letters) + ("…" if len(text) > LONGEST else "")


def when(moment: float, now: float) -> str:
    """A moment as a person says it, in local time."""
    then, today = time.localtime(moment), time.localtime(now)
    clock = time.strftime("%H:%M", then)
    if then[:3] == today[:3]:
        return tr("today {clock}", clock=clock)
    day = f"{then.tm_mday} {time.strftime('%b', then)}"
    if then.tm_year != today.tm_year:
        day = f"{day} {then.tm_year}"
    return f"{day}, {clock}"


def _running(matched: int, total: int) -> Told:
    # Spaces as wide as digits: the line is as long at the beginning as at the end.
    so_far = f"{matched:,}".rjust(len(f"{total:,}"), "\N{FIGURE SPACE}")
    return Told(
        "running",
        tr("Writing it again without drafting…"),
        tr("{matched} of {total:,} tokens match so far.", matched=so_far, total=total),
        "stop",
        tr(STOP),
    )


def _found(receipt: Receipt, now: float) -> Told:
    match receipt.verdict:
        case "same":
            count = {"tokens": receipt.tokens, "total": receipt.total}
            rest = [
                tr("{tokens:,} of {total:,} tokens.", **count),
                _before(receipt),
                tr(
                    "Checked on {here}, {when}.",
                    here=wording.HERE,
                    when=when(receipt.checked, now),
                ),
            ]
            return Told("same", tr("Same as without drafting:"), _joined(rest))
        case "differs":
            return _differs(receipt)
        case "cannot":
            reason = receipt.reason[:1].lower() + receipt.reason[1:]
            return Told("cannot", tr("Can't be checked:"), reason)


def _differs(receipt: Receipt) -> Told:
    at = receipt.tokens if receipt.at is None else receipt.at
    first = tr("Differs at token {number:,}.", number=at + 1)
    if at >= receipt.total:
        first = tr("Differs at its end, after {number:,} tokens.", number=receipt.total)
    both = {"drafted": visible(receipt.drafted), "plain": visible(receipt.plain)}
    rest = [
        tr("With drafting “{drafted}” · without “{plain}”.", **both),
        tr("Score gap {gap}.", gap=_gap(receipt.gap)) if receipt.gap is not None else "",
        _before(receipt),
    ]
    return Told("differs", first, _joined(rest), "save", tr(SAVE))


def _with_switch(found: Told, pair: Pair, *, is_off: bool) -> Told:
    """A difference with the switch of its pair."""
    if not is_off:
        label = tr(MODEL_OFF if pair.drafter is None else PAIR_OFF)
        return replace(found, also="pair off", also_label=label)
    off = tr("Drafting is off for this pair: its new chats begin without.")
    if pair.drafter is None:
        off = tr("Drafting is off for this model: its new chats begin without.")
    return replace(found, rest=f"{found.rest} {off}", also="pair on", also_label=tr(ON_AGAIN))


def pair_help() -> str:
    """What switching a pair means."""
    return tr(
        "For new chats with this model and drafter, and for this chat if it uses them. Other chats "
        "keep their switch."
    )


def _before(receipt: Receipt) -> str:
    if not receipt.before:
        return ""
    return tr("The {count:,} before it was continued are not part of it.", count=receipt.before)


def _joined(parts: list[str]) -> str:
    return " ".join(part for part in parts if part)


def _gap(gap: float) -> str:
    """Two digits that say something, however near the tie."""
    return f"{gap:.2f}" if gap >= 0.1 or gap == 0 else f"{gap:.1g}"


def _visible(letter: str) -> str:
    if letter in _SEEN:
        return _SEEN[letter]
    if ord(letter) < 32:
        return chr(0x2400 + ord(letter))
    if unicodedata.category(letter) in _UNSEEN:
        return f"⟨{ord(letter):04X}⟩"
    return letter
