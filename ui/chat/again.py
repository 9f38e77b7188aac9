"""Asking again: another answer, more of it, another question, another branch."""

from collections.abc import Awaitable, Callable

from PySide6.QtCore import QObject

from app.chat import Chat
from app.conversation import Message
from app.reply import Reply
from ui.tasks import Tasks


class Again(QObject):
    """What is asked of a message that is there already.

    `begin` shows and runs a reply in the open conversation, `reload` shows its messages anew, and
    `last` gives the messages of that conversation.
    """

    def __init__(
        self,
        chat: Chat,
        tasks: Tasks,
        begin: Callable[[Reply], Awaitable[None]],
        reload: Callable[[], Awaitable[None]],
        last: Callable[[], Awaitable[list[Message]]],
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self._chat, self._tasks = chat, tasks
        self._begin, self._reload, self._last = begin, reload, last

    def regenerate(self, message: int) -> None:
        """Answer again, beside `message`."""
        self._tasks.start(self._regenerate(message))

    def continue_(self, message: int) -> None:
        """Go on writing `message`."""
        self._tasks.start(self._continue(message))

    def edit(self, message: int, text: str) -> None:
        """Ask `text` instead of the question `message`."""
        self._tasks.start(self._edit(message, text))

    def choose(self, message: int, step: int) -> None:
        """Show the alternative `step` after `message`."""
        self._tasks.start(self._choose(message, step))

    def regenerate_last(self) -> None:
        """Answer the last question again."""
        self._tasks.start(self._regenerate_last())

    def continue_last(self) -> None:
        """Go on writing the last answer."""
        self._tasks.start(self._continue_last())

    async def _regenerate(self, message: int) -> None:
        await self._begin(await self._chat.regenerate(message))

    async def _continue(self, message: int) -> None:
        await self._begin(await self._chat.continue_(message))

    async def _edit(self, message: int, text: str) -> None:
        await self._begin(await self._chat.edit(message, text))

    async def _choose(self, message: int, step: int) -> None:
        await self._chat.choose(message, step)
        await self._reload()

    async def _regenerate_last(self) -> None:
        if messages := await self._last():
            await self._regenerate(messages[-1].id)

    async def _continue_last(self) -> None:
        messages = await self._last()
        if messages and messages[-1].role == "assistant":
            await self._continue(messages[-1].id)
