import asyncio
import sqlite3
import threading

import pytest

from app.problem import ProblemError
from engine.events import Failed, Finished, LoadProgress, Round, TextDelta
from tests.support.scripted import SlowEngine, words


def text_of(first, last):
    return "".join(words(n) for n in range(first, last))


async def sent(program, text="Why?"):
    conversation = await program.chat.new()
    return await program.chat.send(conversation.id, text)


def start(coroutine):
    return asyncio.get_running_loop().create_task(coroutine)


async def stored(program, reply):
    return await program.chat.message(reply.message)


def test_that_the_events_are_shown_in_order_and_the_message_is_on_disk_as_it_ended(play):
    async def scene(program):
        reply = await sent(program)
        seen = []

        async def show(batch):
            seen.extend(batch)

        await reply.run(show)
        return seen, reply, await stored(program, reply)

    seen, reply, message = play(SlowEngine(tokens=30, thinking=4), scene)
    assert seen == reply.events_so_far
    assert isinstance(seen[0], LoadProgress)
    assert isinstance(seen[-1], Finished)
    assert message == reply.result
    assert (message.text, message.thinking, message.state) == (
        text_of(4, 30),
        text_of(0, 4),
        "stop",
    )
    assert message.rounds == tuple(e for e in seen if isinstance(e, Round))
    assert message.finished == seen[-1]
    assert [message.text[a:b] for a, b, _ in message.spans] == [words(n) for n in range(4, 30)]
    assert message.thinking_s is not None


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


@pytest.mark.parametrize("while_", ["loading", "reading"])
def test_that_stop_before_the_first_word_is_idle_at_once_though_the_engine_is_busy(play, while_):
    gate, started = threading.Event(), threading.Event()
    engine = SlowEngine(tokens=3, gate=gate, started=started)

    async def scene(program):
        reply = await sent(program)
        begun = asyncio.Event()

        async def show(batch):
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


def test_that_what_was_written_is_saved_while_it_grows_also_when_no_more_comes(
    play, monkeypatch, until
):
    monkeypatch.setattr("app.reply.SAVE_SECONDS", 0.05)
    gate = threading.Event()
    engine = SlowEngine(tokens=40)
    decode = engine._decode

    def stall(request, controls):
        events = decode(request, controls)
        for event in events:
            yield event
            if event == TextDelta("answer", words(9), 9, 9):
                gate.wait()

    engine._decode = stall

    async def scene(program):
        reply = await sent(program)
        task = start(reply.run(None))

        def is_on_disk():
            path = program.folders.data / "conversations.db"
            db = sqlite3.connect(path)
            try:
                row = db.execute(
                    "SELECT text, state FROM message WHERE id = ?", (reply.message,)
                ).fetchone()
            finally:
                db.close()
            return row == (text_of(0, 10), "streaming")

        try:
            await until(is_on_disk)
        finally:
            gate.set()
        await task
        return await stored(program, reply)

    message = play(engine, scene)
    assert message.text == text_of(0, 40)
    assert len(message.rounds) == len({r.index for r in message.rounds})


def test_that_a_full_disk_does_not_end_the_reply_and_says_so(play, monkeypatch):
    monkeypatch.setattr("app.reply.SAVE_SECONDS", 0.0)

    async def scene(program):
        reply = await sent(program)
        problems = []

        async def show(batch):
            problems.append(reply.problem)
            if len(problems) == 1:
                await program.chat._store.call(lambda s: s._db.execute("PRAGMA max_page_count = 1"))

        with pytest.raises(ProblemError) as caught:
            await reply.run(show)
        return reply, problems, caught.value.problem

    reply, problems, problem = play(SlowEngine(0.2, tokens=2_000), scene)
    assert problem.title == "The disk is full"
    assert "held in memory" in problem.safe
    assert problems[0] is None
    assert problem == reply.problem
    assert reply.result.text == text_of(0, 2_000)


def test_that_a_disk_with_room_again_gets_everything_that_was_held(play, monkeypatch):
    monkeypatch.setattr("app.reply.SAVE_SECONDS", 0.0)

    async def scene(program):
        reply = await sent(program)
        seen = []

        async def limit(pages):
            await program.chat._store.call(
                lambda s: s._db.execute(f"PRAGMA max_page_count = {pages}")
            )

        async def show(batch):
            seen.append(reply.problem)
            if len(seen) == 1:
                await limit(1)
            elif reply.problem is not None:
                await limit(100_000)

        await reply.run(show)
        return seen, reply, await stored(program, reply)

    seen, reply, message = play(SlowEngine(0.2, tokens=2_000), scene)
    assert any(problem is not None for problem in seen)
    assert reply.problem is None
    assert message == reply.result
    assert message.text == text_of(0, 2_000)


def test_that_a_reply_that_was_never_run_is_closed_as_cancelled(play, folders):
    async def first(program):
        return await sent(program)

    reply = play(SlowEngine(), first)
    assert reply.result.state == "cancelled"

    async def second(program):
        assert program.problems == ()
        return await program.chat.messages(reply.conversation)

    assert play(SlowEngine(), second)[-1].state == "cancelled"
