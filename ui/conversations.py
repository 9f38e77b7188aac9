"""What a person does with conversations: find, open, name, pin, delete, bring back."""

from collections.abc import Awaitable
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from app.chat import Chat
from app.pairs import seeded
from app.settings import SettingsFile
from ui import wording
from ui.chat.view import ChatView
from ui.problem_bar import ProblemBar
from ui.sidebar import Sidebar
from ui.tasks import Tasks
from ui.wording import tr

if TYPE_CHECKING:
    from app.conversation import Conversation


class Conversations(QObject):
    """Keeps the sidebar true and opens in the view what is chosen there."""

    def __init__(
        self, chat: Chat, settings: SettingsFile, tasks: Tasks, sidebar: Sidebar, view: ChatView,
        bar: ProblemBar,
    ) -> None:  # fmt: skip
        super().__init__(view)
        self._chat, self._settings, self._tasks = chat, settings, tasks
        self._sidebar, self._view, self._bar = sidebar, view, bar
        self._listed: dict[int, Conversation] = {}
        self._reloads = 0
        sidebar.opened.connect(self.open)
        sidebar.new_asked.connect(self.new)
        sidebar.search_changed.connect(self.reload)
        sidebar.rename_asked.connect(self.rename)
        sidebar.pin_asked.connect(self.pin)
        sidebar.delete_asked.connect(self.delete)
        view.conversations_changed.connect(self.reload)
        view.replies.changed.connect(self._show_marks)
        view.opened.connect(self._opened)

    async def begin(self, last: int | None) -> None:
        """List the conversations and open the one that was open when the program ended."""
        await self._reload()
        if last is not None and last in self._listed and self._view.here is None:
            self.open(last)

    def reload(self) -> None:
        """List the conversations anew."""
        self._tasks.start(self._reload())

    def new(self) -> None:
        """Begin an empty chat."""
        app = self._settings.current
        self._view.start_new(seeded(app, app.defaults))

    def open(self, conversation: int) -> None:
        """Show a conversation that is listed."""
        if conversation in self._listed:
            self._sidebar.show_current(conversation)
            self._view.open(self._listed[conversation])

    def rename(self, conversation: int, title: str) -> None:
        """Give a conversation another title."""
        self._tasks.start(self._then_reload(self._chat.rename(conversation, title)))

    def pin(self, conversation: int, pinned: bool) -> None:
        """Keep a conversation at the top, or not."""
        self._tasks.start(self._then_reload(self._chat.pin(conversation, pinned)))

    def delete(self, conversation: int) -> None:
        """Delete a conversation; it can be brought back for a while."""
        self._tasks.start(self._delete(conversation))

    def restore(self, conversation: int) -> None:
        """Bring a deleted conversation back."""
        self._tasks.start(self._restore(conversation))

    def rename_here(self) -> None:
        """Let the title of the open conversation be typed over."""
        if self._view.here is not None:
            self._sidebar.edit_title(self._view.here)

    def pin_here(self) -> None:
        """Pin the open conversation, or unpin it."""
        if self._view.conversation is not None:
            self.pin(self._view.conversation.id, not self._view.conversation.pinned)

    def delete_here(self) -> None:
        """Delete the open conversation."""
        if self._view.here is not None:
            self.delete(self._view.here)

    async def _reload(self) -> None:
        self._reloads += 1
        turn, search = self._reloads, self._sidebar.search_text
        found = await self._chat.conversations(search)
        if turn != self._reloads:
            return
        self._listed = {one.id: one for one in found}
        self._sidebar.show_conversations(found)
        self._opened()
        self._show_marks()
        view, here = self._view, self._view.here
        if here is not None and here in self._listed:
            stored = self._listed[here]
            if (stored, stored.settings) != (view.conversation, view.settings):
                view.told(stored)

    async def _then_reload(self, change: Awaitable[None]) -> None:
        await change
        await self._reload()

    async def _delete(self, conversation: int) -> None:
        title = self._listed[conversation].title if conversation in self._listed else ""
        await self._chat.delete(conversation)
        if self._view.here == conversation:
            self.new()
        await self._reload()
        self._bar.show_notice(tr(wording.DELETED, title=title), wording.UNDO, conversation)

    async def _restore(self, conversation: int) -> None:
        await self._chat.restore(conversation)
        await self._reload()
        self.open(conversation)

    def _opened(self) -> None:
        self._sidebar.show_current(self._view.here)

    def _show_marks(self) -> None:
        replies = self._view.replies
        self._sidebar.show_marks(replies.answering, replies.waiting)
