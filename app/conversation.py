"""Conversations and messages as plain values."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from app.receipts import Receipt
from engine.events import Finished, Round
from engine.request import DrafterOptions, Drafting, Sampling

MessageState = Literal[
    "streaming",  # being written
    "stop",  # the model ended it
    "length",  # the token limit ended it
    "context",  # the context ended it
    "cancelled",  # a person stopped it
    "failed",  # see `failure`
    "interrupted",  # the program ended while it was written
    "damaged",  # its record could not be read; kept aside
]


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a reply failed: one sentence, what is safe, what to do."""

    code: str
    message: str
    safe: str
    action: str


@dataclass(frozen=True, slots=True)
class DraftMark:
    """Drafting changed its state after `after_round` rounds of a reply."""

    after_round: int
    state: Literal["on", "paused", "off"]
    reason: str


@dataclass(frozen=True, slots=True)
class Pair:
    """A model and its drafter, as folders; `target` None means the starter."""

    target: Path | None
    drafter: Path | None


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of one conversation: a snapshot; the defaults only seed new ones.

    `target` None means the starter. With `plain_text` a model without a chat format goes on with
    the text itself.
    """

    target: Path | None = None
    drafter: Path | None = None
    system: str = ""
    sampling: Sampling = field(default_factory=lambda: Sampling(temperature=0.7, top_p=0.95))
    drafting: Drafting = field(default_factory=Drafting)
    max_tokens: int = 1024
    stop: tuple[str, ...] = ()
    thinking: bool | None = None
    plain_text: bool = False
    drafter_options: DrafterOptions = field(default_factory=DrafterOptions)


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation's tree, as it is on disk.

    `position` and `alternatives` say which of its parent's children it is, 1-based, of how many.
    """

    id: int
    conversation: int
    parent: int | None
    role: Literal["user", "assistant"]
    text: str
    state: MessageState
    created: float  # seconds since 1970
    thinking: str = ""
    thinking_s: float | None = None
    rounds: tuple[Round, ...] = ()
    marks: tuple[DraftMark, ...] = ()
    spans: tuple[tuple[int, int, int], ...] = ()  # (start, end, last token) pieces of `text`
    finished: Finished | None = None
    failure: Failure | None = None
    position: int = 1
    alternatives: int = 1
    receipt: Receipt | None = None  # what checking it found


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation as the sidebar lists it."""

    id: int
    title: str
    created: float
    updated: float
    pinned: bool = False
    settings: Settings = field(default_factory=Settings)
    damaged: bool = False  # some of its records could not be read
