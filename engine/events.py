"""What the engine reports while it works: frozen plain values, safe on any thread.

A reply is any number of events and then exactly one `Finished` or `Failed`. Names and fields are
the JSON of `slipstream ask --json` too: the event's class name in snake case.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from engine.origin import Origin, Pass

Mode = Literal["drafter", "copy", "plain"]
Channel = Literal["answer", "thinking"]
DraftState = Literal["on", "paused", "off"]
FinishReason = Literal["stop", "length", "context", "cancelled"]


@dataclass(frozen=True, slots=True)
class LoadProgress:
    """A model is being loaded: `done` of `total` bytes of `part` (target or drafter)."""

    part: Literal["target", "drafter"]
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model is ready. `drafting_refused` says why nothing drafts but copies, or is empty.

    `note` is a warning about a drafter that takes part, or empty.
    """

    target: str
    drafter: str | None
    target_bytes: int
    drafter_bytes: int
    context_limit: int
    drafting_refused: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class PromptProgress:
    """`done` of `total` prompt tokens are in the cache, `reused` of them from an earlier turn.

    `notes` are in the first one of a reply: what its chat format made of the conversation beyond
    writing it down, one sentence each.
    """

    done: int
    total: int
    reused: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Round:
    """One proposal and its check.

    `committed_ids` are the accepted proposals and the target's own token after them, cut at an end.
    `rejected_id` and `target_id` are the first proposal that was wrong and what the target said
    there; None when all were right. `gap` is the distance of the target's two best scores on that
    row, None when it was not measured. `width` counts the rows of the verify forward. `recheck` is
    set when a near-tie was settled by a one-row step.
    """

    index: int
    mode: Mode
    proposed_ids: tuple[int, ...]
    accepted: int
    committed_ids: tuple[int, ...]
    rejected_id: int | None
    target_id: int | None
    gap: float | None
    draft_ms: float
    verify_ms: float
    width: int
    recheck: bool = False


@dataclass(frozen=True, slots=True)
class TextDelta:
    """Text that became certain, written by the reply's tokens `first_token`..`last_token`."""

    channel: Channel
    text: str
    first_token: int
    last_token: int


@dataclass(frozen=True, slots=True)
class DraftingState:
    """Drafting was switched or paused. Rates are tokens per second; `next_probe` is in tokens."""

    state: DraftState
    reason: str
    drafted_rate: float | None = None
    plain_rate: float | None = None
    next_probe: int | None = None


@dataclass(frozen=True, slots=True)
class Finished:
    """The last event of a reply that ended in order.

    Rates and times are seconds or tokens per second of wall time. `saved_s` is the range of time
    saved by drafting (equal ends once 8 plain steps were timed), None when nothing was measured;
    `speedup` is None below 8 plain steps. `context_used` counts the tokens now in the conversation.
    `end_id`, `passes` and `origin` are what `engine.origin.Written` says of them; replies of
    earlier versions have no origin.
    """

    reason: FinishReason
    prompt_ids: tuple[int, ...]
    token_ids: tuple[int, ...]
    text: str
    rounds: int
    proposed: int
    accepted: int
    tokens_per_s: float | None
    drafting: DraftState
    thinking: str = ""
    reused: int = 0
    prompt_s: float = 0.0
    first_token_s: float = 0.0
    wall_s: float = 0.0
    plain_steps: int = 0
    plain_ms: float | None = None
    acceptance_length: float | None = None
    speedup: float | None = None
    saved_s: tuple[float, float] | None = None
    rechecks: int = 0
    copied_tokens: int = 0
    seed: int = 0
    context_used: int = 0
    context_limit: int = 0
    accepted_at: tuple[int, ...] = ()  # by draft position
    proposed_at: tuple[int, ...] = ()  # by draft position, after acceptance of those before
    end_id: int | None = None
    passes: tuple[Pass, ...] = ()
    origin: Origin | None = None


@dataclass(frozen=True, slots=True)
class Failed:
    """The last event of a reply that the world stopped. What was written so far stands."""

    code: str
    message: str
    safe: str
    action: str


Event: TypeAlias = (
    LoadProgress | Loaded | PromptProgress | Round | TextDelta | DraftingState | Finished | Failed
)


@dataclass(frozen=True, slots=True)
class RecheckProgress:
    """`matched` of `total` tokens of a reply came again when it was decoded plain."""

    matched: int
    total: int


@dataclass(frozen=True, slots=True)
class Rechecked:
    """How decoding a reply again ended: the same, a difference, or why that cannot be said.

    Attributes:
        at: index of the first token that differs; `total` if only the end of the reply does.
        drafted: the text of that token in the reply.
        plain: the text of the token that plain decoding writes there.
        gap: the distance of plain decoding's two best scores there.
        reason: why it cannot be checked; empty if it was.
    """

    matched: int
    total: int
    at: int | None = None
    drafted: str = ""
    plain: str = ""
    gap: float | None = None
    reason: str = ""
