"""What the inspector says: names and values from figures and facts. No number without its n."""

from dataclasses import dataclass, replace

from engine.events import Loaded
from engine.facts import Facts, WidthFact
from ui import wording
from ui.chat.drafting import DraftingNow
from ui.chat.strip_text import ENOUGH_CHECKED, ENOUGH_STEPS, down, up
from ui.forms import Mode
from ui.inspector.figures import Figures
from ui.wording import tr

INSPECTOR, CLOSE, COPY, COPIED = "Inspector", "Close the inspector", "Copy", "Copied"
COPY_HELP = "Copy all numbers as text"
LAST, WHOLE = "Last answer", "This chat"
SCOPE_HELP = "Numbers of the last answer, or of all answers shown in this chat"
MEASURE, MEASURING = "Measure now", "Stop measuring"
NONE_YET = "–"
POSITIONS = 8  # places that have a line of their own; the others share the last
TITLES = {
    "guesses": "Guesses accepted",
    "rounds": "A round",
    "speed": "Speed",
    "drafting": "Drafting",
    "context": "Context",
    "memory": "Memory",
    "exactness": "Exactness on {here}",
    "answer": "The newest answer",
}


@dataclass(frozen=True, slots=True)
class Line:
    """A name and its value; `meaning` is for the pointer."""

    name: str
    value: str
    meaning: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """How guesses at one place of a round did."""

    name: str
    accepted: int
    proposed: int

    @property
    def text(self) -> str:
        """The share with its number; below 20 no percentage."""
        return share(self.accepted, self.proposed)


def title(section: str) -> str:
    """The heading of a section."""
    return tr(TITLES[section], here=wording.HERE)


def share(accepted: int, proposed: int) -> str:
    """`accepted` of `proposed`, as a percentage once there are enough."""
    if not proposed:
        return NONE_YET
    if proposed < ENOUGH_CHECKED:
        return tr("{right:,} of {all:,}", right=accepted, all=proposed)
    percent = 100 * accepted // proposed
    return tr("{percent} % of {all:,}", percent=percent, all=proposed)


def places(figures: Figures) -> list[Place]:
    """The places, from the first guess of a round on."""
    pairs = list(zip(figures.accepted_at, figures.proposed_at, strict=True))
    shown = [
        Place(str(number), right, seen) for number, (right, seen) in enumerate(pairs[:POSITIONS], 1)
    ]
    if len(pairs) > POSITIONS:
        rest = pairs[POSITIONS - 1 :]
        right, seen = sum(pair[0] for pair in rest), sum(pair[1] for pair in rest)
        shown[-1] = Place(tr("{first}+", first=POSITIONS), right, seen)
    return shown


def guesses(figures: Figures) -> list[Line]:
    """All places together."""
    value = share(figures.accepted, figures.proposed)
    meaning = tr("Of all guesses; those after a wrong one in its round count as not accepted.")
    return [Line(tr("All guesses"), value, meaning)]


def rounds(figures: Figures) -> list[Line]:
    """How long a round takes, and what it brings."""
    drafted = figures.drafted
    each = NONE_YET
    if figures.rounds and figures.proposed:
        each = tr(
            "{tokens} over {count:,}", tokens=down(figures.written / figures.rounds),
            count=figures.rounds,
        )  # fmt: skip
    return [
        Line(tr("Tokens per round"), each, tr("Plain steps are rounds too.")),
        Line(
            tr("Guessing"),
            milliseconds(figures.guess_ms, drafted),
            tr("What the drafter takes in a round with guesses."),
        ),
        Line(
            tr("Checking"),
            milliseconds(figures.check_ms, drafted),
            tr("What the model takes for all guesses of a round at once."),
        ),
        Line(
            tr("Plain step"),
            milliseconds(figures.plain_ms, figures.plain_steps),
            tr("One token without guesses, timed while this was written."),
        ),
    ]


def speed(figures: Figures) -> list[Line]:
    """Both rates side by side, and their ratio once both are known well."""
    rate, plain = figures.rate, figures.plain_rate
    enough = figures.plain_steps >= ENOUGH_STEPS
    ratio = NONE_YET
    if rate and plain and figures.proposed:
        ratio = (
            tr("{factor}× plain", factor=down(rate / plain))
            if enough
            else tr("few plain steps yet")
        )
    return [
        Line(
            tr("As written"),
            tr("{rate} tok/s", rate=down(rate)) if rate else NONE_YET,
            tr("Tokens per second after the first one."),
        ),
        Line(
            tr("Plain"),
            tr("{rate} tok/s over {count:,}", rate=down(plain), count=figures.plain_steps)
            if plain
            else NONE_YET,
            tr("What the plain steps among them would give."),
        ),
        Line(tr("Ratio"), ratio),
    ]


def drafting(now: DraftingNow, facts: Facts | None) -> tuple[list[Line], str]:
    """Whether this chat drafts, and the sentence that says why or with what; then the warning."""
    refused = now.refused or (facts.refused if facts is not None else "")
    warning = now.note or (facts.note if facts is not None else "")
    engine_says = now.state.state if now.state is not None else "on"
    state = "off" if not now.on else engine_says
    # The speed has lines of its own, and the warning holds whatever else is said.
    said = replace(now, speedup=None, refused=refused, note="").line
    if warning and now.on and not refused:
        said = f"{said}\n{warning}"
    return [Line(tr("State"), tr(_STATES[state]))], said


def context(used: int, limit: int) -> list[Line]:
    """How full the model's context is."""
    if limit <= 0:
        return [Line(tr("In use"), NONE_YET)]
    value = tr(
        "{used:,} of {limit:,} ({percent} %)", used=used, limit=limit, percent=100 * used // limit
    )
    return [Line(tr("In use"), value, tr("Tokens of this chat, of those the model can read."))]


def memory(facts: Facts | None, loaded: Loaded | None) -> list[Line]:
    """What the pair and this chat hold; before there are facts, what loading told."""
    names = (tr("Model"), tr("Drafter"), tr("This chat"), tr("In use"), tr("Kept for reuse"))
    pair = loaded if facts is None else facts
    values = [NONE_YET] * 5
    if pair is not None:
        values[0] = size(pair.target_bytes)
        values[1] = size(pair.drafter_bytes) if pair.drafter_bytes else tr("none")
    if facts is not None:
        kept = facts.conversation_bytes
        values[2] = size(kept) if kept else tr("nothing kept")
        values[3:] = [size(facts.active), size(facts.spare)]
    meanings = (
        tr("Its weights."),
        tr("Its own weights, beside the model's."),
        tr("Keys and values of the text so far, kept for the next turn."),
        tr("All that the engine holds now."),
        tr("Freed by the engine, not yet given back to the system."),
    )
    return [Line(*one) for one in zip(names, values, meanings, strict=True)]


def exactness(facts: Facts | None, mode: Mode) -> list[Line]:
    """What was measured of this pair here."""
    name = next(text for value, text in wording.MODES if value == mode)
    lines = [Line(tr("Mode"), tr(name), tr(wording.MODE_MEANS[mode], here=wording.HERE))]
    seen = [] if facts is None else [width for width in facts.widths if not width.not_run]
    if facts is None or not seen:
        return [*lines, *(Line(tr(text), NONE_YET) for text in _MEASURED)]
    worst = max(seen, key=lambda width: width.max_difference)
    return [
        *lines,
        Line(tr(_MEASURED[0]), _equal(facts, seen), tr("Tokens checked at once, bit for bit.")),
        Line(tr(_MEASURED[1]), _difference(worst), tr("Of two scores, at any width measured.")),
        Line(tr(_MEASURED[2]), _margin(seen, mode), tr("Below this gap the model decides alone.")),
    ]


def exactness_note(facts: Facts | None, *, is_busy: bool) -> str:
    """The sentence below the measurements; empty when they say it all."""
    if facts is None and is_busy:
        return tr("Looked up when the engine rests.")
    if facts is None:
        return tr("The model of this chat is not loaded. It is with the next message.")
    if facts.fault:
        return tr("Drafting is refused. {fault}", fault=facts.fault)
    if not facts.widths:
        return tr("Not measured yet. It takes a few seconds for a small model.")
    if not facts.is_measured:
        return tr("Measured in part.")
    return ""


def size(count: int) -> str:
    """Bytes as a person reads them, in steps of 1,000."""
    for unit, places_ in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= places_:
            value = count / places_
            return f"{value:,.1f} {unit}" if value < 100 else f"{value:,.0f} {unit}"
    return f"{count} B"


def milliseconds(total: float, count: int) -> str:
    """The mean of `count` times, with their number."""
    if not count:
        return NONE_YET
    return tr("{ms} ms over {count:,}", ms=up(total / count), count=count)


_STATES = {"on": "on", "paused": "paused", "off": "off"}
_MEASURED = ("Bit-equal", "Largest difference", "Near-tie below")


def _equal(facts: Facts, seen: list[WidthFact]) -> str:
    if all(width.equal for width in seen):
        return tr("at all widths, to {width}", width=seen[-1].width)
    if facts.exact_width < 2:
        return tr("at no width")
    return tr("up to {width} tokens", width=facts.exact_width)


def _difference(worst: WidthFact) -> str:
    if not worst.max_difference:
        return tr("none")
    return tr("{value:.1g} at {width} tokens", value=worst.max_difference, width=worst.width)


def _margin(seen: list[WidthFact], mode: Mode) -> str:
    if mode != "guarded":
        return tr("not used")
    return tr("{value:.1g}", value=max(width.margin for width in seen))
