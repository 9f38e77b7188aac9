"""What the engine is asked: plain values, safe on any thread."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

Role = Literal["system", "user", "assistant"]
DraftWish = Literal["auto", "on", "off"]
Exactness = Literal["exact", "guarded", "fast"]


@dataclass(frozen=True, slots=True)
class DrafterOptions:
    """How a drafter is run. A kind that cannot do what is asked is refused, never run otherwise.

    Attributes:
        bits: 0 runs its tensors as released, 8 packs its linear layers when it is loaded.
        confidence: its drafts end where the chance that all of them come true, by its own
            confidence head, falls below this; 0 never asks the head.
    """

    bits: int = 0
    confidence: float = 0.0


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """The folders of a target and, when there is one, of its drafter."""

    target: Path
    drafter: Path | None = None
    options: DrafterOptions = DrafterOptions()


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of a conversation."""

    role: Role
    text: str


@dataclass(frozen=True, slots=True)
class Sampling:
    """How tokens are drawn. Temperature 0 is greedy; 0 and 1 mean "no effect" as is usual.

    `repetition_window` counts tokens of the true history, prompt included, for all penalties.
    """

    temperature: float = 0.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    repetition_window: int = 64
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    seed: int = 0

    @property
    def has_cuts(self) -> bool:
        """Whether some tokens are cut before the draw."""
        cuts = self.top_k > 0 or 0.0 < self.top_p < 1.0 or self.min_p > 0.0
        return cuts and self.temperature > 0.0

    @property
    def has_penalties(self) -> bool:
        """Whether a draw depends on the tokens before it."""
        return (
            self.repetition_penalty != 1.0
            or self.presence_penalty != 0.0
            or self.frequency_penalty != 0.0
        )


@dataclass(frozen=True, slots=True)
class Drafting:
    """Whether and how proposals are made. `wish` off means that nothing proposes."""

    wish: DraftWish = "auto"  # on: the guard never pauses
    copies: bool = True  # PromptCopy takes part
    max_drafts: int = 7  # of a drafter; copies may run further
    exactness: Exactness = "guarded"


@dataclass(frozen=True, slots=True)
class Request:
    """One reply to produce.

    `conversation` keys the caches kept between turns; None keeps nothing. With `continue_last` the
    last turn is an unfinished assistant turn that the reply goes on writing. With `plain_text` a
    model without a chat format goes on with the text of the turns instead of refusing them.
    """

    model: ModelChoice
    turns: tuple[Turn, ...]
    conversation: str | None = None
    continue_last: bool = False
    sampling: Sampling = field(default_factory=Sampling)
    drafting: Drafting = field(default_factory=Drafting)
    max_tokens: int = 1024
    stop: tuple[str, ...] = ()
    thinking: bool | None = None  # None: the template's own default
    plain_text: bool = False
