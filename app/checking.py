"""One answer being written again without the drafter, to see whether it is the same."""

import asyncio
import sqlite3
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from app.confined import Confined
from app.conversation import Message
from app.problem import Problem, ProblemError
from app.receipts import Receipt, receipt_of, written_of
from app.reply import EngineLike
from app.store import ConversationStore
from engine.controls import Controls
from engine.events import Rechecked, RecheckProgress
from engine.origin import Written
from engine.request import ModelChoice

_OLD = "It was written by a version that did not keep what a check needs."
_LOST = "The record of how it was written is damaged."
_BROKEN_OFF = "It broke off, so what a check needs was not kept."


class Check:
    """A check that `run` takes to its end in the background.

    It is made by the model that wrote the answer; if its folder is gone, by the conversation's
    (`choice`), whose weights may be the same ones in another place.

    Attributes:
        message: the id of the message.
        conversation: the id of its conversation.
        progress: how many tokens matched so far, and of how many.
        result: what it found; None before the end, and for good once it was stopped.
        gave_way: other work of the engine stopped it, nobody else.
        over: set once `run` has returned or never will be.
    """

    def __init__(
        self,
        engine: Confined[EngineLike],
        store: Confined[ConversationStore],
        message: Message,
        choice: ModelChoice,
    ) -> None:
        self.message, self.conversation = message.id, message.conversation
        self.result: Receipt | None = None
        self.gave_way = False
        self.over = asyncio.Event()
        self._engine, self._store = engine, store
        self._written, self._reason = _written(message)
        self._choice = _writer(self._written, choice)
        self._total = len(message.finished.token_ids) if message.finished else 0
        self.progress = (0, self._total)
        wrote = sum(len(r.committed_ids) for r in message.rounds)
        self._before = max(0, wrote - self._total) if message.finished else 0
        self._controls = Controls()
        self._is_running = self._is_stopped = False

    def stop(self) -> None:
        """End it at its next token; the answer counts as not checked."""
        self._is_stopped, self.gave_way = True, False
        self._halt()

    def give_way(self) -> None:
        """End it for other work, unless it has ended."""
        if self.result is None and not self._is_stopped:
            self.stop()
            self.gave_way = True

    @property
    def target(self) -> Path:
        """The folder of the model that it is made by."""
        return self._choice.target

    async def run(self, show: Callable[["Check"], Awaitable[None]] | None = None) -> None:
        """Check to the end, `show` the progress, and save what was found with the message.

        Cancelling it stops the check.

        Raises:
            ProblemError: what was found could not be saved; `result` has it.
        """
        self._is_running = True
        try:
            found = await self._found(show)
            if found is not None and not self._is_stopped:
                await self._keep(found)
        finally:
            self.over.set()

    async def close(self) -> None:
        """Stop it and wait until the engine has left it, also when it was never run."""
        self.stop()
        if self._is_running:
            await self.over.wait()
        self.over.set()

    async def _found(self, show: Callable[["Check"], Awaitable[None]] | None) -> Rechecked | None:
        written, ends = self._written, list[Rechecked]()
        if written is None:
            return Rechecked(0, self._total, reason=self._reason)

        async def deliver(batch: list[RecheckProgress | Rechecked]) -> None:
            last = batch[-1]
            self.progress = (last.matched, last.total)
            if isinstance(last, Rechecked):
                ends.append(last)
            if show is not None:
                await show(self)

        if not self._is_stopped:
            await self._engine.stream(
                lambda engine: engine.recheck(written, self._choice, self._controls),
                deliver,
                self._halt,
            )
        return ends[0] if ends else None

    def _halt(self) -> None:
        self._controls.stop = True

    async def _keep(self, found: Rechecked) -> None:
        receipt = receipt_of(found, self._written, time.time(), self._before)
        self.result = receipt
        try:
            await self._store.call(lambda store: store.keep_receipt(self.message, receipt))
        except sqlite3.Error as error:
            raise ProblemError(Problem.from_exception(error)) from error


def has_words_to_check(message: Message) -> bool:
    """Whether a model wrote tokens of this message."""
    if message.finished is not None:
        return bool(message.finished.token_ids)
    return message.role == "assistant" and bool(message.text or message.thinking)


def _writer(written: Written | None, choice: ModelChoice) -> ModelChoice:
    """The folders to check with."""
    if written is None or choice.target == Path(written.origin.target):
        return choice
    wrote = Path(written.origin.target)
    return ModelChoice(wrote) if wrote.is_dir() else choice


def _written(message: Message) -> tuple[Written | None, str]:
    """What is to be checked, or why it cannot be."""
    finished = message.finished
    if finished is None:
        return None, _BROKEN_OFF if message.state in ("interrupted", "failed") else _LOST
    return written_of(finished), "" if finished.origin else _OLD
