import asyncio
import threading

import pytest

from app.confined import Confined


def test_that_the_object_is_made_and_used_on_one_other_thread():
    async def main():
        confined = Confined("place", threading.current_thread)
        assert not confined.is_made
        made_on = await confined.call(lambda thread: thread)
        used_on = await confined.call(lambda _: threading.current_thread())
        assert confined.is_made
        await confined.close()
        return made_on, used_on

    made_on, used_on = asyncio.run(main())
    assert made_on is used_on
    assert made_on is not threading.main_thread()
    assert made_on.name.startswith("place")


def test_that_work_runs_one_piece_at_a_time_in_the_order_asked_for():
    async def main():
        confined = Confined("order", list)
        await asyncio.gather(*(confined.call(lambda seen, n=n: seen.append(n)) for n in range(50)))
        seen = await confined.call(list)
        await confined.close()
        return seen

    assert asyncio.run(main()) == list(range(50))


def test_that_a_failing_make_reaches_who_waits_for_it_as_itself():
    def make():
        raise OSError("no engine here")

    async def main():
        confined = Confined("failing", make)
        with pytest.raises(OSError, match="no engine here"):
            await confined.call(lambda thing: thing)
        with pytest.raises(OSError, match="no engine here"):
            await confined.stream(lambda thing: [thing], forget, lambda: None)
        await confined.close()

    asyncio.run(main())


async def forget(batch):
    assert batch


def test_that_a_failure_in_the_middle_comes_after_what_was_yielded_before_it():
    def work(_):
        yield 1
        yield 2
        raise ValueError("here")

    async def main():
        confined, seen = Confined("middle", object), []

        async def deliver(batch):
            seen.extend(batch)

        with pytest.raises(ValueError, match="here"):
            await confined.stream(work, deliver, lambda: None)
        await confined.close()
        return seen

    assert asyncio.run(main()) == [1, 2]


def test_that_twenty_thousand_items_arrive_in_order_in_far_fewer_batches():
    async def main():
        confined, seen, batches = Confined("many", object), [], 0

        async def deliver(batch):
            nonlocal batches
            batches += 1
            seen.extend(batch)
            await asyncio.sleep(0)

        await confined.stream(lambda _: iter(range(20_000)), deliver, lambda: None)
        await confined.close()
        return seen, batches

    seen, batches = asyncio.run(main())
    assert seen == list(range(20_000))
    assert batches < 5_000


def test_that_a_slow_receiver_gets_all_that_waits_in_one_batch():
    produced = threading.Event()

    def work(_):
        yield from range(100)
        produced.set()

    async def main():
        confined, sizes = Confined("slow", object), []

        async def deliver(batch):
            sizes.append(len(batch))
            produced.wait()  # blocks the loop on purpose: the receiver is slow

        await confined.stream(work, deliver, lambda: None)
        await confined.close()
        return sizes

    sizes = asyncio.run(main())
    assert sum(sizes) == 100
    assert len(sizes) <= 2


def test_that_cancelling_stops_begun_work_and_waits_for_it():
    begun, stopped, ended = threading.Event(), threading.Event(), threading.Event()

    def work(_):
        yield 1
        begun.set()
        stopped.wait()
        ended.set()

    async def main():
        confined = Confined("begun", object)
        async with asyncio.TaskGroup() as group:
            task = group.create_task(confined.stream(work, forget, stopped.set))
            while not begun.is_set():
                await asyncio.sleep(0)
            task.cancel()
        assert ended.is_set()
        await confined.close()

    asyncio.run(main())


def test_that_work_which_has_not_begun_never_begins_once_cancelled():
    let_go, began = threading.Event(), threading.Event()

    async def main():
        confined = Confined("queued", object)
        first = confined.begin(lambda _: iter([let_go.wait()]))
        async with asyncio.TaskGroup() as group:
            task = group.create_task(
                confined.stream(lambda _: iter([began.set()]), forget, lambda: None)
            )
            await asyncio.sleep(0)
            task.cancel()
        let_go.set()
        await first.end()
        await confined.close()

    asyncio.run(main())
    assert not began.is_set()


def test_that_a_cancelled_take_loses_nothing():
    let_go = threading.Event()

    def work(_):
        let_go.wait()
        yield "kept"

    async def main():
        confined = Confined("take", object)
        running = confined.begin(work)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await running.take()
        let_go.set()
        taken = await running.take()
        assert await running.take() == []
        await confined.close()
        return taken

    assert asyncio.run(main()) == ["kept"]


def test_that_closing_ends_the_object_on_its_thread_once_all_is_done():
    ended = []

    async def main():
        confined = Confined(
            "ended", list, lambda seen: ended.append((seen, threading.current_thread()))
        )
        thread = await confined.call(lambda _: threading.current_thread())
        confined.begin(lambda seen: iter([seen.append("last")]))
        await confined.close()
        return thread

    thread = asyncio.run(main())
    assert ended == [(["last"], thread)]


def test_that_what_was_never_made_is_not_ended():
    async def main():
        await Confined("never", list, pytest.fail).close()

    asyncio.run(main())


def test_that_a_failing_end_ends_the_thread_all_the_same():
    async def main():
        confined = Confined("failing", lambda: 0, lambda zero: 1 // zero)
        thread = await confined.call(lambda _: threading.current_thread())
        with pytest.raises(ZeroDivisionError):
            await confined.close()
        return thread

    assert not asyncio.run(main()).is_alive()


def test_that_closing_drops_the_object_on_its_thread():
    dropped_on = []

    class Thing:
        def __del__(self):
            dropped_on.append(threading.current_thread())

    async def main():
        confined = Confined("dropped", Thing)
        thread = await confined.call(lambda _: threading.current_thread())
        await confined.close()
        return thread

    thread = asyncio.run(main())
    assert dropped_on == [thread]
