"""What is asked of the engine about itself, and when it is left alone."""

import asyncio
import threading
from pathlib import Path

import pytest

import resources
from app.conversation import Settings
from engine.facts import Facts
from support.checked import CheckedEngine
from support.replies import answer, sent, start

FACTS = Facts(
    resources.path("starter"), None, "", 538_000_000, 0, 31_400_000, 602_000_000, 81_000_000,
    "float32", False, 1, (), "",
)  # fmt: skip


def test_that_looking_makes_no_engine_and_loads_nothing(play):
    engine = CheckedEngine(facts=FACTS)

    async def scene(program):
        found = await program.inspection.facts(Settings(), None)
        await program.inspection.measure()
        return found

    assert play(engine, scene) is None
    assert (engine.asked, engine.measured, engine.loaded) == ([], 0, None)


def test_that_facts_are_those_of_the_model_and_the_conversation_asked_for(play):
    engine = CheckedEngine(tokens=3, facts=FACTS)

    async def scene(program):
        reply = await sent(program)
        await answer(reply)
        inspection = program.inspection
        drafter = Settings(drafter=Path("/models/small"))
        return (
            await inspection.facts(Settings(), reply.conversation),
            await inspection.facts(Settings(target=Path("/models/other")), None),
            await inspection.facts(drafter, None),
        )

    assert play(engine, scene) == (FACTS, None, None)
    assert engine.asked == ["1", "", ""]


def test_that_nothing_is_asked_while_an_answer_is_written(play):
    gate = threading.Event()
    engine = CheckedEngine(tokens=3, gate=gate, facts=FACTS)

    async def scene(program):
        reply = await sent(program)
        task = start(reply.run(None))
        inspection = program.inspection
        busy = inspection.is_busy, await inspection.facts(Settings(), reply.conversation)
        await inspection.measure()
        gate.set()
        await task
        return busy, inspection.is_busy

    assert play(engine, scene) == ((True, None), False)
    assert (engine.asked, engine.measured) == ([], 0)


def test_that_a_check_counts_as_work_and_is_not_ended_by_looking(play):
    engine = CheckedEngine(tokens=5, wait_at=2, facts=FACTS)

    async def scene(program):
        reply = await sent(program)
        await answer(reply)
        check = await program.chat.check(reply.message)
        task = start(check.run())
        await asyncio.get_running_loop().run_in_executor(None, engine.checking.wait, 10)
        found = await program.inspection.facts(Settings(), reply.conversation)
        engine.go_on.set()
        await task
        return found, check.result.verdict

    assert play(engine, scene) == (None, "same")


def test_that_measuring_is_passed_on_once_the_engine_is_there(play):
    engine = CheckedEngine(tokens=3, facts=FACTS)

    async def scene(program):
        await answer(await sent(program))
        await program.inspection.measure()

    play(engine, scene)
    assert engine.measured == 1


@pytest.mark.parametrize("other", ["send", "load", "check", "stop", "close"])
def test_that_measuring_gives_way_to_whatever_else_is_asked(play, other):
    engine = CheckedEngine(tokens=3, facts=FACTS)
    engine.measures_long = True

    async def show(_events):
        pass

    async def scene(program):
        chat = program.chat
        reply = await sent(program)
        await answer(reply)
        task = start(program.inspection.measure())
        await asyncio.get_running_loop().run_in_executor(None, engine.measuring.wait, 10)
        assert not task.done()
        match other:
            case "send":
                assert (await answer(await chat.send(reply.conversation, "And?"))).state == "stop"
            case "load":
                await chat.load(reply.conversation, show)
            case "check":
                await (await chat.check(reply.message)).run()
            case "stop":
                program.inspection.stop_measuring()
            case _:
                return task
        await task
        return task

    task = play(engine, scene)
    assert task.done()
    assert (engine.measured, engine.interrupted) == (1, 1)


def test_that_a_measurement_whose_task_is_cancelled_leaves_the_engine(play):
    engine = CheckedEngine(tokens=3, facts=FACTS)
    engine.measures_long = True

    async def scene(program):
        await answer(await sent(program))
        task = start(program.inspection.measure())
        await asyncio.get_running_loop().run_in_executor(None, engine.measuring.wait, 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return await answer(await sent(program))

    assert play(engine, scene).state == "stop"
    assert engine.interrupted == 1
