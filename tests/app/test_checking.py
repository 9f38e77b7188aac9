"""Checking an answer: in the background, for as long as nothing else is asked of the engine."""

import asyncio
from contextlib import closing
from dataclasses import replace

import pytest

from app.checking import Check
from app.conversation import Settings
from app.opening import NAME
from app.problem import ProblemError
from app.program import running
from app.store import ConversationStore
from engine.engine import Engine
from engine.events import Finished
from engine.request import Drafting, ModelChoice, Sampling
from support.checked import MACHINE, CheckedEngine
from support.replies import answer, sent, start, talk
from support.scripted import SlowEngine
from support.tiny_chat import tiny_chat


class Asked(CheckedEngine):
    """Writes with the folder it was asked for, and remembers with which it was asked to check."""

    def __init__(self, **more):
        super().__init__(**more)
        self.choices = []

    def _decode(self, request, controls):
        for event in super()._decode(request, controls):
            if isinstance(event, Finished):
                origin = replace(event.origin, target=str(request.model.target))
                event = replace(event, origin=origin)
            yield event

    def recheck(self, written, choice, controls):
        self.choices.append(choice)
        return super().recheck(written, choice, controls)


async def answered(chat, text="Why?"):
    """The id of an answer."""
    conversation = await talk(chat, text)
    return (await chat.messages(conversation))[-1].id


async def under_way(chat, message, engine):
    """A check that has come to where the engine waits, and its task."""
    check = await chat.check(message)
    task = start(check.run())
    await asyncio.get_running_loop().run_in_executor(None, engine.checking.wait)
    return check, task


def test_that_an_answer_that_is_the_same_says_so_from_then_on(play, folders):
    seen = []

    async def show(check):
        seen.append(check.progress)

    async def scene(program):
        message = await answered(program.chat)
        assert (await program.chat.message(message)).receipt is None
        check = await program.chat.check(message)
        assert isinstance(check, Check)
        assert (check.message, check.progress, check.result) == (message, (0, 10), None)
        assert program.chat.checking is check
        await check.run(show)
        assert program.chat.checking is None
        whole = await program.chat.message(message)
        shown = (await program.chat.messages(whole.conversation))[-1]
        return check, whole, shown

    check, whole, shown = play(CheckedEngine(tokens=10), scene)
    receipt = check.result
    assert (receipt.verdict, receipt.tokens, receipt.total, receipt.at) == ("same", 10, 10, None)
    assert (receipt.drafted, receipt.plain, receipt.gap, receipt.reason) == ("", "", None, "")
    assert receipt.checked > 1.7e9
    assert receipt.written.origin.machine == MACHINE
    assert receipt.written.token_ids == tuple(range(100, 110))
    assert seen == sorted(seen)
    assert seen[-1] == (10, 10)
    assert whole.receipt == receipt
    assert shown.receipt.verdict == "same"
    assert shown.receipt.written.prompt_ids == ()
    with closing(ConversationStore(folders.data / NAME)) as store:
        assert store.message(whole.id).receipt == receipt


def test_that_a_difference_is_kept_as_one_and_a_new_check_replaces_it(play):
    engine = CheckedEngine(tokens=10, differs_at=4)

    async def scene(program):
        message = await answered(program.chat)
        await (await program.chat.check(message)).run()
        first = (await program.chat.message(message)).receipt
        engine.differs_at = None
        await (await program.chat.check(message)).run()
        return first, (await program.chat.message(message)).receipt

    first, second = play(engine, scene)
    assert (first.verdict, first.tokens, first.total, first.at) == ("differs", 4, 10, 4)
    assert (first.drafted, first.plain, first.gap) == (" however", " but", 0.031)
    assert second.verdict == "same"


@pytest.mark.parametrize("other", ["send", "regenerate", "edit", "load", "unload", "delete"])
def test_that_any_other_work_ends_a_check_at_once(play, other):
    engine = CheckedEngine(tokens=10, wait_at=3)

    async def scene(program):
        chat = program.chat
        conversation = await talk(chat, "Why?")
        question, reply = await chat.messages(conversation)
        check, task = await under_way(chat, reply.id, engine)

        async def show(batch):
            pass

        work = {
            "send": lambda: chat.send(conversation, "And?"),
            "regenerate": lambda: chat.regenerate(reply.id),
            "edit": lambda: chat.edit(question.id, "What?"),
            "load": lambda: chat.load(conversation, show),
            "unload": chat.unload,
            "delete": lambda: chat.delete(conversation),
        }
        begun = await work[other]()
        await task
        if begun is not None:
            await begun.run(None)
            assert begun.result.state == "stop"
        return check, await chat.message(reply.id)

    check, message = play(engine, scene)
    assert check.result is None
    assert check.over.is_set()
    assert check.progress == (3, 10)
    assert message.receipt is None


def test_that_deleting_another_conversation_lets_a_check_go_on(play):
    engine = CheckedEngine(tokens=10, wait_at=3)

    async def scene(program):
        other, message = await talk(program.chat, "a"), await answered(program.chat)
        check, task = await under_way(program.chat, message, engine)
        await program.chat.delete(other)
        engine.go_on.set()
        await task
        return check.result.verdict

    assert play(engine, scene) == "same"


@pytest.mark.parametrize("when", ["before", "during"])
def test_that_a_stopped_check_says_nothing(play, when):
    engine = Asked(tokens=10, wait_at=3)

    async def scene(program):
        message = await answered(program.chat)
        if when == "before":
            check = await program.chat.check(message)
            check.stop()
            await check.run()
        else:
            check, task = await under_way(program.chat, message, engine)
            check.stop()
            await task
        assert program.chat.checking is None
        return check.result, (await program.chat.message(message)).receipt

    assert play(engine, scene) == (None, None)
    assert len(engine.choices) == (when == "during")


def test_that_a_check_that_is_stopped_at_its_very_end_says_nothing(play):
    async def stop(check):
        if check.progress == (10, 10):
            check.stop()

    async def scene(program):
        message = await answered(program.chat)
        check = await program.chat.check(message)
        await check.run(stop)
        return check.progress, check.result, (await program.chat.message(message)).receipt

    assert play(CheckedEngine(tokens=10), scene) == ((10, 10), None, None)


def test_that_a_check_whose_task_is_cancelled_leaves_the_engine(play):
    engine = CheckedEngine(tokens=10, wait_at=3)

    async def scene(program):
        message = await answered(program.chat)
        check, task = await under_way(program.chat, message, engine)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert check.over.is_set()
        return await answer(await sent(program))

    assert play(engine, scene).state == "stop"


@pytest.mark.parametrize("is_run", [True, False])
def test_that_closing_ends_a_check(folders, is_run):
    engine = CheckedEngine(tokens=10, wait_at=3)

    async def main():
        async with running(folders, engine=lambda: engine) as program:
            message = await answered(program.chat)
            if not is_run:
                return await program.chat.check(message), None
            return await under_way(program.chat, message, engine)

    async def whole():
        check, task = await asyncio.wait_for(main(), 60)
        assert check.over.is_set()
        if task is not None:
            await task
        return check

    assert asyncio.run(whole()).result is None
    assert engine.closed_on is not None


def test_that_nothing_is_checked_twice_at_once_nor_while_an_answer_is_written(play):
    engine = CheckedEngine(tokens=10, wait_at=3)

    async def scene(program):
        chat = program.chat
        one, two = await answered(chat), await answered(chat)
        check, task = await under_way(chat, one, engine)
        with pytest.raises(ProblemError, match="written again already"):
            await chat.check(one)
        engine.checking.clear()
        other, later = await under_way(chat, two, engine)
        await task
        assert check.result is None
        assert chat.checking is other
        engine.go_on.set()
        await later
        assert other.result.verdict == "same"
        reply = await sent(program)
        with pytest.raises(ProblemError, match="while none is being written"):
            await chat.check(two)
        await answer(reply)
        await (await chat.check(two)).run()

    play(engine, scene)


def test_that_what_no_model_wrote_is_not_checked(play):
    async def scene(program):
        chat = program.chat
        conversation = await talk(chat, "Why?")
        question, _ = await chat.messages(conversation)
        reply = await chat.send(conversation, "And?")
        reply.stop()
        empty = await answer(reply)
        assert empty.text == ""
        for message in (question.id, empty.id):
            with pytest.raises(ProblemError, match="no words that a model wrote"):
                await chat.check(message)
        with pytest.raises(ProblemError, match="deleted"):
            await chat.check(999)

    play(CheckedEngine(tokens=3), scene)


def found_without_engine(play, engine, spoil):
    """The verdict about an answer after `spoil(db)`, and how often the engine was asked."""

    async def scene(program):
        message = await answered(program.chat)
        await program.chat._store.call(lambda store: spoil(store._db))
        check = await program.chat.check(message)
        await check.run()
        kept = (await program.chat.message(message)).receipt
        assert kept.verdict == check.result.verdict == "cannot"
        return check.result.reason

    return play(engine, scene)


@pytest.mark.parametrize(
    ("state", "reason"),
    [("interrupted", "broke off"), ("failed", "broke off"), ("stop", "is damaged")],
)
def test_that_an_answer_without_its_summary_cannot_be_checked(play, state, reason):
    def spoil(db):
        db.execute(
            "UPDATE message SET finished = NULL, state = ? WHERE role = 'assistant'", (state,)
        )

    engine = Asked(tokens=3)
    assert reason in found_without_engine(play, engine, spoil)
    assert engine.choices == []


def test_that_an_answer_of_an_earlier_version_cannot_be_checked(play):
    async def scene(program):
        message = await answered(program.chat)
        check = await program.chat.check(message)
        await check.run()
        return check.result

    receipt = play(SlowEngine(tokens=3), scene)  # which knows of no origin
    assert (receipt.verdict, receipt.written, receipt.total) == ("cannot", None, 3)
    assert receipt.reason.startswith("It was written by a version")


def test_that_what_the_engine_cannot_check_is_kept_with_its_reason(play):
    why = "MLX was 0.1 when this was written; it is 0.2 now."

    async def scene(program):
        message = await answered(program.chat)
        await (await program.chat.check(message)).run()
        return (await program.chat.message(message)).receipt

    receipt = play(CheckedEngine(tokens=3, cannot=why), scene)
    assert (receipt.verdict, receipt.reason) == ("cannot", why)


def test_that_going_on_with_an_answer_drops_its_verdict_and_counts_what_was_before(play):
    engine = CheckedEngine(tokens=4)

    async def scene(program):
        message = await answered(program.chat)
        await (await program.chat.check(message)).run()
        result = await answer(await program.chat.continue_(message))
        between = (await program.chat.message(message)).receipt
        assert result.receipt is None
        await (await program.chat.check(message)).run()
        return between, (await program.chat.message(message)).receipt

    between, after = play(engine, scene)
    assert between is None
    assert (after.verdict, after.total, after.before) == ("same", 4, 4)


def test_that_a_verdict_that_comes_too_late_is_not_kept(play):
    async def scene(program):
        chat = program.chat
        message = await answered(chat)
        check = await chat.check(message)
        await check.run()
        reply = await chat.continue_(message)
        await chat._store.call(lambda store: store.keep_receipt(message, check.result))
        await answer(reply)
        return (await chat.message(message)).receipt

    assert play(CheckedEngine(tokens=4), scene) is None


def test_that_a_full_disk_costs_the_record_of_the_verdict_alone(play):
    async def scene(program):
        chat = program.chat
        message = await answered(chat)
        check = await chat.check(message)
        await chat._store.call(lambda store: store._db.execute("PRAGMA query_only = ON"))
        with pytest.raises(ProblemError, match="cannot be written"):
            await check.run()
        await chat._store.call(lambda store: store._db.execute("PRAGMA query_only = OFF"))
        assert chat.checking is None
        return check.result.verdict, (await chat.message(message)).receipt

    assert play(CheckedEngine(tokens=4), scene) == ("same", None)


def test_that_a_view_that_breaks_ends_the_check(play):
    async def broken(check):
        raise RuntimeError("a view")

    async def scene(program):
        message = await answered(program.chat)
        check = await program.chat.check(message)
        with pytest.raises(RuntimeError, match="a view"):
            await check.run(broken)
        assert program.chat.checking is None
        return check.result

    assert play(CheckedEngine(tokens=4), scene) is None


@pytest.mark.parametrize("is_there", [True, False])
def test_that_the_model_that_wrote_an_answer_checks_it(play, tmp_path, is_there):
    engine = Asked(tokens=4)
    wrote, now = tmp_path / "wrote", tmp_path / "now"
    if is_there:
        wrote.mkdir()

    async def scene(program):
        chat = program.chat
        conversation = (await chat.new(Settings(wrote, tmp_path / "drafter"))).id
        reply = await answer(await chat.send(conversation, "Why?"))
        await (await chat.check(reply.id)).run()
        await chat.set_settings(conversation, Settings(now))
        await (await chat.check(reply.id)).run()

    play(engine, scene)
    changed = wrote if is_there else now
    assert engine.choices == [ModelChoice(wrote, tmp_path / "drafter"), ModelChoice(changed)]


def test_that_real_answers_are_checked_and_found_again_after_a_restart(folders, tmp_path, starter):
    model = tiny_chat(tmp_path / "model", starter)
    settings = Settings(
        model, sampling=Sampling(0.8, 0.95, seed=3), drafting=Drafting("on"), max_tokens=30
    )

    async def first():
        async with running(folders, engine=Engine) as program:
            chat = program.chat
            conversation = (await chat.new(settings)).id
            for text in ("Say it, say it, say it.", "Again, again, again."):
                await answer(await chat.send(conversation, text))
            messages = await chat.messages(conversation)
            for message in (messages[3], messages[1]):
                check = await chat.check(message.id)
                await check.run()
                assert check.result.verdict == "same", check.result
            cut = await chat.check(messages[1].id)
            task = start(cut.run())
            while cut.progress[0] < 3:
                await asyncio.sleep(0.001)
            reply = await chat.send(conversation, "More.")
            await task
            assert cut.result is None
            assert (await answer(reply)).state == "length"
            last = await chat.check(reply.message)
            later = start(last.run())
            await asyncio.sleep(0)
        await later  # closing has ended it
        return conversation, reply.message

    async def second(conversation, last):
        async with running(folders, engine=Engine) as program:
            chat = program.chat
            shown = await chat.messages(conversation)
            check = await chat.check(last)
            await check.run()
            return [m.receipt and m.receipt.verdict for m in shown[1::2]], check.result

    conversation, last = asyncio.run(first())
    verdicts, found = asyncio.run(second(conversation, last))
    assert verdicts == ["same", "same", None]
    assert found.verdict == "same"
