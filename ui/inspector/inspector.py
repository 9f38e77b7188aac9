"""Keeps the inspector's panel true: from the view, the engine's facts and the running check."""

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer

from app.chat import Chat
from app.conversation import Message
from app.inspection import Inspection
from engine.events import Loaded, Round
from engine.facts import Facts
from ui.chat.checks import Checks
from ui.chat.verdict_text import told
from ui.chat.view import ChatView
from ui.inspector import texts
from ui.inspector.figures import Figures, live, of_answer
from ui.inspector.licences import licences
from ui.inspector.panel import InspectorPanel
from ui.tasks import Tasks

if TYPE_CHECKING:
    from pathlib import Path

    from app.catalogue import Found

EVERY_MS = 400  # between two looks at an answer that is being written


@dataclass(slots=True)
class _Sums:
    """What the stored messages come to; the newest answer apart from those before it."""

    before: Figures
    last: Figures
    newest: Message | None


class Inspector(QObject):
    """Nothing is gathered while the panel is hidden, and the engine is asked only when it rests."""

    def __init__(
        self,
        panel: InspectorPanel,
        view: ChatView,
        chat: Chat,
        inspection: Inspection,
        checks: Checks,
        tasks: Tasks,
    ) -> None:
        super().__init__(panel)
        self._panel, self._view, self._chat = panel, view, chat
        self._inspection, self._checks, self._tasks = inspection, checks, tasks
        self._sums = _Sums(Figures(), Figures(), None)
        self._facts: Facts | None = None
        self._facts_of: tuple[Path | None, Path | None] = (None, None)  # target, drafter
        self._pair: tuple[Found | None, Found | None] = (None, None)  # what is chosen
        self._loaded: Loaded | None = None  # of the answer that is being written
        self._live = Figures()  # of the answer that is being written
        self._seen = 0  # of its events
        self._looks = 0  # so that what was read for another chat is not shown
        self._is_measuring = False
        self._timer = QTimer(self)
        self._timer.setInterval(EVERY_MS)
        self._timer.timeout.connect(self._look)
        panel.shown.connect(self.refresh)
        view.opened.connect(self.refresh)
        view.described.connect(self.refresh)
        view.replies.changed.connect(self.refresh)
        view.drafting_shown.connect(self._tell)
        checks.changed.connect(self._check_changed)
        panel.scope_changed.connect(self._tell)
        panel.measure_asked.connect(self._measure)
        panel.check_asked.connect(self._check)
        panel.stop_asked.connect(checks.stop)
        panel.save_asked.connect(self._save)

    def refresh(self) -> None:
        """Read anew what is stored and, if the engine rests, what it knows."""
        if self._panel.isVisible():
            self._looks += 1
            self._tasks.start(self._read(self._looks))

    async def _read(self, look: int) -> None:
        here, settings = self._view.here, self._view.settings
        messages = [] if here is None else await self._chat.messages(here)
        if look == self._looks:
            self._sums = _summed(messages)
            self._pair = self._inspection.pair(settings)
            self._live, self._seen, self._loaded = Figures(), 0, None
            self._look()
        if self._inspection.is_busy:
            return  # what is known stays; the end of the work brings us here again
        facts = await self._inspection.facts(settings, here)
        if look == self._looks:
            self._facts, self._facts_of = facts, (settings.target, settings.drafter)
            self._tell()

    def _look(self) -> None:
        """Take in what the running answer has written since."""
        reply = self._view.following.reply
        if reply is None:
            self._timer.stop()
        else:
            self._timer.start()
            events = reply.events_so_far[self._seen :]
            self._seen += len(events)
            self._live = live([one for one in events if isinstance(one, Round)], self._live)
            for event in events:
                if isinstance(event, Loaded):
                    self._loaded = event
        self._tell()

    def _tell(self) -> None:
        panel, view, facts = self._panel, self._view, self._facts_here()
        figures = self._figures()
        sections, mode = panel.sections, view.settings.drafting.exactness
        panel.guesses.tell(texts.guesses(figures))
        panel.guesses.show_places(texts.places(figures))
        sections["rounds"].tell(texts.rounds(figures))
        sections["speed"].tell(texts.speed(figures))
        sections["drafting"].tell(*texts.drafting(view.following.drafting, facts))
        progress = view.following.progress
        sections["context"].tell(texts.context(progress.used, progress.limit))
        sections["memory"].tell([*texts.memory(facts, self._loaded), *licences(*self._pair)])
        note = texts.exactness_note(facts, is_busy=self._inspection.is_busy)
        sections["exactness"].tell(texts.exactness(facts, mode), note)
        missing = facts is not None and not facts.is_measured and not facts.fault
        panel.show_measure(
            can_measure=missing and not self._inspection.is_busy, is_measuring=self._is_measuring
        )
        self._tell_answer()

    def _tell_answer(self) -> None:
        newest = self._sums.newest
        if newest is None or self._view.is_answering:
            self._panel.show_answer(None)
        else:
            check = self._checks.state_of(newest.id)
            self._panel.show_answer(told(newest, check, time.time()))

    def _facts_here(self) -> Facts | None:
        """The facts, unless another model was chosen since."""
        settings = self._view.settings
        return self._facts if self._facts_of == (settings.target, settings.drafter) else None

    def _figures(self) -> Figures:
        sums = self._sums
        is_live = self._view.following.reply is not None
        last = self._live if is_live else sums.last
        if not self._panel.is_whole:
            return last
        return sums.before.plus(sums.last).plus(last if is_live else Figures())

    def _check_changed(self, message: int) -> None:
        if self._checks.state_of(message) is None:
            self.refresh()
        elif self._sums.newest is not None and self._sums.newest.id == message:
            self._tell_answer()

    def _check(self) -> None:
        if self._sums.newest is not None:
            self._checks.check(self._sums.newest.id)

    def _save(self) -> None:
        if self._sums.newest is not None:
            self._checks.save(self._sums.newest.id)

    def _measure(self) -> None:
        if self._is_measuring:
            self._inspection.stop_measuring()
        else:
            self._is_measuring = True
            self._tell()
            self._tasks.start(self._measured())

    async def _measured(self) -> None:
        try:
            await self._inspection.measure()
        finally:
            self._is_measuring = False
            self.refresh()


def _summed(messages: list[Message]) -> _Sums:
    """The sums over the finished answers."""
    answers = [m for m in messages if m.role == "assistant" and m.state != "streaming"]
    before = Figures()
    for message in answers[:-1]:
        before = before.plus(of_answer(message))
    last = of_answer(answers[-1]) if answers else Figures()
    return _Sums(before, last, answers[-1] if answers else None)
