import asyncio

from app.conversation import Settings
from engine.events import DraftingState, Round
from engine.request import Drafting, Turn
from support.replies import answer, talk
from support.scripted import SlowEngine


def test_that_answering_again_edits_and_choices_make_and_show_branches(play):
    engine = SlowEngine(tokens=1)

    async def scene(program):
        chat = program.chat
        conversation = await talk(chat, "one")
        question, first = await chat.messages(conversation)
        second = await answer(await chat.regenerate(first.id))
        third = await answer(await chat.regenerate(question.id))
        assert [(m.parent, m.position, m.alternatives) for m in (second, third)] == [
            (question.id, 2, 2),
            (question.id, 3, 3),
        ]
        edited = await chat.edit(question.id, "uno")
        assert edited.user_message.text == "uno"
        await answer(edited)
        assert [m.text for m in await chat.messages(conversation)] == ["uno", "word0 "]
        await chat.choose(edited.user_message.id, -1)
        assert [m.id for m in await chat.messages(conversation)] == [question.id, third.id]
        await chat.choose(third.id, -2)
        assert [m.id for m in await chat.messages(conversation)] == [question.id, first.id]
        assert [c.title for c in await chat.conversations()] == ["one"]

    play(engine, scene)
    assert [r.turns for r in engine.requests] == [(Turn("user", "one"),)] * 3 + [
        (Turn("user", "uno"),)
    ]
    assert [r.sampling.seed for r in engine.requests] == [0, 1, 2, 0]


def test_that_an_answer_goes_on_where_it_was(play):
    engine = SlowEngine(tokens=2)

    async def scene(program):
        conversation = await talk(program.chat, "one")
        (_, first) = await program.chat.messages(conversation)
        reply = await program.chat.continue_(first.id)
        assert reply.placeholder.text == first.text
        return first, await answer(reply), await program.chat.message(first.id)

    first, result, message = play(engine, scene)
    assert message == result
    assert (result.id, result.text) == (first.id, "word0 word1 word0 word1 ")
    assert [r.index for r in result.rounds] == list(range(len(result.rounds)))
    assert len(result.rounds) == 2 * len(first.rounds)
    assert engine.requests[1].continue_last
    assert engine.requests[1].turns[-1] == Turn("assistant", "word0 word1 ")


def test_that_an_answer_without_words_is_begun_anew(play):
    engine = SlowEngine(tokens=2)

    async def scene(program):
        conversation = (await program.chat.new()).id
        reply = await program.chat.send(conversation, "one")
        reply.stop()
        await answer(reply)
        again = await answer(await program.chat.continue_(reply.message))
        return reply.message, again

    stopped, again = play(engine, scene)
    assert again.id != stopped
    assert again.state == "stop"
    assert not engine.requests[0].continue_last


def test_that_drafting_is_switched_in_the_middle_of_an_answer_and_from_then_on(play, until):
    engine = SlowEngine(1, tokens=5_000)

    async def scene(program):
        chat = program.chat
        conversation = (await chat.new()).id
        reply = await chat.send(conversation, "one")
        seen = asyncio.Event()

        async def show(batch):
            if any(isinstance(e, Round) and e.mode == "copy" for e in batch):
                seen.set()

        task = asyncio.get_running_loop().create_task(reply.run(show))
        await seen.wait()
        await chat.set_drafting(conversation, False)
        await until(lambda: any(isinstance(e, DraftingState) for e in reply.events_so_far))
        await until(lambda: reply.events_so_far[-1] != reply.events_so_far[0])
        count = len(reply.events_so_far)
        await until(lambda: len(reply.events_so_far) > count + 4)
        reply.stop()
        await task
        assert (await chat.conversations())[0].settings.drafting.wish == "off"
        await chat.set_drafting(conversation, True)
        assert (await chat.conversations())[0].settings.drafting.wish == "auto"
        await chat.set_drafting(9_999, True)
        return reply.result

    message = play(engine, scene)
    (mark,) = message.marks
    assert mark.state == "off"
    assert {r.mode for r in message.rounds[: mark.after_round]} == {"copy"}
    assert {r.mode for r in message.rounds[mark.after_round :]} == {"plain"}


def test_that_switching_drafting_on_keeps_the_wish_that_the_guard_never_pauses(play):
    async def scene(program):
        conversation = await program.chat.new(Settings(drafting=Drafting("on", max_drafts=3)))
        await program.chat.set_drafting(conversation.id, True)
        return (await program.chat.conversations())[0].settings.drafting

    assert play(SlowEngine(), scene) == Drafting("on", max_drafts=3)
