import threading

import pytest
from PySide6.QtCore import Qt

from app.problem import ProblemError
from tests.support.scripted import SlowEngine, words
from ui import wording


def text_of(tokens):
    return "".join(words(n) for n in range(tokens))


async def stored(window):
    chat = window.view._chat
    return [
        [(m.role, m.text, m.state) for m in await chat.messages(one.id)]
        for one in await chat.conversations()
    ]


def write_and_send(window, text):
    window.view.composer.write(text)
    window.view.composer.button.click()


def test_that_a_sent_message_is_answered_saved_and_leaves_the_box(in_window, answered, errors):
    async def scene(window):
        await answered(window, "hi")
        return await stored(window), window.view.composer.text, window.windowTitle()

    messages, left, title = in_window(SlowEngine(tokens=20), scene)
    assert messages == [[("user", "hi", "stop"), ("assistant", text_of(20), "stop")]]
    assert left == ""
    assert title.startswith("hi")
    assert errors == []


def test_that_a_message_that_cannot_be_saved_stays_in_the_box(in_window, until, errors):
    async def scene(window):
        store = window.view._chat._store
        await store.call(lambda s: s._db.execute("PRAGMA query_only = ON"))
        write_and_send(window, "do not lose me")
        await until(lambda: window.problem_bar.shown is not None)
        composer = window.view.composer
        kept = composer.text, composer.box.isReadOnly()
        return kept, window.problem_bar.shown, await stored(window)

    kept, shown, messages = in_window(SlowEngine(), scene)
    assert kept == ("do not lose me", False)
    assert shown.is_problem
    assert messages == []
    assert len(list(errors)) == 1


def test_that_stop_keeps_what_was_written(in_window, until, errors):
    async def scene(window):
        write_and_send(window, "hi")
        await until(lambda: "word3" in _running_text(window))
        assert window.view.composer.button.text() == wording.STOP
        window.view.composer.button.click()
        await until(lambda: not window.view.is_answering)
        return await stored(window), window.view.composer.button.text()

    messages, button = in_window(SlowEngine(ms=10, tokens=2000), scene)
    role, text, state = messages[0][1]
    assert (role, state) == ("assistant", "cancelled")
    assert text.startswith(text_of(4))
    assert len(text) < len(text_of(2000))
    assert button == wording.SEND


def _running_text(window):
    reply = window.view._following.reply
    events = reply.events_so_far if reply else []
    return "".join(getattr(event, "text", "") for event in events)


def test_that_the_switch_works_in_the_middle_of_an_answer(in_window, until, errors):
    async def scene(window):
        view = window.view
        write_and_send(window, "hi")
        await until(lambda: "word3" in _running_text(window))
        view.composer.switch.toggle.click()
        line = view.composer.switch.line
        await until(lambda: any(_modes(view)[-3:]) and set(_modes(view)[-3:]) == {"plain"})
        view.composer.switch.toggle.click()
        await until(lambda: _modes(view)[-1] == "copy")
        view.stop()
        await until(lambda: not view.is_answering)
        (conversation,) = await view._chat.conversations()
        return line, (await view._chat.messages(conversation.id))[1], conversation

    line, message, conversation = in_window(SlowEngine(ms=5, tokens=4000), scene)
    modes = [round_.mode for round_ in message.rounds]
    assert modes[0] == "copy"
    assert "plain" in modes
    assert modes[-1] == "copy"
    assert line == wording.DRAFT_OFF
    assert conversation.settings.drafting.wish == "auto"


def _modes(view):
    reply = view._following.reply
    return [e.mode for e in (reply.events_so_far if reply else []) if hasattr(e, "mode")]


def test_that_an_answer_goes_on_while_another_conversation_is_shown(
    in_window, answered, until, errors
):
    gate = threading.Event()

    async def scene(window):
        write_and_send(window, "first")
        await until(lambda: window.view.is_answering)
        first = window.view.here
        window.conversations.new()
        assert not window.view.is_answering
        assert window.view.replies.answering == {first}
        gate.set()
        await until(lambda: not window.view.replies.answering)
        return await stored(window)

    messages = in_window(SlowEngine(ms=1, tokens=30, gate=gate), scene)
    assert messages == [[("user", "first", "stop"), ("assistant", text_of(30), "stop")]]


def test_that_an_answer_opened_again_is_caught_up_with(in_window, until, errors):
    async def scene(window):
        view = window.view
        write_and_send(window, "first")
        await until(lambda: "word5" in _running_text(window))
        first = view.here
        window.conversations.new()
        await until(lambda: first in window.conversations._listed)
        window.conversations.open(first)
        await until(lambda: view.is_answering)
        message = view._following.reply.message
        shown = view.transcript.view_of(message)
        caught_up = shown.text, shown.strip.isVisible()
        await until(lambda: len(shown.text) > len(caught_up[0]))
        view.stop()
        await until(lambda: not view.is_answering)
        (stored_answer,) = [m for m in await view._chat.messages(first) if m.id == message]
        return caught_up, shown.text, stored_answer.text

    (caught_up, strip), shown, stored_text = in_window(SlowEngine(ms=5, tokens=3000), scene)
    assert caught_up.startswith(text_of(6))
    assert strip
    assert shown == stored_text
    assert stored_text == text_of(stored_text.count(" "))


def test_that_a_message_to_another_conversation_waits_and_says_so(in_window, until, errors):
    gate = threading.Event()
    engine = SlowEngine(tokens=5, gate=gate)

    async def scene(window):
        view = window.view
        write_and_send(window, "first")
        await until(lambda: view.is_answering)
        first = view.here
        window.conversations.new()
        write_and_send(window, "second")
        await until(lambda: view.is_answering)
        second = view.here
        await until(lambda: view.replies.waiting == {second})
        note = view._following._progress.note
        await until(lambda: _marks(window) == {first: "answering", second: "waiting"})
        gate.set()
        await until(lambda: not view.replies.answering)
        return note, await stored(window)

    note, messages = in_window(engine, scene)
    assert note == wording.NOTE_WAITING
    assert [request.turns[-1].text for request in engine.requests] == ["first", "second"]
    assert sorted(m[1][1] for m in messages) == [text_of(5)] * 2


def _marks(window):
    from ui.sidebar_model import CONVERSATION, MARK

    rows = window.sidebar.rows
    found = (rows.index(row) for row in range(rows.rowCount()))
    return {i.data(CONVERSATION).id: i.data(MARK) for i in found if i.data(CONVERSATION)}


def test_that_enter_while_answering_keeps_the_text_and_says_why(in_window, until, qtbot, errors):
    gate = threading.Event()

    async def scene(window):
        composer = window.view.composer
        write_and_send(window, "first")
        await until(lambda: window.view.is_answering)
        qtbot.keyClicks(composer.box, "more")
        qtbot.keyClick(composer.box, Qt.Key.Key_Return)
        said = composer.hint.text(), composer.text, composer.hint.isVisible()
        gate.set()
        await until(lambda: not window.view.is_answering)
        return said, composer.text, composer.hint.isVisible(), composer.button.text()

    said, text, hinted, button = in_window(SlowEngine(gate=gate), scene)
    assert said == (wording.BUSY, "more", True)
    assert (text, hinted, button) == ("more", False, wording.SEND)


def test_that_unsent_text_stays_with_its_conversation(in_window, answered, until, errors):
    async def scene(window):
        await answered(window, "one")
        first = window.view.here
        window.view.composer.write("half a thought")
        window.conversations.new()
        fresh = window.view.composer.text
        window.conversations.open(first)
        await until(lambda: window.view.here == first)
        return fresh, window.view.composer.text

    assert in_window(SlowEngine(), scene) == ("", "half a thought")


def test_that_events_come_to_the_transcript_in_few_batches(
    in_window, answered, errors, monkeypatch
):
    async def scene(window):
        sizes = []
        apply = window.view.transcript.apply

        def counted(message, events):
            sizes.append(len(events))
            apply(message, events)

        monkeypatch.setattr(window.view.transcript, "apply", counted)
        await answered(window, "hi")
        return sizes

    sizes = in_window(SlowEngine(tokens=3000), scene)
    assert sum(sizes) > 3000
    assert len(sizes) < 300


def test_that_stop_during_a_load_frees_the_window_and_the_next_answer_is_whole(
    in_window, answered, until, errors
):
    started = threading.Event()
    engine = SlowEngine(tokens=3, load_ms=200, started=started)

    async def scene(window):
        write_and_send(window, "first")
        await until(started.is_set)
        await until(lambda: window.view.is_answering)
        window.view.stop()
        await until(lambda: not window.view.is_answering, 1.0)
        await answered(window, "second")
        return await stored(window)

    (messages,) = in_window(engine, scene)
    assert [(text, state) for _, text, state in messages] == [
        ("first", "stop"), ("", "cancelled"), ("second", "stop"), (text_of(3), "stop"),
    ]  # fmt: skip


def test_that_a_failed_answer_keeps_its_text_and_can_be_continued(
    in_window, answered, until, errors
):
    engine = SlowEngine(tokens=8, fail_at=4)

    async def scene(window):
        await answered(window, "hi")
        failed = await stored(window)
        engine.fail_at = None
        window.view.again.continue_last()
        await until(lambda: window.view.is_answering)
        await until(lambda: not window.view.is_answering)
        return failed, await stored(window)

    failed, continued = in_window(engine, scene)
    written = text_of(5)  # rounds of two, one and two tokens
    assert failed[0][1] == ("assistant", written, "failed")
    assert continued[0][1] == ("assistant", written + text_of(8), "stop")
    assert engine.requests[1].continue_last


def test_that_a_crash_of_the_engine_is_reported_once_and_the_window_goes_on(
    in_window, answered, errors
):
    engine = SlowEngine(tokens=8, crash_at=4)

    async def scene(window):
        await answered(window, "hi")
        shown = window.problem_bar.shown
        engine.crash_at = None
        await answered(window, "again")
        return shown, await stored(window)

    shown, messages = in_window(engine, scene)
    assert "bug" in shown.text
    assert messages[0][-1] == ("assistant", text_of(8), "stop")
    assert [type(error) for error in errors] == [RuntimeError]


def test_that_regenerating_adds_an_alternative(in_window, answered, until, errors):
    async def scene(window):
        await answered(window, "hi")
        window.view.again.regenerate_last()
        await until(lambda: window.view.is_answering)
        await until(lambda: not window.view.is_answering)
        answer = (await window.view._chat.messages(window.view.here))[-1]
        window.view.again.choose(answer.id, -1)
        chat, here = window.view._chat, window.view.here

        async def first_again():
            return (await chat.messages(here))[-1].position == 1

        for _ in range(200):
            if await first_again():
                return answer
        pytest.fail("the first answer is not shown again")

    answer = in_window(SlowEngine(), scene)
    assert (answer.position, answer.alternatives) == (2, 2)


def test_that_asking_in_a_busy_conversation_is_refused_aloud(in_window, until, errors):
    gate = threading.Event()

    async def scene(window):
        write_and_send(window, "first")
        await until(lambda: window.view.is_answering)
        window.view.again.regenerate_last()
        await until(lambda: window.problem_bar.shown is not None)
        gate.set()
        await until(lambda: not window.view.is_answering)

    in_window(SlowEngine(gate=gate), scene)
    assert [type(error) for error in errors] == [ProblemError]


def test_that_up_in_the_empty_box_edits_the_last_question_in_a_branch(
    in_window, answered, until, qtbot, errors
):
    async def scene(window):
        view = window.view
        await answered(window, "frist")
        qtbot.keyClick(view.composer.box, Qt.Key.Key_Up)
        await until(lambda: view.composer.text == "frist")
        said = view.composer.hint.text()
        await answered(window, "first")
        return said, view.composer.hint.isVisible(), await view._chat.messages(view.here)

    said, still_said, messages = in_window(SlowEngine(tokens=2), scene)
    assert (said, still_said) == (wording.EDITING, False)
    assert [message.text for message in messages] == ["first", text_of(2)]
    assert (messages[0].position, messages[0].alternatives) == (2, 2)


def test_that_esc_leaves_the_question_as_it_was(in_window, answered, until, qtbot, errors):
    async def scene(window):
        view = window.view
        await answered(window, "first")
        qtbot.keyClick(view.composer.box, Qt.Key.Key_Up)
        await until(lambda: view.composer.text == "first")
        qtbot.keyClick(view.composer.box, Qt.Key.Key_Escape)
        left = view.composer.text, view.composer.hint.isVisible()
        await answered(window, "second")
        return left, await stored(window)

    left, (messages,) = in_window(SlowEngine(tokens=1), scene)
    assert left == ("", False)
    assert [text for role, text, _ in messages if role == "user"] == ["first", "second"]


def test_that_two_clicks_on_an_example_ask_once(in_window, until, errors):
    async def scene(window):
        example = window.view.welcome.examples[0]
        example.click()
        example.click()
        await until(lambda: window.view.is_answering)
        await until(lambda: not window.view.is_answering)
        return await stored(window)

    assert len(in_window(SlowEngine(), scene)) == 1


def test_that_the_conversation_asked_for_last_is_the_one_that_opens(
    in_window, answered, until, errors
):
    async def scene(window):
        await answered(window, "one")
        one = window.view.here
        window.conversations.new()
        await answered(window, "two")
        two = window.view.here
        await until(lambda: {one, two} <= set(window.conversations._listed))
        window.conversations.new()
        window.conversations.open(one)
        window.conversations.open(two)
        await until(lambda: window.view.here is not None)
        first_opened = window.view.here
        await window.view._chat.conversations()  # whatever else was asked of the store is over
        return first_opened == two == window.view.here

    assert in_window(SlowEngine(), scene)
