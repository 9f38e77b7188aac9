import sqlite3
import threading

import pytest

from app.problem import ProblemError
from engine.events import Finished, LoadProgress, Round, TextDelta
from support.replies import sent, start, stored, text_of
from support.scripted import SlowEngine, words


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
