"""A reply as it grows: the engine's events folded into what a message keeps."""

from dataclasses import dataclass, replace
from typing import assert_never

from app.conversation import DraftMark, Failure, Message, MessageState
from app.records import Record, Span
from app.store import Written
from engine.events import (
    DraftingState,
    Event,
    Failed,
    Finished,
    Loaded,
    LoadProgress,
    PromptProgress,
    Round,
    TextDelta,
)


@dataclass(frozen=True, slots=True)
class Part:
    """What was not saved before, and how many records are saved with it."""

    written: Written
    records: int


class Growing:
    """What a reply has written so far, beginning with what `message` had already.

    Rounds and tokens of a reply that goes on are numbered after those it had.
    """

    def __init__(self, message: Message) -> None:
        self._message = message
        self._text, self._thinking = [message.text], [message.thinking]
        self._length = len(message.text)
        self._thinking_s = message.thinking_s
        self._thought_since: float | None = None
        self._rounds, self._marks = list(message.rounds), list(message.marks)
        self._spans: list[Span] = list(message.spans)
        self._first_round = len(self._rounds)
        self._first_token = sum(len(r.committed_ids) for r in self._rounds)
        self._unsaved: list[Record] = []
        self._finished: Finished | None = None
        self.state: MessageState = "streaming"
        self.failure: Failure | None = None
        self.has_words = False  # a round or a text came
        self.is_unsaved = False

    def placed(self, event: Event) -> Event:
        """`event` with its round and token numbers counted from the message's beginning."""
        if isinstance(event, Round) and self._first_round:
            return replace(event, index=event.index + self._first_round)
        if isinstance(event, TextDelta) and self._first_token:
            first, last = event.first_token, event.last_token
            return replace(
                event, first_token=first + self._first_token, last_token=last + self._first_token
            )
        return event

    def take(self, event: Event, now: float) -> None:
        """Fold a placed `event` that came at `now` (seconds of any clock) into the message."""
        match event:
            case TextDelta():
                self._take_text(event, now)
            case Round():
                self._rounds.append(event)
                self._note(event)
            case DraftingState():
                mark = DraftMark(len(self._rounds), event.state, event.reason)
                self._marks.append(mark)
                self._note(mark)
            case Finished():
                self._finished, self.state = event, event.reason
                if not event.thinking:
                    self._forget_thinking()
            case Failed():
                self.fail(Failure(event.code, event.message, event.safe, event.action))
            case LoadProgress() | Loaded() | PromptProgress():
                pass
            case _:  # pragma: no cover
                assert_never(event)

    def fail(self, failure: Failure) -> None:
        """End with a failure; what was written stands."""
        self.failure, self.state = failure, "failed"

    def unsaved(self) -> Part:
        """What to save now; report success by `saved`."""
        self.is_unsaved = False
        records = tuple(self._unsaved)
        text, thinking = "".join(self._text), "".join(self._thinking)
        self._text, self._thinking = [text], [thinking]
        return Part(Written(text, thinking, self._thinking_s, records), len(records))

    def saved(self, part: Part) -> None:
        """`part` is on disk."""
        del self._unsaved[: part.records]

    @property
    def finished(self) -> Finished | None:
        """The engine's summary, once it came."""
        return self._finished

    def message(self) -> Message:
        """The message as it is now."""
        return replace(
            self._message,
            text="".join(self._text),
            state=self.state,
            thinking="".join(self._thinking),
            thinking_s=self._thinking_s,
            rounds=tuple(self._rounds),
            marks=tuple(self._marks),
            spans=tuple(self._spans),
            finished=self._finished,
            failure=self.failure,
        )

    def _take_text(self, event: TextDelta, now: float) -> None:
        self.has_words = self.is_unsaved = True
        if event.channel == "thinking":
            self._thinking.append(event.text)
            self._thought_since = now if self._thought_since is None else self._thought_since
            self._thinking_s = now - self._thought_since
            return
        self._text.append(event.text)
        start, self._length = self._length, self._length + len(event.text)
        span = (start, self._length, event.last_token)
        self._spans.append(span)
        self._unsaved.append(span)

    def _forget_thinking(self) -> None:
        """What was never closed came again as the answer; earlier thinking stands."""
        self._thinking, self._thinking_s = [self._message.thinking], self._message.thinking_s

    def _note(self, record: Record) -> None:
        self.has_words = self.has_words or isinstance(record, Round)
        self.is_unsaved = True
        self._unsaved.append(record)
