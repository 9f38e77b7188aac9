import asyncio

from ui.tasks import Tasks


def test_that_what_a_task_raises_is_reported(loop, until, errors):
    async def fail():
        raise OSError("no")

    async def scene():
        tasks = Tasks(errors.append)
        tasks.start(fail())
        await until(lambda: len(errors) == 1)

    loop.run_until_complete(scene())
    assert [str(error) for error in errors] == ["no"]


def test_that_cancelling_waits_for_what_cleans_up(loop, errors):
    log = []

    async def slow():
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            log.append("clean")

    async def scene():
        tasks = Tasks(errors.append)
        tasks.start(slow())
        await asyncio.sleep(0)
        await tasks.cancel()

    loop.run_until_complete(scene())
    assert log == ["clean"]
    assert errors == []


def test_that_what_a_task_starts_while_it_ends_is_cancelled_too(loop, errors):
    log = []

    async def late():
        try:
            await asyncio.Event().wait()
        finally:
            log.append("late")

    async def scene():
        tasks = Tasks(errors.append)

        async def early():
            try:
                await asyncio.Event().wait()
            finally:
                tasks.start(late())
                await asyncio.sleep(0)

        tasks.start(early())
        await asyncio.sleep(0)
        await tasks.cancel()

    loop.run_until_complete(scene())
    assert log == ["late"]
    assert errors == []
