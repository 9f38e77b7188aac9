"""One conversation: joins the composer, the transcript and the reply that is being written."""

from dataclasses import replace

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QStackedLayout, QVBoxLayout, QWidget

from app.chat import Chat
from app.conversation import Conversation, Message, Settings
from app.reply import Reply
from ui import wording
from ui.chat.again import Again
from ui.chat.composer import Composer
from ui.chat.following import Following
from ui.chat.replies import Replies
from ui.chat.transcript import Transcript
from ui.chat.welcome import Welcome
from ui.scroll_bar import slim
from ui.tasks import Tasks
from ui.theme import Themes

LINE = 40  # px that one step of the wheel scrolls by


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
        self._visits = 0  # counts what was shown, so that a late answer is not shown elsewhere
        self._wishes = 0  # counts what was asked to be opened: the last wish counts
        self._unstored = 0  # changes of the settings that are on their way to the store
        self._edited: int | None = None  # the message that is being asked anew
        self.conversation: Conversation | None = None
        self.settings = defaults
        self.replies = Replies(self)
        self.transcript = Transcript(themes)
        self.welcome = Welcome(themes)
        self.composer = Composer(themes, inset=slim(self.transcript, themes, LINE))
        self.following = Following(self.transcript, self.composer, defaults)
        self._pages = QStackedLayout()
        self._pages.addWidget(self.welcome)
        self._pages.addWidget(self.transcript)
        self.again = Again(chat, tasks, self._begin, self._reload, self._here_stored, self)
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
        return self.following.reply is not None

    @property
    def model_name(self) -> str:
        """The name of the model that answers here."""
        target = self.settings.target
        return wording.STARTER if target is None else target.name

    def start_new(self, defaults: Settings) -> None:
        """Show an empty chat; it becomes a conversation with its first message."""
        self._wishes += 1
        self._leave()
        self.conversation, self.settings = None, defaults
        self._show_messages([])
        self._arrive()

    def open(self, conversation: Conversation) -> None:
        """Show `conversation`, whatever is being written there or elsewhere."""
        self._tasks.start(self._open(conversation))

    def told(self, conversation: Conversation) -> None:
        """The open conversation has another title or settings now."""
        self.conversation = conversation
        if not self._unstored:
            self.settings = conversation.settings
        self.following.set_settings(self.settings, self.model_name)
        self._show_model()
        self.described.emit()

    def set_settings(self, settings: Settings) -> None:
        """Use other settings here, from the next answer on."""
        self._tasks.start(self._set_settings(settings))

    async def write_on_plainly(self) -> None:
        """Answer the last question again; a model without a chat format writes on its text."""
        await self._set_settings(replace(self.settings, plain_text=True))
        self.again.regenerate_last()

    def set_drafting(self, on: bool) -> None:
        """Switch drafting here, also in the middle of an answer."""
        self.settings = self.following.switch(on)
        if self.here is not None:
            self._unstored += 1
            self._tasks.start(self._stored_drafting(self.here, on))

    def toggle_drafting(self) -> None:
        """Switch drafting here to what it is not."""
        self.set_drafting(not self.following.drafting.on)

    def stop(self) -> None:
        """End the answer that is being written here."""
        if self.following.reply is not None:
            self.composer.show_stopping()
            self.following.reply.stop()

    def send(self, text: str) -> None:
        """Send `text`; the box is emptied once it is saved."""
        if not self.composer.is_saving:
            self.composer.hold()
            self._tasks.start(self._send(text))

    def _connect(self) -> None:
        self.replies.ended.connect(self._ended)
        self.following.began.connect(self.replies.changed)
        self.composer.send_asked.connect(self.send)
        self.composer.stop_asked.connect(self.stop)
        self.composer.switch.shown.connect(self.drafting_shown)
        self.composer.drafting_switched.connect(self.set_drafting)
        self.composer.recall_asked.connect(self._recall)
        self.composer.dropped_asked.connect(self._drop_edit)
        self.composer.settings_asked.connect(self.settings_asked)
        self.welcome.chosen.connect(self.send)
        self.transcript.regenerate_asked.connect(self.again.regenerate)
        self.transcript.edit_asked.connect(self.again.edit)
        self.transcript.continue_asked.connect(self.again.continue_)
        self.transcript.branch_asked.connect(self.again.choose)
        self.transcript.problem_action_asked.connect(self.problem_action_asked)

    def _leave(self) -> None:
        self._visits += 1
        self._stop_editing()
        self._unsent[self.here] = self.composer.text
        self.composer.release()
        self.following.leave()

    def _arrive(self) -> None:
        self.composer.write(self._unsent.pop(self.here, ""))
        self.composer.setFocus()
        self.opened.emit()

    async def _open(self, conversation: Conversation) -> None:
        self._wishes += 1
        wish = self._wishes
        messages = await self._stored(conversation.id)
        if wish != self._wishes:
            return
        self._leave()
        self.conversation, self.settings = conversation, conversation.settings
        self._show_messages(messages)
        self._arrive()

    async def _reload(self) -> None:
        if self.here is not None:
            visit = self._visits
            messages = await self._stored(self.here)
            if visit == self._visits:
                self._show_messages(messages)

    async def _stored(self, conversation: int) -> list[Message]:
        messages = await self._chat.messages(conversation)
        is_open = any(message.state == "streaming" for message in messages)
        if is_open and self.replies.of(conversation) is None:
            return await self._chat.messages(conversation)  # it ended while it was read
        return messages

    async def _here_stored(self) -> list[Message]:
        return [] if self.here is None else await self._chat.messages(self.here)

    def _show_messages(self, messages: list[Message]) -> None:
        self.transcript.show_messages(messages)
        self._pages.setCurrentIndex(1 if messages else 0)
        self.following.show_stored(self.settings, self.model_name, messages)
        self.following.watch(self.replies.of(self.here))
        self._show_model()

    def _show_model(self) -> None:
        self.welcome.show_model(self.model_name, is_starter=self.settings.target is None)

    async def _send(self, text: str) -> None:
        visit, here, edited = self._visits, self.here, self._edited
        try:
            conversation = self.conversation or await self._chat.new(self.settings)
            if visit == self._visits:
                self.conversation = conversation
            if edited is None:
                reply = await self._chat.send(conversation.id, text)
            else:
                reply = await self._chat.edit(edited, text)
        finally:
            if visit == self._visits:
                self.composer.release()
        if visit == self._visits and self.composer.text == text:
            self._stop_editing()
            self.composer.sent()
        elif self._unsent.get(here) == text:
            del self._unsent[here]
        if edited is None:
            self._show_sent(reply)
            await self._run(reply)
        else:
            await self._begin(reply)

    def _show_sent(self, reply: Reply) -> None:
        if reply.conversation == self.here:
            self._pages.setCurrentIndex(1)
            if reply.user_message is not None:
                self.transcript.add(reply.user_message)
            self.transcript.add(reply.placeholder)

    def _recall(self) -> None:
        if not self.is_answering:
            self._tasks.start(self._edit_last())

    async def _edit_last(self) -> None:
        messages = await self._here_stored()
        asked = [message for message in messages if message.role == "user"]
        if asked and not self.composer.text and asked[-1].conversation == self.here:
            self._edited = asked[-1].id
            self.composer.write(asked[-1].text)
            self.composer.show_editing(True)

    def _drop_edit(self) -> None:
        self.composer.write("")
        self._stop_editing()

    def _stop_editing(self) -> None:
        self._edited = None
        self.composer.show_editing(False)

    async def _run(self, reply: Reply) -> None:
        self.replies.add(reply)
        show = None
        if self.here == reply.conversation:
            self.following.watch(reply)
            show = self.following.receive
        self.conversations_changed.emit()
        await self.replies.run(reply, show)

    def _ended(self, reply: Reply) -> None:
        self.following.end(reply)
        self.following.others_changed()
        self.conversations_changed.emit()

    async def _stored_drafting(self, conversation: int, on: bool) -> None:
        try:
            await self._chat.set_drafting(conversation, on)
        finally:
            self._unstored -= 1
            self.conversations_changed.emit()

    async def _set_settings(self, settings: Settings) -> None:
        if self.here is not None:
            here, was_on = self.here, self.following.drafting.on
            await self._chat.set_settings(here, settings)
            is_on = settings.drafting.wish != "off"
            if is_on != was_on:
                await self._chat.set_drafting(here, is_on)  # also for the answer that is written
            self.conversations_changed.emit()
        self.settings = settings
        self.following.set_settings(settings, self.model_name)
        self._show_model()
        self.described.emit()

    async def _begin(self, reply: Reply) -> None:
        self.replies.add(reply)
        try:
            await self._reload()
        finally:
            await self._run(reply)
