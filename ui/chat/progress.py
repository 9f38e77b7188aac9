"""What a running answer says before its first word, and how full the context is."""

from dataclasses import dataclass, replace

from app.conversation import Message
from engine.events import Event, Finished, Loaded, LoadProgress, PromptProgress, Round, TextDelta
from ui import wording
from ui.wording import tr


@dataclass(frozen=True, slots=True)
class Progress:
    """The note in the place of the answer, and the tokens used of the context's limit.

    `model` names what is being loaded.
    """

    model: str
    note: str = ""
    used: int = 0
    limit: int = 0

    @staticmethod
    def of(model: str, messages: list[Message]) -> "Progress":
        """What the stored messages say about the context."""
        done = [message.finished for message in messages if message.finished is not None]
        if not done:
            return Progress(model)
        return Progress(model, used=done[-1].context_used, limit=done[-1].context_limit)

    def waiting(self, behind_another: bool) -> "Progress":
        """Before the first event."""
        text = wording.NOTE_WAITING if behind_another else wording.NOTE_STARTING
        return replace(self, note=tr(text))

    def after(self, event: Event) -> "Progress":
        """After `event`."""
        match event:
            case LoadProgress():
                percent = round(100 * event.done / event.total) if event.total else 0
                note = tr(wording.NOTE_LOADING, name=self.model, percent=percent)
                return replace(self, note=note)
            case Loaded():
                return replace(self, note=tr(wording.NOTE_STARTING), limit=event.context_limit)
            case PromptProgress():
                note = tr(wording.NOTE_READING, done=event.done, total=event.total)
                return replace(self, note=note, used=event.total)
            case Round():
                return replace(self, used=self.used + len(event.committed_ids))
            case TextDelta():
                return replace(self, note="")
            case Finished():
                return replace(
                    self, note="", used=event.context_used, limit=event.context_limit or self.limit
                )
            case _:
                return replace(self, note="")
