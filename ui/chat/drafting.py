"""Whether this conversation drafts now and why, as one line."""

from dataclasses import dataclass, replace

from app.conversation import Message, Settings
from engine.events import DraftingState, Event, Finished, Loaded
from ui import wording
from ui.wording import tr


@dataclass(frozen=True, slots=True)
class DraftingNow:
    """What is known about drafting: the wish, and what came of it.

    `refused` is why no drafter takes part although one was chosen, `note` a warning about one that
    does; `state` the last that the running answer reported; `speedup` that of the last answer.
    """

    settings: Settings
    refused: str = ""
    note: str = ""
    state: DraftingState | None = None
    speedup: float | None = None

    @staticmethod
    def of(settings: Settings, messages: list[Message]) -> "DraftingNow":
        """What the stored messages say."""
        done = [message.finished for message in messages if message.finished is not None]
        return DraftingNow(settings, speedup=done[-1].speedup if done else None)

    def after(self, event: Event) -> "DraftingNow":
        """What is known after `event`."""
        if isinstance(event, Loaded):
            return replace(self, refused=event.drafting_refused, note=event.note)
        if isinstance(event, DraftingState):
            return replace(self, state=event)
        if isinstance(event, Finished):
            return replace(self, speedup=event.speedup)
        return self

    def switched(self, on: bool) -> "DraftingNow":
        """What is known after a person flicked the switch."""
        kept = self.settings.drafting.wish if self.settings.drafting.wish != "off" else "auto"
        drafting = replace(self.settings.drafting, wish=kept if on else "off")
        return replace(self, settings=replace(self.settings, drafting=drafting), state=None)

    def with_settings(self, settings: Settings) -> "DraftingNow":
        """What is known when other settings are chosen; another drafter was not refused yet."""
        same = (settings.target, settings.drafter) == (self.settings.target, self.settings.drafter)
        state = self.state if settings.drafting.wish == self.settings.drafting.wish else None
        kept = replace(self, settings=settings, state=state)
        return kept if same else replace(kept, refused="", note="")

    @property
    def on(self) -> bool:
        """Whether drafting is wanted here."""
        return self.settings.drafting.wish != "off"

    @property
    def is_paused(self) -> bool:
        """Whether it is wanted but rests, because plain decoding is faster now."""
        return self.on and self.state is not None and self.state.state == "paused"

    @property
    def line(self) -> str:
        """The reason or the result, in one line."""
        if not self.on:
            return tr(wording.DRAFT_OFF)
        if self.is_paused:
            return self._paused_line()
        if self.state is not None and self.state.state == "off" and self.state.reason:
            return tr(wording.DRAFT_OFF_BECAUSE, reason=self.state.reason)
        if self.state is not None and self.state.state == "on" and self.state.plain_rate:
            return self.state.reason  # kept on
        if self.refused:
            return tr(wording.DRAFT_REFUSED, reason=self.refused)
        if self.note:
            return self.note
        if self.speedup is not None:
            return tr(wording.DRAFT_SPEEDUP, speedup=self.speedup)
        if self.settings.drafter is None:
            return tr(wording.DRAFT_COPIES)
        return tr(wording.DRAFT_READY, drafter=self.settings.drafter.name)

    def _paused_line(self) -> str:
        state = self.state
        assert state is not None
        if state.drafted_rate is None or state.plain_rate is None:
            text = tr(wording.DRAFT_PAUSED)
        else:
            rates = {"drafted": state.drafted_rate, "plain": state.plain_rate}
            text = tr(wording.DRAFT_PAUSED_RATES, **rates)
        if state.next_probe is not None:
            text += tr(wording.DRAFT_NEXT, tokens=state.next_probe)
        return text
