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
from ui.tasks import Tasks
from ui.wording import tr

SHOW_SECONDS = 0.2  # between two numbers of the same check
FILE_NAME = "slipstream-report-{message}.json"


class Checks(QObject):
    """Brings the one check that runs to the transcript; other work of the engine ends it.

    Signals:
        changed: carries the message whose check began, went on or ended.
    """

    changed = Signal(int)

    def __init__(self, chat: Chat, tasks: Tasks, transcript: Transcript) -> None:
        super().__init__(transcript)
        self._chat, self._tasks, self._transcript = chat, tasks, transcript
        transcript.check_asked.connect(self.check)
        transcript.stop_check_asked.connect(self.stop)
        transcript.save_asked.connect(self.save)

    def progress_of(self, message: int) -> tuple[int, int] | None:
        """How far the check of `message` is, None when none runs."""
        check = self._chat.checking
        return check.progress if check is not None and check.message == message else None

    def check(self, message: int) -> None:
        """Write the answer `message` again without drafting, and compare."""
        self._tasks.start(self._check(message))

    def check_last(self, conversation: int) -> None:
        """Check the last answer of a conversation."""
        self._tasks.start(self._check_last(conversation))

    def stop(self) -> None:
        """End the check; its answer counts as not checked."""
        if self._chat.checking is not None:
            self._chat.checking.stop()

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
        self._tell(check)
        try:
            await check.run(self._show)
        finally:
            self._end(check)

    async def _check_last(self, conversation: int) -> None:
        messages = await self._chat.messages(conversation)
        if messages:
            await self._check(messages[-1].id)

    async def _show(self, check: Check) -> None:
        self._tell(check)
        await asyncio.sleep(SHOW_SECONDS)

    def _tell(self, check: Check) -> None:
        self._transcript.show_check(check.message, check.progress)
        self.changed.emit(check.message)

    def _end(self, check: Check) -> None:
        if check.result is not None:
            self._transcript.show_receipt(check.message, check.result)
        else:
            self._transcript.show_check(check.message, None)
        self.changed.emit(check.message)

    async def _save(self, message: int, path: Path) -> None:
        receipt = (await self._chat.message(message)).receipt
        if receipt is not None:
            receipts.save(receipt, path)
