"""Checking an answer: asked, shown while it runs, stopped, and its report saved."""

import asyncio
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import QFileDialog

from app import receipts
from app.chat import Chat
from app.checking import Check
from ui.chat import verdict_text
from ui.chat.transcript import Transcript
from ui.chat.verdict_text import CheckState
from ui.tasks import Tasks
from ui.wording import tr

SHOW_SECONDS = 0.2  # between two numbers of the same check
FILE_NAME = "slipstream-report-{message}.json"


class Checks(QObject):
    """Brings the checks to the transcript: one at a time, which gives way to all other work.

    One that gave way is made again by itself, once; after that it waits to be asked for.

    Signals:
        changed: carries the message whose check began, went on or ended.
    """

    changed = Signal(int)

    def __init__(self, chat: Chat, tasks: Tasks, transcript: Transcript) -> None:
        super().__init__(transcript)
        self._chat, self._tasks, self._transcript = chat, tasks, transcript
        self._states: dict[int, CheckState] = {}  # by message
        transcript.check_asked.connect(self.check)
        transcript.stop_check_asked.connect(self.stop)
        transcript.save_asked.connect(self.save)

    def state_of(self, message: int) -> CheckState | None:
        """How far the check of `message` is, None when there is none."""
        return self._states.get(message)

    def check(self, message: int) -> None:
        """Write the answer `message` again without drafting, and compare."""
        self._tasks.start(self._check(message))

    def check_last(self, conversation: int) -> None:
        """Check the last answer of a conversation."""
        self._tasks.start(self._check_last(conversation))

    def stop(self) -> None:
        """End the check; its answer counts as not checked."""
        self._chat.stop_check()
        for message in [one for one, state in self._states.items() if state == "waiting"]:
            self._tell(message, None)

    def save(self, message: int) -> None:
        """Ask where the report of `message` is to be kept, and write it there."""
        name = FILE_NAME.format(message=message)
        dialog = QFileDialog(self._transcript, tr(verdict_text.SAVE), name)
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix("json")
        dialog.setNameFilter("JSON (*.json)")
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(partial(self._save_to, message))
        dialog.open()

    def _save_to(self, message: int, path: str) -> None:
        self._tasks.start(self._save(message, Path(path)))

    async def _check(self, message: int) -> None:
        check = await self._chat.check(message)
        if not await self._gave_way(check):
            return
        self._tell(message, "waiting")
        again = None
        try:
            again = await self._chat.check_again(check)
        finally:
            if again is None and self.state_of(message) == "waiting":
                self._tell(message, "gave way")
        if again is not None and await self._gave_way(again):
            self._tell(message, "gave way")

    async def _gave_way(self, check: Check) -> bool:
        """Run a check; whether it ended for other work."""
        self._tell(check.message, check.progress)
        try:
            await check.run(self._show)
        finally:
            self._end(check)
        return check.gave_way

    async def _check_last(self, conversation: int) -> None:
        messages = await self._chat.messages(conversation)
        if messages:
            await self._check(messages[-1].id)

    async def _show(self, check: Check) -> None:
        self._tell(check.message, check.progress)
        await asyncio.sleep(SHOW_SECONDS)

    def _tell(self, message: int, state: CheckState | None) -> None:
        self._states.pop(message, None)
        if state is not None:
            self._states[message] = state
        self._transcript.show_check(message, state)
        self.changed.emit(message)

    def _end(self, check: Check) -> None:
        if check.gave_way:
            return  # what comes of that is told next
        if check.result is None:
            self._tell(check.message, None)
        else:
            self._states.pop(check.message, None)
            self._transcript.show_receipt(check.message, check.result)
            self.changed.emit(check.message)

    async def _save(self, message: int, path: Path) -> None:
        receipt = (await self._chat.message(message)).receipt
        if receipt is not None:
            receipts.save(receipt, path)
