"""One reply on its way from the engine to the disk and to whoever looks at it."""

import asyncio
import logging
import sqlite3
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Protocol, TypeAlias

from app.confined import Confined, Running
from app.conversation import Failure, Message
from app.growing import Growing
from app.problem import Problem, ProblemError
from app.store import ConversationStore
from engine.controls import Controls
from engine.errors import EngineError
from engine.events import Event, Failed, Rechecked, RecheckProgress
from engine.facts import Facts
from engine.origin import Written
from engine.request import ModelChoice, Request

SAVE_SECONDS = 0.8  # with the time of the write, at most one second is lost by a kill
Show: TypeAlias = Callable[[list[Event]], Awaitable[None]]

_log = logging.getLogger(__name__)
_BUG = Failure(
    "bug",
    "The engine stopped because of a bug in Slipstream.",
    "Everything up to here is saved.",
    "Continue",
)


class EngineLike(Protocol):
    """What is asked of the engine, on its own thread.

    `unload` is called twice: to drop the model, and again once its cycles are collected, so that
    it can give back what they held.
    """

    def reply(self, request: Request, controls: Controls) -> Iterator[Event]:
        """Write a reply, loading its model first when it is not loaded."""
        ...

    def load(self, choice: ModelChoice, controls: Controls) -> Iterator[Event]:
        """Load a model."""
        ...

    def recheck(
        self, written: Written, choice: ModelChoice, controls: Controls
    ) -> Iterator[RecheckProgress | Rechecked]:
        """Decode a reply again plain, loading its model first when another one is loaded."""
        ...

    def unload(self) -> None:
        """Drop the model and give its memory back."""
        ...

    def facts(self, conversation: str) -> Facts | None:
        """What is known of the loaded model and the memory of a conversation."""
        ...

    def measure(self, controls: Controls) -> None:
        """Measure how exact the loaded model is on this machine; after a stop nothing is known."""
        ...

    def forget(self, conversation: str) -> None:
        """Drop what is kept for the next turn of a conversation."""
        ...

    def close(self) -> None:
        """Give everything back; nothing is asked of it afterwards."""
        ...


class Reply:
    """A reply that `run` receives to its end, whoever looks, and saves as it grows.

    `result` is the message once `run` has returned; `problem` says why it could not be saved.
    """

    def __init__(
        self,
        engine: Confined[EngineLike],
        store: Confined[ConversationStore],
        request: Request,
        *,
        user_message: Message | None,
        placeholder: Message,
    ) -> None:
        self.conversation, self.message = placeholder.conversation, placeholder.id
        self.user_message, self.placeholder = user_message, placeholder
        self.events_so_far: list[Event] = []
        self.result: Message | None = None
        self.problem: Problem | None = None
        self.controls = Controls()
        self.before: Callable[[], bool] = lambda: False  # whether others answer first
        self.over = asyncio.Event()
        self._engine, self._store, self._request = engine, store, request
        self._growing = Growing(placeholder)
        self._show: Show | None = None
        self._task: asyncio.Task[object] | None = None
        self._saved_at = time.monotonic()
        self._is_withdrawn = False
        self._view_error: Exception | None = None

    @property
    def waiting(self) -> bool:
        """Whether nothing came yet because another conversation is being answered."""
        return not self.events_so_far and not self.over.is_set() and self.before()

    def show_to(self, show: Show | None) -> None:
        """Hand the events from now on to `show`, or to nobody."""
        self._show = show

    def stop(self) -> None:
        """End the reply at its next round; at once if nothing was written yet."""
        self.controls.stop = True
        if self._task is not None and not self._growing.has_words and not self._is_withdrawn:
            self._is_withdrawn = True
            self._task.cancel()

    async def run(self, show: Show | None) -> None:
        """Receive the reply to its end, save it as it grows, and `show` every batch of events.

        Cancelling it stops the reply: what is there is saved at once, and again when the engine
        has ended it in order.

        Raises:
            ProblemError: the end could not be saved.
        """
        self._show = show
        self._task = task = asyncio.current_task()
        assert task is not None
        try:
            if self.controls.stop:
                self._growing.state = "cancelled"
            else:
                await self._receive_all()
        finally:
            self._task = None
            await self._finish()
        if self._view_error is not None:
            raise self._view_error

    async def close(self) -> None:
        """Stop the reply and wait until it is saved, also when it was never run."""
        self.stop()
        if self._task is not None:
            await self.over.wait()
        elif not self.over.is_set():
            self._growing.state = "cancelled"
            await self._finish()

    async def _receive_all(self) -> None:
        running = self._engine.begin(lambda engine: engine.reply(self._request, self.controls))
        try:
            await self._follow(running)
        except asyncio.CancelledError:
            self.controls.stop = True
            self._growing.state = "cancelled"
            task = self._task
            if self._is_withdrawn and task is not None and task.uncancel() == 0:
                running.withdraw()  # begun work ends by itself; nobody waits for it
                return
            await self._finish()
            if not running.withdraw():
                await self._drain(running)
            raise

    async def _follow(self, running: Running[Event]) -> None:
        while True:
            try:
                async with asyncio.timeout(self._patience()):
                    batch = await running.take()
            except TimeoutError:
                await self._save()
                continue
            if not batch:
                break
            await self._receive(batch)
        try:
            await running.end()
        except EngineError as error:
            await self._receive([Failed(error.code, error.message, error.safe, error.action)])
        except Exception:
            self._growing.fail(_BUG)
            raise
        if self._growing.state == "streaming":
            self._growing.state = "cancelled" if self.controls.stop else "interrupted"

    async def _receive(self, batch: list[Event]) -> None:
        placed = self._fold(batch)
        if time.monotonic() - self._saved_at >= SAVE_SECONDS:
            await self._save()
        if self._show is None:
            return
        try:
            await self._show(placed)
        except Exception as error:  # noqa: BLE001  a broken view must not cost the answer
            self._show, self._view_error = None, error

    def _fold(self, batch: list[Event]) -> list[Event]:
        placed = [self._growing.placed(event) for event in batch]
        now = time.monotonic()
        for event in placed:
            self._growing.take(event, now)
        self.events_so_far += placed
        return placed

    async def _drain(self, running: Running[Event]) -> None:
        """Take what still comes after a stop, so that the summary is kept too."""
        while batch := await running.take():
            self._fold(batch)
        try:
            await running.end()
        except Exception:  # noqa: BLE001  it was told to stop; the reply is saved already
            _log.exception("The engine failed after it was stopped.")

    def _patience(self) -> float | None:
        """Seconds until something must be saved; None when nothing waits for it."""
        if not self._growing.is_unsaved:
            return None
        return max(0.0, self._saved_at + SAVE_SECONDS - time.monotonic())

    async def _save(self) -> None:
        """Save what there is. A full disk does not end the reply: the text is held in memory."""
        part = self._growing.unsaved()
        self._saved_at = time.monotonic()
        try:
            await self._store.call(lambda store: store.grow(self.message, part.written))
        except sqlite3.Error as error:
            self._growing.is_unsaved = True
            self.problem = Problem.from_exception(error)
        else:
            self._growing.saved(part)
            self.problem = None

    async def _finish(self) -> None:
        growing, part = self._growing, self._growing.unsaved()
        self.result = growing.message()
        state, finished, failure = growing.state, growing.finished, growing.failure
        try:
            await self._store.call(
                lambda store: store.finish(self.message, part.written, state, finished, failure)
            )
        except sqlite3.Error as error:
            self.problem = Problem.from_exception(error)
            raise ProblemError(self.problem) from error
        finally:
            self.over.set()
        growing.saved(part)
        self.problem = None
