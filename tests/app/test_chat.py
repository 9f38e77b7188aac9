import asyncio
import threading
from dataclasses import replace
from pathlib import Path

import pytest

import resources
from app.conversation import Settings
from app.problem import ProblemError
from app.settings import AppSettings
from engine.events import Failed, Loaded, LoadProgress, Round
from engine.request import Drafting, ModelChoice, Sampling, Turn
from support.replies import answer, sent, start, talk
from support.scripted import SlowEngine


def test_that_each_question_is_asked_with_what_was_said_before(play):
    engine = SlowEngine(tokens=2)

    async def scene(program):
        conversation = await talk(program.chat, "one", "two")
        return conversation, await program.chat.messages(conversation)

    conversation, messages = play(engine, scene)
    assert [(m.role, m.text) for m in messages] == [
        ("user", "one"), ("assistant", "word0 word1 "), ("user", "two"), ("assistant", "word0 word1 "),
    ]  # fmt: skip
    assert engine.requests[1].turns == (
        Turn("user", "one"),
        Turn("assistant", "word0 word1 "),
        Turn("user", "two"),
    )
    assert engine.requests[1].conversation == str(conversation)


def test_that_a_new_conversation_has_the_usual_settings_and_keeps_them(play):
    async def scene(program):
        chat = program.chat
        usual = Settings(system="Be kind.", sampling=Sampling(temperature=0.2))
        program.settings.write(replace(AppSettings(), defaults=usual))
        conversation = await chat.new()
        program.settings.write(AppSettings())
        return usual, conversation.settings, (await chat.conversations())[0].settings

    usual, made, stored = play(SlowEngine(), scene)
    assert usual == made == stored


def test_that_settings_reach_the_next_request(play):
    engine = SlowEngine(tokens=1)
    settings = Settings(
        Path("/m"),
        Path("/d"),
        "Be kind.",
        Sampling(0.5, seed=9),
        Drafting("off"),
        7,
        ("END",),
        False,
    )

    async def scene(program):
        conversation = await program.chat.new()
        await program.chat.set_settings(conversation.id, settings)
        await answer(await program.chat.send(conversation.id, "one"))

    play(engine, scene)
    (request,) = engine.requests
    assert request.model == ModelChoice(Path("/m"), Path("/d"))
    assert request.turns[0] == Turn("system", "Be kind.")
    assert (request.sampling, request.drafting, request.max_tokens, request.stop, request.thinking) == (
        Sampling(0.5, seed=9), Drafting("off"), 7, ("END",), False,
    )  # fmt: skip


def test_that_settings_out_of_bounds_are_refused_and_the_old_stand(play):
    async def scene(program):
        conversation = await program.chat.new()
        with pytest.raises(ProblemError, match="max_tokens is not between"):
            await program.chat.set_settings(conversation.id, Settings(max_tokens=0))
        with pytest.raises(ProblemError, match="temperature"):
            await program.chat.new(Settings(sampling=Sampling(temperature=-1)))
        return await program.chat.conversations()

    (conversation,) = play(SlowEngine(), scene)
    assert conversation.settings == Settings()


@pytest.mark.parametrize("text", ["", " \n\t "])
def test_that_nothing_cannot_be_sent(play, text):
    async def scene(program):
        conversation = await talk(program.chat, "one")
        messages = await program.chat.messages(conversation)
        with pytest.raises(ProblemError, match="no text"):
            await program.chat.send(conversation, text)
        with pytest.raises(ProblemError, match="no text"):
            await program.chat.edit(messages[0].id, text)
        assert await program.chat.messages(conversation) == messages

    play(SlowEngine(), scene)


def test_that_a_conversation_is_answered_once_at_a_time(play):
    gate = threading.Event()

    async def scene(program):
        chat = program.chat
        conversation = (await chat.new()).id
        one, two = await asyncio.gather(
            chat.send(conversation, "one"), chat.send(conversation, "two"), return_exceptions=True
        )
        assert isinstance(two, ProblemError)
        assert chat.running(conversation) is one
        for refused in (
            chat.send(conversation, "x"),
            chat.regenerate(one.message),
            chat.choose(one.message, 1),
        ):
            with pytest.raises(ProblemError, match="One answer at a time"):
                await refused
        gate.set()
        await answer(one)
        assert chat.running(conversation) is None
        await answer(await chat.send(conversation, "two"))
        return await chat.messages(conversation)

    assert [m.text for m in play(SlowEngine(tokens=1, gate=gate), scene)] == [
        "one",
        "word0 ",
        "two",
        "word0 ",
    ]


def test_that_deleting_stops_the_answer_and_can_be_undone(play):
    engine = SlowEngine(1, tokens=5_000)

    async def scene(program):
        chat = program.chat
        conversation = (await chat.new()).id
        reply = await chat.send(conversation, "one")
        begun = asyncio.Event()

        async def show(batch):
            if any(isinstance(e, Round) for e in batch):
                begun.set()

        task = asyncio.get_running_loop().create_task(reply.run(show))
        await begun.wait()
        await chat.delete(conversation)
        assert await chat.conversations() == []
        await task
        await chat.restore(conversation)
        await chat.unload()  # after what was queued
        return await chat.messages(conversation), str(conversation)

    messages, conversation = play(engine, scene)
    assert messages[-1].state == "cancelled"
    assert messages[-1].text.startswith("word0 ")
    assert engine.forgotten == [conversation]


def test_that_what_needs_no_engine_makes_none(folders, play):
    def make():
        raise AssertionError("an engine was made")

    from app.program import running

    async def main():
        async with running(folders, engine=make) as program:
            chat = program.chat
            conversation = (await chat.new()).id
            await chat.rename(conversation, "# A  name")
            await chat.pin(conversation, True)
            await chat.unload()
            await chat.delete(conversation)
            await chat.restore(conversation)
            return await chat.conversations()

    (conversation,) = asyncio.run(main())
    assert (conversation.title, conversation.pinned) == ("A name", True)


def test_that_a_model_is_loaded_before_it_is_asked(play):
    engine = SlowEngine(tokens=1)

    async def scene(program):
        seen = []

        async def show(batch):
            seen.extend(batch)

        conversation = (await program.chat.new()).id
        await program.chat.load(conversation, show)
        await answer(await program.chat.send(conversation, "one"))
        return seen

    seen = play(engine, scene)
    assert {type(e) for e in seen} == {LoadProgress, Loaded}
    assert engine.loaded == ModelChoice(resources.path("starter"))


def test_that_a_model_that_is_refused_is_told_like_a_failure(play):
    async def scene(program):
        seen = []

        async def show(batch):
            seen.extend(batch)

        await program.chat.load((await program.chat.new()).id, show)
        return seen

    assert play(SlowEngine(refuse=True), scene) == [
        Failed("no_weights", "There are no weights.", "All is saved.", "Choose another")
    ]


def test_that_unloading_collects_between_dropping_and_giving_back(play):
    order = []

    class Noting(SlowEngine):
        def unload(self):
            super().unload()
            order.append(("unload", threading.current_thread()))

    async def scene(program):
        program.chat._collect = lambda: order.append(("collect", threading.current_thread()))
        await talk(program.chat, "one")
        await program.chat.unload()

    engine = Noting()
    play(engine, scene)
    assert [what for what, _ in order] == ["unload", "collect", "unload"]
    assert order[1][1] is threading.main_thread()
    assert order[0][1] is order[2][1] is not threading.main_thread()
    assert engine.loaded is None


def test_that_a_message_of_a_conversation_that_is_gone_is_refused(play):
    async def scene(program):
        for refused in (
            program.chat.regenerate(5), program.chat.edit(5, "x"), program.chat.continue_(5), program.chat.choose(5, 1),
        ):  # fmt: skip
            with pytest.raises(ProblemError, match="deleted"):
                await refused

    play(SlowEngine(), scene)


def test_that_conversations_are_found_by_what_was_said(play):
    async def scene(program):
        one, two = await talk(program.chat, "apples"), await talk(program.chat, "pears")
        found = [
            [c.id for c in await program.chat.conversations(w)] for w in ("apple", "word0", "plum")
        ]
        return one, two, found

    one, two, found = play(SlowEngine(tokens=1), scene)
    assert found == [[one], [two, one], []]


def test_that_messages_read_while_a_reply_ends_show_how_it_ended(play):
    gate = threading.Event()

    async def scene(program):
        reply = await sent(program)
        task = start(reply.run(None))
        while not reply.events_so_far:
            await asyncio.sleep(0)
        store, read = program.chat._store, program.chat._store.call

        async def call(work):
            result = await read(work)  # what was on disk while it was written
            gate.set()
            store.call = read
            await task
            return result

        store.call = call
        messages = await program.chat.messages(reply.conversation)
        return messages[-1], reply.result

    message, result = play(SlowEngine(tokens=3, gate=gate), scene)
    assert message == result
    assert message.state == "stop"
