"""The one threading primitive of this program: an object that lives on a thread of its own.

An MLX array that is not evaluated yet, and an SQLite connection, may be used only on the thread
that made it. `Confined` makes that rule hard to break: the object is constructed on its thread, and
other threads reach it only through a function that runs there.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")


class Confined(Generic[T]):
    """A `T` on a thread called `name`, used from coroutines.

    It is made when it is first used, and ended by `end` on its thread. Work runs one piece at a
    time, in the order in which it was asked for.
    """

    def __init__(
        self, name: str, make: Callable[[], T], end: Callable[[T], object] = lambda _: None
    ) -> None:
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)
        self._make, self._end = make, end
        self._made: list[T] = []  # at most one; touched only on the thread

    @property
    def is_made(self) -> bool:
        """Whether the object was used already."""
        return bool(self._made)

    async def call(self, work: Callable[[T], R]) -> R:
        """Run `work` on the thread; return what it returns, or raise what it raises."""
        return await asyncio.wrap_future(self._executor.submit(lambda: work(self._object())))

    def begin(self, work: Callable[[T], Iterable[R]]) -> "Running[R]":
        """Queue `work` on the thread and return the handle of what it will yield."""
        batches = _Batches[R](asyncio.get_running_loop())

        def produce() -> None:
            for item in work(self._object()):
                batches.put(item)

        job = self._executor.submit(produce)
        job.add_done_callback(lambda _: batches.close())
        return Running(job, batches)

    async def stream(
        self,
        work: Callable[[T], Iterable[R]],
        deliver: Callable[[list[R]], Awaitable[None]],
        stop: Callable[[], None],
    ) -> None:
        """Run `work` on the thread and `deliver` here what it yields, in order, in batches.

        Whatever ends this coroutine early calls `stop`; work that has begun is then waited for,
        work that has not never begins.
        """
        running = self.begin(work)
        try:
            while batch := await running.take():
                await deliver(batch)
        finally:
            stop()
            if not running.withdraw():
                await running.end()

    async def close(self) -> None:
        """Finish what is queued, end and drop the object on its thread, then end the thread."""
        try:
            await asyncio.wrap_future(self._executor.submit(self._drop))
        finally:
            self._executor.shutdown()

    def _drop(self) -> None:
        while self._made:
            self._end(self._made.pop())

    def _object(self) -> T:
        if not self._made:
            self._made.append(self._make())
        return self._made[0]


class Running(Generic[R]):
    """Work that was begun on a confined thread, seen from the coroutine that began it.

    A batch is everything produced since the last one was taken: a slow receiver gets longer
    batches, never a backlog of wake-ups.
    """

    def __init__(self, job: "Future[None]", batches: "_Batches[R]") -> None:
        self._job, self._batches = job, batches

    async def take(self) -> list[R]:
        """What was produced since the last call; an empty list once all is taken.

        A cancelled `take` loses nothing.
        """
        return await self._batches.take()

    def withdraw(self) -> bool:
        """Whether the work had not begun, and now never will."""
        return self._job.cancel()

    async def end(self) -> None:
        """Wait until the work has ended; raise what it raised."""
        await asyncio.wrap_future(self._job)


class _Batches(Generic[R]):
    """Items put by one thread, taken in batches by one coroutine."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._lock = threading.Lock()
        self._items: list[R] = []
        self._closed = False
        self._ready = asyncio.Event()

    def put(self, item: R) -> None:
        with self._lock:
            was_empty = not self._items
            self._items.append(item)
        if was_empty:
            self._loop.call_soon_threadsafe(self._ready.set)

    def close(self) -> None:
        with self._lock:
            self._closed = True
        self._loop.call_soon_threadsafe(self._ready.set)

    async def take(self) -> list[R]:
        while True:
            with self._lock:
                if self._items or self._closed:
                    items, self._items = self._items, []
                    return items
                self._ready.clear()
            await self._ready.wait()
