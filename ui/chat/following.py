"""The reply that a view follows: its text, its drafting, its progress."""

import asyncio

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent

from app.conversation import Message, Settings
from app.reply import Reply
from engine.events import Event, PromptProgress
from ui import wording
from ui.chat.composer import Composer
from ui.chat.drafting import DraftingNow
from ui.chat.progress import Progress
from ui.chat.transcript import Transcript
from ui.wording import tr

FRAME_SECONDS = 1 / 20


class Following(QObject):
    """Brings one reply's events to the transcript and the composer, each exactly once.

    Signals:
        began: the first event of the followed reply came.
        noted: carries what the model's chat format made of this conversation, each sentence once.
    """

    began = Signal()
    noted = Signal(str)

    def __init__(self, transcript: Transcript, composer: Composer, settings: Settings) -> None:
        super().__init__(transcript)
        self._transcript, self._composer = transcript, composer
        self._seen = 0
        self._noted: set[tuple[int, str]] = set()  # by conversation
        self.reply: Reply | None = None
        self.drafting = DraftingNow(settings)
        self._progress = Progress("")

    @property
    def progress(self) -> Progress:
        """How far the followed reply is, and how full the context."""
        return self._progress

    def show_stored(self, settings: Settings, model: str, messages: list[Message]) -> None:
        """Show what the stored messages say about drafting and context."""
        self.drafting = DraftingNow.of(settings, messages)
        self._progress = Progress.of(model, messages)
        self._show_drafting()
        self._show_context()

    def set_settings(self, settings: Settings, model: str) -> None:
        """The conversation has other settings now."""
        kept = self.drafting.settings
        self.drafting = self.drafting.with_settings(settings)
        if (kept.target, kept.drafter) != (settings.target, settings.drafter):
            self._progress = Progress(model, used=self._progress.used)
        self._show_drafting()
        self._show_context()

    def switch(self, on: bool) -> Settings:
        """Drafting was switched by a person; return the settings that say so."""
        self.drafting = self.drafting.switched(on)
        self._show_drafting()
        return self.drafting.settings

    def leave(self) -> None:
        """Look away: the reply goes on unseen."""
        if self.reply is not None:
            self.reply.show_to(None)
            self.reply = None

    def watch(self, reply: Reply | None) -> None:
        """Follow `reply` from its first event on, also those that came before."""
        self.reply, self._seen = reply, 0
        self._composer.show_answering(reply is not None)
        if reply is not None:
            reply.show_to(self.receive)
            self._progress = self._progress.waiting(reply.waiting)
            self._catch_up(reply)

    def others_changed(self) -> None:
        """The reply may have moved up in the queue."""
        if self.reply is not None and not self._seen:
            self._progress = self._progress.waiting(self.reply.waiting)
            self._transcript.set_note(self.reply.message, self._progress.note)

    def end(self, reply: Reply) -> None:
        """`reply` is over and saved; if it is the followed one, show its final value."""
        if reply is not self.reply:
            return
        self._catch_up(reply)
        self.reply = None
        self._composer.show_answering(False)
        self._transcript.set_note(reply.message, "")
        if reply.result is not None:
            self._transcript.settle(reply.result)
            self._announce(reply.result)

    def _announce(self, message: Message) -> None:
        """Tell a screen reader, politely and once, that the answer is there."""
        if QAccessible.isActive():
            text = tr(wording.ANSWERED, words=len(message.text.split()))
            QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self._transcript, text))

    async def receive(self, _events: list[Event]) -> None:
        """Show what came; the pause makes the next batch bigger instead of the paints more."""
        if self.reply is not None:
            self._catch_up(self.reply)
        await asyncio.sleep(FRAME_SECONDS)

    def _catch_up(self, reply: Reply) -> None:
        is_first, events = self._seen == 0, reply.events_so_far[self._seen :]
        self._seen += len(events)
        drafting, note = self.drafting, self._progress.note
        for event in events:
            self.drafting = self.drafting.after(event)
            self._progress = self._progress.after(event)
            if isinstance(event, PromptProgress):
                self._note(reply.conversation, event.notes)
        if is_first or self._progress.note != note:
            self._transcript.set_note(reply.message, self._progress.note)
        if self.drafting != drafting:
            self._show_drafting()
        if events:
            self._transcript.apply(reply.message, events)
            self._show_context()
            if is_first:
                self.began.emit()

    def _note(self, conversation: int, notes: tuple[str, ...]) -> None:
        for note in notes:
            if (conversation, note) not in self._noted:
                self._noted.add((conversation, note))
                self.noted.emit(note)

    def _show_drafting(self) -> None:
        self._composer.switch.show_drafting(self.drafting)

    def _show_context(self) -> None:
        self._composer.show_context(self._progress.used, self._progress.limit)
