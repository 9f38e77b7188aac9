"""What is known of the loaded model, asked only when the engine rests."""

from app.catalogue import Catalogue, Found
from app.chat import Chat
from app.confined import Confined
from app.conversation import Settings
from app.reply import EngineLike
from app.turns import model_of
from engine.facts import Facts


class Inspection:
    """Never loads a model, and never waits for an answer that is being written."""

    def __init__(self, engine: Confined[EngineLike], chat: Chat, catalogue: Catalogue) -> None:
        self._engine, self._chat, self._catalogue = engine, chat, catalogue

    @property
    def is_busy(self) -> bool:
        """Whether an answer is written or checked, so that nothing is asked of the engine."""
        return self._chat.is_answering or self._chat.checking is not None

    async def facts(self, settings: Settings, conversation: int | None) -> Facts | None:
        """What is known of the model of `settings`; None while it is not loaded or is busy."""
        if self.is_busy or not self._engine.is_made:
            return None
        key = "" if conversation is None else str(conversation)
        found = await self._engine.call(lambda engine: engine.facts(key))
        choice = model_of(settings)
        if found is None or (found.target, found.drafter) != (choice.target, choice.drafter):
            return None
        return found

    def pair(self, settings: Settings) -> tuple[Found | None, Found | None]:
        """What the chosen model and drafter are, by their folders; the engine is not asked."""
        choice, find = model_of(settings), self._catalogue.find
        return find(choice.target), None if choice.drafter is None else find(choice.drafter)

    async def measure(self) -> None:
        """Measure what is not known yet of the loaded model's exactness; seconds if it is small.

        It gives way to whatever else is asked of the engine, and then nothing was measured.
        """
        if not self.is_busy and self._engine.is_made:
            await self._chat.measure()

    def stop_measuring(self) -> None:
        """End the measurement; what it would have found stays unknown."""
        self._chat.stop_measuring()
