"""What the engine was asked for in conversations: the replies in their order, and one check."""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from itertools import takewhile

from app.checking import Check
from app.problem import ProblemError
from app.refusals import BEING_ANSWERED
from app.reply import Reply
from engine.controls import Controls


class AtWork:
    """The replies that are written or wait to be, and the check that gives way to them.

    Attributes:
        waiting: the check that gave way and was not given up since.
    """

    def __init__(self) -> None:
        self._replies: dict[int, Reply] = {}  # by conversation, in order
        self._opening: set[int] = set()
        self._opened = asyncio.Event()  # none is being opened
        self._opened.set()
        self._check: Check | None = None
        self.waiting: Check | None = None
        self._measuring: Controls | None = None

    @property
    def check(self) -> Check | None:
        """The check that was begun and is not over."""
        if self._check is not None and self._check.over.is_set():
            self._check = None
        return self._check

    @property
    def is_answering(self) -> bool:
        """Whether a reply is being written or waits to be."""
        return bool(self._opening) or any(self.reply(id_) for id_ in list(self._replies))

    def reply(self, conversation: int) -> Reply | None:
        """The reply that is written, or waits to be, in a conversation."""
        reply = self._replies.get(conversation)
        if reply is not None and reply.over.is_set():
            del self._replies[conversation]
            return None
        return reply

    def switch(self, conversation: int, on: bool) -> None:
        """Switch drafting in the reply that is written; off takes an insisting back."""
        if reply := self.reply(conversation):
            reply.controls.drafting = on
            if not on:
                reply.controls.insist = False

    def insist(self, conversation: int, on: bool) -> None:
        """Keep drafting on in the reply that is written, or let it pause again."""
        if reply := self.reply(conversation):
            reply.controls.insist = on

    def add(self, reply: Reply) -> None:
        """Take a reply in, behind those that were asked for before."""
        reply.before = lambda: self._is_behind(reply)
        self._replies[reply.conversation] = reply

    def begin(self, check: Check) -> None:
        """Make `check` the one check there is; one of another answer gives way to it."""
        self.give_way()
        self._check, self.waiting = check, None

    def stop_check(self) -> None:
        """End the check, also one that waits to be made again."""
        self.waiting = None
        if self._check is not None:
            self._check.stop()

    async def rested(self, check: Check) -> bool:
        """Wait until no reply is written; whether `check`, which gave way, is still wanted then.

        It is not when it was stopped, when another was begun, and when its conversation went.
        """
        while self.is_answering:
            await self._opened.wait()
            for reply in list(self._replies.values()):
                await reply.over.wait()
        return self.waiting is check

    def measure(self, controls: Controls) -> None:
        """Take in a measurement of the engine; it ends between two passes for other work."""
        self._measuring = controls

    def give_way(self) -> None:
        """End the check at its next token, and a measurement at its next pass, for other work."""
        if self._check is not None:
            self._check.give_way()
            self.waiting = self._check if self._check.gave_way else None
        self.stop_measuring()

    def stop_measuring(self) -> None:
        """End the measurement, if there is one, at its next pass."""
        if self._measuring is not None:
            self._measuring.stop = True

    def forget(self, conversation: int) -> None:
        """Stop what is asked for in a conversation that goes."""
        if reply := self.reply(conversation):
            reply.stop()
        if any(c and c.conversation == conversation for c in (self._check, self.waiting)):
            self.stop_check()

    def refuse_if_busy(self, conversation: int) -> None:
        """Raises: ProblemError: the conversation is being answered."""
        if conversation in self._opening or self.reply(conversation):
            raise ProblemError(BEING_ANSWERED)

    @contextmanager
    def opening(self, conversation: int) -> Generator[None, None, None]:
        """While a reply is on its way to the store; the check gives way to it.

        Raises:
            ProblemError: the conversation is being answered.
        """
        self.refuse_if_busy(conversation)
        self.give_way()
        self._opening.add(conversation)
        self._opened.clear()
        try:
            yield
        finally:
            self._opening.discard(conversation)
            if not self._opening:
                self._opened.set()

    async def close(self) -> None:
        """Stop everything, and wait until what runs is saved."""
        self.give_way()
        if self._check is not None:
            await self._check.close()
        for reply in list(self._replies.values()):
            await reply.close()

    def _is_behind(self, reply: Reply) -> bool:
        earlier = takewhile(lambda other: other is not reply, self._replies.values())
        return any(not other.over.is_set() for other in earlier)
