"""One conversation: joins the composer, the transcript and the reply that is being written."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QStackedLayout, QVBoxLayout, QWidget

from app.chat import Chat
from app.conversation import Conversation, Message, Settings
from app.reply import Reply
from ui import wording
from ui.chat.composer import Composer
from ui.chat.following import Following
from ui.chat.replies import Replies
from ui.chat.transcript import Transcript
from ui.chat.welcome import Welcome
from ui.tasks import Tasks
from ui.theme import Themes


class ChatView(QWidget):
    """Shows one conversation and sends to it; answers elsewhere go on unseen.

    Signals:
        conversations_changed: one was made, named, or answered.
        opened: another conversation is shown.
        described: its title, its settings or its models are others now.
        settings_asked: a person wants the settings of this conversation.
        problem_action_asked: carries what a person chose beside a failed answer.
        drafting_shown: carries whether drafting is wanted here.
    """

    conversations_changed = Signal()
    opened = Signal()
    described = Signal()
    settings_asked = Signal()
    problem_action_asked = Signal(str)
    drafting_shown = Signal(bool)

    def __init__(self, chat: Chat, tasks: Tasks, themes: Themes, defaults: Settings) -> None:
        super().__init__()
        self._chat, self._tasks = chat, tasks
        self._unsent: dict[int | None, str] = {}
        self._turn = 0  # counts what was opened, so that a late answer of the store is not shown
        self.conversation: Conversation | None = None
        self.settings = defaults
        self.replies = Replies(self)
        self.transcript = Transcript(themes)
        self.welcome = Welcome(themes)
        self.composer = Composer(themes)
        self._following = Following(self.transcript, self.composer, defaults)
        self._pages = QStackedLayout()
        self._pages.addWidget(self.welcome)
        self._pages.addWidget(self.transcript)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(self._pages, 1)
        layout.addWidget(self.composer)
        self.setFocusProxy(self.composer)
        self._connect()
        self._show_messages([])

    @property
    def here(self) -> int | None:
        """The conversation that is shown, None for a new one."""
        return self.conversation.id if self.conversation else None

    @property
    def is_answering(self) -> bool:
        """Whether an answer is being written here."""
        return self._following.reply is not None

    @property
    def model_name(self) -> str:
        """The name of the model that answers here."""
        target = self.settings.target
        return wording.STARTER if target is None else target.name

    def start_new(self, defaults: Settings) -> None:
        """Show an empty chat; it becomes a conversation with its first message."""
        self._leave()
        self.conversation, self.settings = None, defaults
        self._show_messages([])
        self._arrive()

    def open(self, conversation: Conversation) -> None:
        """Show `conversation`, whatever is being written there or elsewhere."""
        self._tasks.start(self._open(conversation))

    def told(self, conversation: Conversation) -> None:
        """The open conversation has another title or settings now."""
        self.conversation, self.settings = conversation, conversation.settings
        self._following.set_settings(self.settings, self.model_name)
        self._show_model()
        self.described.emit()

    def set_settings(self, settings: Settings) -> None:
        """Use other settings here, from the next answer on."""
        self._tasks.start(self._set_settings(settings))

    def set_drafting(self, on: bool) -> None:
        """Switch drafting here, also in the middle of an answer."""
        self.settings = self._following.switch(on)
        if self.here is not None:
            self._tasks.start(self._chat.set_drafting(self.here, on))

    def toggle_drafting(self) -> None:
        """Switch drafting here to what it is not."""
        self.set_drafting(not self._following.drafting.on)

    def stop(self) -> None:
        """End the answer that is being written here."""
        if self._following.reply is not None:
            self.composer.show_stopping()
            self._following.reply.stop()

    def send(self, text: str) -> None:
        """Send `text`; the box is emptied once it is saved."""
        self._tasks.start(self._send(text))

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
        self._tasks.start(self._last(goes_on=False))

    def continue_last(self) -> None:
        """Go on writing the last answer."""
        self._tasks.start(self._last(goes_on=True))

    def _connect(self) -> None:
        self.replies.ended.connect(self._ended)
        self._following.began.connect(self.replies.changed)
        self.composer.send_asked.connect(self.send)
        self.composer.stop_asked.connect(self.stop)
        self.composer.switch.shown.connect(self.drafting_shown)
        self.composer.drafting_switched.connect(self.set_drafting)
        self.composer.settings_asked.connect(self.settings_asked)
        self.welcome.chosen.connect(self.send)
        self.transcript.regenerate_asked.connect(self.regenerate)
        self.transcript.edit_asked.connect(self.edit)
        self.transcript.continue_asked.connect(self.continue_)
        self.transcript.branch_asked.connect(self.choose)
        self.transcript.problem_action_asked.connect(self.problem_action_asked)

    def _leave(self) -> None:
        self._turn += 1
        self._unsent[self.here] = self.composer.text
        self.composer.release()
        self._following.leave()

    def _arrive(self) -> None:
        self.composer.write(self._unsent.pop(self.here, ""))
        self.composer.setFocus()
        self.opened.emit()

    async def _open(self, conversation: Conversation) -> None:
        self._turn += 1
        turn = self._turn
        messages = await self._chat.messages(conversation.id)
        if turn != self._turn:
            return
        self._leave()
        self.conversation, self.settings = conversation, conversation.settings
        self._show_messages(messages)
        self._arrive()

    async def _reload(self) -> None:
        if self.here is not None:
            turn = self._turn
            messages = await self._chat.messages(self.here)
            if turn == self._turn:
                self._show_messages(messages)

    def _show_messages(self, messages: list[Message]) -> None:
        self.transcript.show_messages(messages)
        self._pages.setCurrentIndex(1 if messages else 0)
        self._following.show_stored(self.settings, self.model_name, messages)
        self._following.watch(self.replies.of(self.here))
        self._show_model()

    def _show_model(self) -> None:
        self.welcome.show_model(self.model_name, is_starter=self.settings.target is None)

    async def _send(self, text: str) -> None:
        turn, here = self._turn, self.here
        self.composer.hold()
        try:
            conversation = self.conversation or await self._chat.new(self.settings)
            if turn == self._turn:
                self.conversation = conversation
            reply = await self._chat.send(conversation.id, text)
        finally:
            if turn == self._turn:
                self.composer.release()
        if turn == self._turn:
            self._show_sent(reply, text)
        elif self._unsent.get(here) == text:
            del self._unsent[here]
        await self._run(reply)

    def _show_sent(self, reply: Reply, text: str) -> None:
        if self.composer.text == text:
            self.composer.sent()
        self._pages.setCurrentIndex(1)
        if reply.user_message is not None:
            self.transcript.add(reply.user_message)
        self.transcript.add(reply.placeholder)

    async def _run(self, reply: Reply) -> None:
        self.replies.add(reply)
        show = None
        if self.here == reply.conversation:
            self._following.watch(reply)
            show = self._following.receive
        self.conversations_changed.emit()
        await self.replies.run(reply, show)

    def _ended(self, reply: Reply) -> None:
        self._following.end(reply)
        self._following.others_changed()
        self.conversations_changed.emit()

    async def _set_settings(self, settings: Settings) -> None:
        if self.here is not None:
            await self._chat.set_settings(self.here, settings)
            self.conversations_changed.emit()
        self.settings = settings
        self._following.set_settings(settings, self.model_name)
        self._show_model()
        self.described.emit()

    async def _begin(self, reply: Reply) -> None:
        self.replies.add(reply)
        try:
            await self._reload()
        finally:
            await self._run(reply)

    async def _regenerate(self, message: int) -> None:
        await self._begin(await self._chat.regenerate(message))

    async def _continue(self, message: int) -> None:
        await self._begin(await self._chat.continue_(message))

    async def _edit(self, message: int, text: str) -> None:
        await self._begin(await self._chat.edit(message, text))

    async def _choose(self, message: int, step: int) -> None:
        await self._chat.choose(message, step)
        await self._reload()

    async def _last(self, *, goes_on: bool) -> None:
        messages = [] if self.here is None else await self._chat.messages(self.here)
        if messages and messages[-1].role == "assistant" and goes_on:
            await self._continue(messages[-1].id)
        elif messages and not goes_on:
            await self._regenerate(messages[-1].id)
