"""The answers that are being written, in this conversation and in others."""

from PySide6.QtCore import QObject, Signal

from app.reply import Reply, Show


class Replies(QObject):
    """Runs each reply to its end, whoever looks.

    Signals:
        changed: an answer began, moved up or ended.
        ended: carries the reply, once it is saved.
    """

    changed = Signal()
    ended = Signal(object)

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._replies: dict[int, Reply] = {}

    @property
    def answering(self) -> set[int]:
        """The conversations in which an answer is being written or waits."""
        return set(self._replies)

    @property
    def waiting(self) -> set[int]:
        """The conversations whose answer waits for another's."""
        return {id_ for id_, reply in self._replies.items() if reply.waiting}

    def of(self, conversation: int | None) -> Reply | None:
        """The reply that is being written in a conversation."""
        return None if conversation is None else self._replies.get(conversation)

    def add(self, reply: Reply) -> None:
        """`reply` is about to run."""
        self._replies[reply.conversation] = reply

    async def run(self, reply: Reply, show: Show | None) -> None:
        """Receive `reply` to its end."""
        self.add(reply)
        self.changed.emit()
        try:
            await reply.run(show)
        finally:
            del self._replies[reply.conversation]
            self.changed.emit()
            self.ended.emit(reply)
