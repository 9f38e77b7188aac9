"""Drafting switched off for the pair of an answer that differs, and on again."""

from PySide6.QtCore import QObject

from app.chat import Chat
from app.conversation import Settings
from app.pairs import pair_of, pair_that_wrote, seeded, switched
from app.settings import SettingsFile
from ui.chat.view import ChatView
from ui.tasks import Tasks


class PairSwitch(QObject):
    """Keeps which pairs begin chats without drafting, and shows it at their answers."""

    def __init__(self, chat: Chat, file: SettingsFile, tasks: Tasks, view: ChatView) -> None:
        super().__init__(view)
        self._chat, self._file, self._tasks, self._view = chat, file, tasks, view
        view.transcript.pair_asked.connect(self.switch)
        view.transcript.show_plain_pairs(file.current.plain_pairs)

    def switch(self, message: int, on: bool) -> None:
        """Let the pair that wrote `message` draft in new chats, and here if it is used here."""
        self._tasks.start(self._switch(message, on))

    def choose(self, settings: Settings) -> None:
        """Use other settings in the open chat; another pair begins as it was switched."""
        if pair_of(settings) != pair_of(self._view.settings):
            settings = seeded(self._file.current, settings)
        self._view.set_settings(settings)

    async def _switch(self, message: int, on: bool) -> None:
        about = await self._chat.message(message)
        pair = pair_that_wrote(about)
        if pair is None:
            return
        try:
            self._file.write(switched(self._file.current, pair, on))
        finally:  # what cannot be written holds until the end of this run
            self._view.transcript.show_plain_pairs(self._file.current.plain_pairs)
            if self._view.here == about.conversation and pair_of(self._view.settings) == pair:
                self._view.set_drafting(on)
