"""Coroutines started by a click: kept alive until they end, and never silent when they fail."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any


class Tasks:
    """The running tasks of one window."""

    def __init__(self, report: Callable[[BaseException], None]) -> None:
        self._report = report
        self._running: set[asyncio.Task[Any]] = set()

    def start(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Run `coroutine`; hand what it raises to `report`."""
        task = asyncio.get_event_loop().create_task(coroutine)
        self._running.add(task)
        task.add_done_callback(self._ended)

    async def cancel(self) -> None:
        """Cancel what still runs and wait until it has cleaned up.

        What fails on the way out is reported too.
        """
        while self._running:
            running = list(self._running)
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
            self._running.difference_update(running)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._running.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._report(error)
