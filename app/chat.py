"""The use cases of chatting."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from app.at_work import AtWork
from app.checking import Check, has_words_to_check
from app.confined import Confined
from app.conversation import Conversation, Message, Settings
from app.pairs import seeded
from app.problem import ProblemError
from app.refusals import (
    BEING_CHECKED,
    BEING_WRITTEN,
    GONE,
    NOTHING_TO_CHECK,
    NOTHING_TO_SEND,
    unusable,
)
from app.reply import EngineLike, Reply, Show
from app.settings import SettingsFile, complaints_about
from app.store import ConversationStore
from app.turns import model_of, request_for, sound, title_of
from engine.controls import Controls
from engine.errors import EngineError
from engine.events import Failed
from engine.request import Request


class Chat:
    """Conversations, the replies that are being written in them, and the check of one.

    Replies are written one at a time, in the order in which they were asked for. While a message
    is being written, `messages` gives it as it was before; `Reply.events_so_far` is the rest. A
    check gives way to whatever else is asked of the engine.
    """

    def __init__(
        self,
        engine: Confined[EngineLike],
        store: Confined[ConversationStore],
        settings: SettingsFile,
        collect: Callable[[], object],
    ) -> None:
        self._engine, self._store, self._settings = engine, store, settings
        self._collect = collect  # Python's collector, on the thread that may run it
        self._work = AtWork()

    async def conversations(self, search: str = "") -> list[Conversation]:
        """Those whose title or messages have all words of `search`; pinned first, then newest."""
        return await self._store.call(lambda store: store.conversations(search))

    async def messages(self, conversation_id: int) -> list[Message]:
        """The shown branch, root to leaf; their summaries without the ids of the prompts."""
        before = self.running(conversation_id)
        messages = await self._store.call(lambda store: store.messages(conversation_id))
        reply = self.running(conversation_id) or before  # it may have ended since they were read
        if reply is None:
            return messages
        now = reply.result or reply.placeholder
        return [now if m.id == reply.message else m for m in messages]

    async def message(self, message_id: int) -> Message:
        """One message with everything that is kept of it.

        Raises:
            ProblemError: it is gone.
        """
        message = await self._store.call(lambda store: store.message(message_id))
        if message is None:
            raise ProblemError(GONE)
        return message

    async def new(self, settings: Settings | None = None) -> Conversation:
        """A new conversation, with the usual settings if none are given."""
        app = self._settings.current
        chosen = self._checked(settings or seeded(app, app.defaults))
        return await self._store.call(lambda store: store.add_conversation(chosen))

    async def rename(self, conversation_id: int, title: str) -> None:
        """Give a conversation another title."""
        name = title_of(title)
        await self._store.call(lambda store: store.rename(conversation_id, name))

    async def pin(self, conversation_id: int, pinned: bool) -> None:
        """Keep a conversation at the top, or not."""
        await self._store.call(lambda store: store.pin(conversation_id, pinned))

    async def delete(self, conversation_id: int) -> None:
        """Stop what is written in a conversation and hide it; it goes at the next start."""
        self._work.forget(conversation_id)
        await self._store.call(lambda store: store.delete(conversation_id))
        if self._engine.is_made:
            self._engine.begin(lambda engine: _forget(engine, conversation_id))

    async def restore(self, conversation_id: int) -> None:
        """Undo `delete`."""
        await self._store.call(lambda store: store.restore(conversation_id))

    async def set_settings(self, conversation_id: int, settings: Settings) -> None:
        """Replace the settings of a conversation, from its next reply on.

        Whether drafting may pause holds from the next round on.
        """
        checked = self._checked(settings)
        self._work.insist(conversation_id, checked.drafting.wish == "on")
        await self._store.call(lambda store: store.set_settings(conversation_id, checked))

    async def set_drafting(self, conversation_id: int, on: bool) -> None:
        """Switch drafting, for the next round of a reply that is being written and from then on."""
        self._work.switch(conversation_id, on)

        def switch(store: ConversationStore) -> None:
            if conversation := store.conversation(conversation_id):
                settings = conversation.settings
                kept = settings.drafting.wish if settings.drafting.wish != "off" else "auto"
                drafting = replace(settings.drafting, wish=kept if on else "off")
                store.set_settings(conversation_id, replace(settings, drafting=drafting))

        await self._store.call(switch)

    async def send(self, conversation_id: int, text: str) -> Reply:
        """Save the user's message with an empty reply after it, and return that reply.

        Raises:
            ProblemError: there is no text, or this conversation is being answered.
        """
        words = sound(text)
        if not words.strip():
            raise ProblemError(NOTHING_TO_SEND)

        def add(store: ConversationStore) -> tuple[Message | None, Message]:
            branch = store.messages(conversation_id)
            parent = branch[-1].id if branch else None
            return store.add_turn(conversation_id, parent, words, title_of(words))

        return await self._open(conversation_id, add)

    async def regenerate(self, message_id: int) -> Reply:
        """Answer again, beside the answer `message_id` (or below the question of that id)."""
        message = await self.message(message_id)
        parent = message.id if message.role == "user" else message.parent
        return await self._open(
            message.conversation, lambda s: s.add_turn(message.conversation, parent, None)
        )

    async def edit(self, message_id: int, text: str) -> Reply:
        """Ask `text` instead of the question `message_id`, in a branch beside it."""
        words = sound(text)
        if not words.strip():
            raise ProblemError(NOTHING_TO_SEND)
        message = await self.message(message_id)
        return await self._open(
            message.conversation, lambda s: s.add_turn(message.conversation, message.parent, words)
        )

    async def continue_(self, message_id: int) -> Reply:
        """Go on writing the answer `message_id`."""
        message = await self.message(message_id)
        if not message.text:
            return await self.regenerate(message_id)
        return await self._open(
            message.conversation, lambda s: (None, s.reopen(message_id)), goes_on=True
        )

    async def choose(self, message_id: int, step: int) -> None:
        """Show the alternative that is `step` after (or before) a message."""
        message = await self.message(message_id)
        self._work.refuse_if_busy(message.conversation)
        await self._store.call(lambda store: store.choose(message_id, step))

    def running(self, conversation_id: int) -> Reply | None:
        """The reply that is written, or waits to be, in a conversation."""
        return self._work.reply(conversation_id)

    @property
    def checking(self) -> Check | None:
        """The check that was begun and is not over."""
        return self._work.check

    @property
    def is_answering(self) -> bool:
        """Whether a reply is being written or waits to be."""
        return self._work.is_answering

    async def check(self, message_id: int) -> Check:
        """A check of an answer, to be run; one of another answer gives way to it.

        Raises:
            ProblemError: there is nothing to check, it is being checked, or an answer is written.
        """
        check = await self._check_of(message_id)
        if self.is_answering:
            raise ProblemError(BEING_WRITTEN)
        if self.checking is not None and self.checking.message == message_id:
            raise ProblemError(BEING_CHECKED)
        self._work.begin(check)
        return check

    async def check_again(self, check: Check) -> Check | None:
        """Another check of the answer whose check gave way, once the engine rests.

        None if it is not wanted any more, or if its model was left: none is loaded for it again.
        """
        while await self._work.rested(check):
            facts = await self._engine.call(lambda engine: engine.facts(""))
            if facts is None or facts.target != check.target:
                break
            again = await self._check_of(check.message)
            if not self.is_answering and self._work.waiting is check:
                self._work.begin(again)
                return again
        return None

    def stop_check(self) -> None:
        """End the check, also one that waits to be made again; its answer counts as not checked."""
        self._work.stop_check()

    async def measure(self) -> None:
        """Measure how exact the loaded model is here; other work of the engine ends that."""
        self._work.give_way()
        controls = Controls()
        self._work.measure(controls)
        try:
            await self._engine.call(lambda engine: engine.measure(controls))
        finally:
            controls.stop = True

    def stop_measuring(self) -> None:
        """End the measurement; what it would have found stays unknown."""
        self._work.stop_measuring()

    async def load(self, conversation_id: int, show: Show) -> None:
        """Load the model of a conversation before it is asked anything."""
        self._work.give_way()
        conversation = await self._store.call(lambda s: s.conversation(conversation_id))
        choice = model_of(conversation.settings if conversation else Settings())
        controls = Controls()

        def stop() -> None:
            controls.stop = True

        try:
            await self._engine.stream(lambda engine: engine.load(choice, controls), show, stop)
        except EngineError as error:
            await show([Failed(error.code, error.message, error.safe, error.action)])

    async def unload(self) -> None:
        """Give the memory of the models back, after the replies that were asked for."""
        self._work.give_way()
        if not self._engine.is_made:
            return
        await self._engine.call(lambda engine: engine.unload())
        self._collect()
        await self._engine.call(lambda engine: engine.unload())

    async def close(self) -> None:
        """Stop every reply and the check, and wait until what runs is saved."""
        await self._work.close()

    async def _open(
        self,
        conversation_id: int,
        change: Callable[[ConversationStore], tuple[Message | None, Message]],
        *,
        goes_on: bool = False,
    ) -> Reply:
        def open_(store: ConversationStore) -> tuple[Message | None, Message, Request]:
            user, placeholder = change(store)
            path = store.path(placeholder.id)
            conversation = store.conversation(conversation_id)
            settings = conversation.settings if conversation else Settings()
            return user, placeholder, request_for(settings, path, goes_on=goes_on)

        with self._work.opening(conversation_id):
            user, placeholder, request = await self._store.call(open_)
        reply = Reply(
            self._engine, self._store, request, user_message=user, placeholder=placeholder
        )
        self._work.add(reply)
        return reply

    async def _check_of(self, message_id: int) -> Check:
        message = await self.message(message_id)
        conversation = await self._store.call(lambda s: s.conversation(message.conversation))
        if not has_words_to_check(message):
            raise ProblemError(NOTHING_TO_CHECK)
        choice = model_of(conversation.settings if conversation else Settings())
        return Check(self._engine, self._store, message, choice)

    def _checked(self, settings: Settings) -> Settings:
        if complaints := complaints_about(settings):
            raise ProblemError(unusable(complaints))
        return settings


def _forget(engine: EngineLike, conversation: int) -> Iterator[None]:
    engine.forget(str(conversation))
    yield
