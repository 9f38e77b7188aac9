import asyncio
import threading

import pytest

from engine.events import LoadProgress, PromptProgress, TextDelta
from support.replies import sent, start, stored, text_of
from support.scripted import SlowEngine, words


def test_that_stop_in_the_middle_keeps_the_text_and_the_summary(play):
    async def scene(program):
        reply = await sent(program)

        async def show(batch):
            if any(isinstance(e, TextDelta) for e in batch):
                reply.stop()
                reply.stop()

        await reply.run(show)
        return reply, await stored(program, reply)

    _, message = play(SlowEngine(1, tokens=5_000), scene)
    assert message.state == "cancelled"
    assert message.finished.reason == "cancelled"
    written = sum(len(r.committed_ids) for r in message.rounds)
    assert 0 < written < 5_000
    assert message.text == text_of(0, written)


@pytest.mark.parametrize("moment", [LoadProgress, PromptProgress], ids=["loading", "reading"])
def test_that_stop_before_the_first_word_is_idle_at_once_though_the_engine_is_busy(play, moment):
    gate = threading.Event()
    engine = SlowEngine(tokens=3)
    undisturbed = engine.reply

    def hang(request, controls):
        for event in undisturbed(request, controls):
            yield event
            if isinstance(event, moment):
                gate.wait()

    engine.reply = hang

    async def scene(program):
        reply = await sent(program)
        begun = asyncio.Event()

        async def show(batch):
            if any(isinstance(event, moment) for event in batch):
                begun.set()

        task = start(reply.run(show))
        await begun.wait()
        reply.stop()
        await task
        assert not gate.is_set()  # the engine still hangs
        assert program.chat.running(reply.conversation) is None
        message = await stored(program, reply)
        assert (message.text, message.state) == ("", "cancelled")
        gate.set()
        again = await program.chat.send(reply.conversation, "hi")
        await again.run(None)
        return await program.chat.messages(reply.conversation)

    messages = play(engine, scene)
    assert [m.state for m in messages] == ["stop", "cancelled", "stop", "stop"]
    assert messages[-1].text == text_of(0, 3)
    assert [turn.text for turn in engine.requests[1].turns] == ["Why?", "hi"]


def test_that_stop_before_run_never_reaches_the_engine(play):
    engine = SlowEngine()

    async def scene(program):
        reply = await sent(program)
        reply.stop()
        await reply.run(None)
        return await stored(program, reply)

    assert play(engine, scene).state == "cancelled"
    assert engine.requests == []


def test_that_replies_of_other_conversations_wait_in_order_and_say_so(play):
    gate = threading.Event()
    engine = SlowEngine(tokens=3, gate=gate)

    async def scene(program):
        replies = [await sent(program, f"question {n}") for n in range(3)]
        begun = asyncio.Event()

        async def show(batch):
            begun.set()

        tasks = [start(reply.run(show)) for reply in replies]
        await begun.wait()
        waiting = [reply.waiting for reply in replies]
        gate.set()
        await asyncio.gather(*tasks)
        return waiting, [reply.waiting for reply in replies]

    assert play(engine, scene) == ([False, True, True], [False, False, False])
    assert [r.turns[0].text for r in engine.requests] == ["question 0", "question 1", "question 2"]


def test_that_a_reply_does_not_wait_for_one_that_has_ended_or_was_asked_later(play):
    async def scene(program):
        first, second, third = [await sent(program, f"question {n}") for n in range(3)]
        before = [first.waiting, second.waiting, third.waiting]
        await first.run(None)
        return before, [second.waiting, third.waiting]

    assert play(SlowEngine(tokens=1), scene) == ([False, True, True], [False, True])


def test_that_stopping_a_waiting_reply_withdraws_it_and_leaves_the_first_alone(play):
    gate = threading.Event()
    engine = SlowEngine(tokens=3, gate=gate)

    async def scene(program):
        first, second = await sent(program, "first"), await sent(program, "second")
        tasks = [start(first.run(None)), start(second.run(None))]
        while not first.events_so_far:
            await asyncio.sleep(0)
        second.stop()
        await tasks[1]
        gate.set()
        await tasks[0]
        return first.result, second.result

    first, second = play(engine, scene)
    assert (first.state, second.state, second.text) == ("stop", "cancelled", "")
    assert len(engine.requests) == 1


def test_that_cancelling_the_task_saves_what_is_there_as_stopped(play):
    async def scene(program):
        reply = await sent(program)
        begun = asyncio.Event()

        async def show(batch):
            if any(isinstance(e, TextDelta) for e in batch):
                begun.set()

        task = start(reply.run(show))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return reply.result, await stored(program, reply)

    result, message = play(SlowEngine(1, tokens=5_000), scene)
    assert message == result
    assert message.state == "cancelled"
    assert message.text.startswith("word0 ")
    assert message.finished.reason == "cancelled"


def test_that_cancelling_saves_before_it_waits_for_an_engine_that_hangs(play, until):
    hangs, gate = threading.Event(), threading.Event()
    engine = SlowEngine(tokens=40)
    decode = engine._decode

    def hang(request, controls):
        for event in decode(request, controls):
            yield event
            if event == TextDelta("answer", words(9), 9, 9):
                hangs.set()
                gate.wait()

    engine._decode = hang

    async def scene(program):
        reply = await sent(program)
        task = start(reply.run(None))
        await until(hangs.is_set)
        task.cancel()
        await until(reply.over.is_set)
        message = await stored(program, reply)
        assert not task.done()
        gate.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        return message, await stored(program, reply)

    early, late = play(engine, scene)
    assert (early.text, early.state, early.finished) == (text_of(0, 10), "cancelled", None)
    assert (late.text[: len(early.text)], late.state, late.finished.reason) == (
        early.text,
        "cancelled",
        "cancelled",
    )


def test_that_cancelling_a_waiting_task_withdraws_it(play):
    gate = threading.Event()
    engine = SlowEngine(tokens=3, gate=gate)

    async def scene(program):
        first, second = await sent(program, "first"), await sent(program, "second")
        tasks = [start(first.run(None)), start(second.run(None))]
        while not first.events_so_far:
            await asyncio.sleep(0)
        tasks[1].cancel()
        with pytest.raises(asyncio.CancelledError):
            await tasks[1]
        gate.set()
        await tasks[0]
        return second.result.state

    assert play(engine, scene) == "cancelled"
    assert len(engine.requests) == 1


def test_that_an_engine_that_breaks_while_it_is_stopped_harms_nothing(play):
    gate = threading.Event()

    async def scene(program):
        reply = await sent(program)
        task = start(reply.run(None))
        while not reply.events_so_far:
            await asyncio.sleep(0)
        task.cancel()
        gate.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        return await stored(program, reply)

    engine = SlowEngine(tokens=9, crash_at=0, gate=gate)
    engine.stays_deaf = True
    assert play(engine, scene).state == "cancelled"


def test_that_a_reply_that_was_never_run_is_closed_as_cancelled(play, folders):
    async def first(program):
        return await sent(program)

    reply = play(SlowEngine(), first)
    assert reply.result.state == "cancelled"

    async def second(program):
        assert program.problems == ()
        return await program.chat.messages(reply.conversation)

    assert play(SlowEngine(), second)[-1].state == "cancelled"
