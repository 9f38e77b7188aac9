import asyncio

import pytest

from engine.events import Failed, LoadProgress, TextDelta
from support.replies import sent, start, stored, text_of
from support.scripted import SlowEngine


def test_that_a_failure_of_the_world_is_shown_and_kept_with_the_text(play):
    async def scene(program):
        reply = await sent(program)
        await reply.run(None)
        return reply, await stored(program, reply)

    reply, message = play(SlowEngine(tokens=30, fail_at=10), scene)
    assert message.state == "failed"
    assert message.failure.code == "script"
    assert message.text == text_of(0, 11)
    assert isinstance(reply.events_so_far[-1], Failed)


def test_that_a_refusal_raised_by_the_engine_is_told_like_a_failure(play):
    async def scene(program):
        reply = await sent(program)
        seen = []

        async def show(batch):
            seen.extend(batch)

        await reply.run(show)
        return seen, await stored(program, reply)

    seen, message = play(SlowEngine(refuse=True), scene)
    assert seen == [
        Failed("no_weights", "There are no weights.", "All is saved.", "Choose another")
    ]
    assert (message.state, message.failure.code) == ("failed", "no_weights")


def test_that_a_bug_in_the_engine_is_raised_and_the_text_is_kept(play):
    async def scene(program):
        reply = await sent(program)
        with pytest.raises(RuntimeError, match="crashes here"):
            await reply.run(None)
        return await stored(program, reply)

    message = play(SlowEngine(tokens=30, crash_at=10), scene)
    assert (message.state, message.failure.code) == ("failed", "bug")
    assert message.text == text_of(0, 11)


def test_that_an_engine_that_ends_without_a_word_leaves_an_interrupted_reply(play):
    engine = SlowEngine()
    engine._finished = lambda controls, rounds, written: LoadProgress("target", 1, 1)

    async def scene(program):
        reply = await sent(program)
        await reply.run(None)
        return reply.result

    assert play(engine, scene).state == "interrupted"


def test_that_a_view_that_breaks_does_not_cost_the_answer(play):
    async def scene(program):
        reply = await sent(program)

        async def show(batch):
            raise ZeroDivisionError("in the view")

        with pytest.raises(ZeroDivisionError, match="in the view"):
            await reply.run(show)
        return await stored(program, reply)

    message = play(SlowEngine(tokens=12), scene)
    assert (message.text, message.state) == (text_of(0, 12), "stop")


def test_that_a_view_may_leave_and_another_catch_up_without_a_gap(play):
    async def scene(program):
        reply = await sent(program)
        first, second = [], []
        left = asyncio.Event()

        async def show_first(batch):
            first.extend(batch)
            if any(isinstance(e, TextDelta) for e in batch):
                reply.show_to(None)
                left.set()

        async def show_second(batch):
            second.extend(batch)

        task = start(reply.run(show_first))
        await left.wait()
        running = (await program.chat.messages(reply.conversation))[-1]
        assert running == reply.placeholder
        second.extend(reply.events_so_far)
        reply.show_to(show_second)
        await task
        return first, second, reply

    first, second, reply = play(SlowEngine(1, tokens=200), scene)
    assert second == reply.events_so_far
    assert first == second[: len(first)]
    assert len(first) < len(second)
