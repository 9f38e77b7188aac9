"""A scripted engine whose replies can be written again, and that tells facts about itself."""

import threading
import time
from dataclasses import replace

from engine.events import Rechecked, RecheckProgress
from engine.origin import Machine, Origin
from support.scripted import SlowEngine

MACHINE = Machine("1.0", "0.32", "0.31", "cpu openblas", "a chip", "Linux")


def origin(request):
    """Where a scripted reply to `request` comes from."""
    drafting = request.drafting
    return Origin("/models/a", "id", None, "", MACHINE, drafting.exactness, request.sampling)


class CheckedEngine(SlowEngine):
    """Compares as it is told: `differs_at` a token, `cannot` for a reason, otherwise the same.

    A check waits at token `wait_at` until `go_on` is set or it is stopped; `checking` is set there.
    With `measures_long` a measurement ends by a stop alone; `measuring` is set when it has begun.
    """

    def __init__(self, *, differs_at=None, cannot="", wait_at=None, facts=None, **more):
        super().__init__(**more)
        self.differs_at, self.cannot, self.wait_at = differs_at, cannot, wait_at
        self.go_on, self.checking = threading.Event(), threading.Event()
        self.told, self.measured, self.asked = facts, 0, []
        self.measures_long, self.measuring, self.interrupted = False, threading.Event(), 0

    def _decode(self, request, controls):
        for event in super()._decode(request, controls):
            if hasattr(event, "token_ids"):
                event = replace(
                    event, origin=origin(request), passes=((39, 39),), plain_ms=50.0, plain_steps=9,
                    context_used=40 + len(event.token_ids), context_limit=8192,
                )  # fmt: skip
            yield event

    def recheck(self, written, choice, controls):
        total = len(written.token_ids)
        if self.cannot:
            yield Rechecked(0, total, reason=self.cannot)
            return
        for n in range(total):
            if n == self.wait_at:
                self.checking.set()
                while not self.go_on.is_set() and not controls.stop:
                    time.sleep(0.002)
            if controls.stop:
                return
            if n == self.differs_at:
                yield Rechecked(n, total, n, " however", " but", 0.031)
                return
            yield RecheckProgress(n + 1, total)
        yield Rechecked(total, total)

    def facts(self, conversation):
        self.asked.append(conversation)
        return self.told

    def measure(self, controls):
        self.measured += 1
        if self.measures_long:
            self.measuring.set()
            while not controls.stop:
                time.sleep(0.002)
            self.interrupted += 1
