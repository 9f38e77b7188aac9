import threading

from PySide6.QtCore import Qt

from support.scripted import SlowEngine
from support.window import running_text, stored, text_of, write_and_send
from ui import wording


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
        await until(lambda: "word3" in running_text(window))
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


def test_that_the_switch_works_in_the_middle_of_an_answer(in_window, until, errors):
    async def scene(window):
        view = window.view
        write_and_send(window, "hi")
        await until(lambda: "word3" in running_text(window))
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
    reply = view.following.reply
    return [e.mode for e in (reply.events_so_far if reply else []) if hasattr(e, "mode")]


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


def test_that_two_clicks_on_an_example_ask_once(in_window, until, errors):
    async def scene(window):
        example = window.view.welcome.examples[0]
        example.click()
        example.click()
        await until(lambda: window.view.is_answering)
        await until(lambda: not window.view.is_answering)
        return await stored(window)

    assert len(in_window(SlowEngine(), scene)) == 1


def test_that_the_switch_stays_where_it_was_put_while_older_news_arrive(
    in_window, answered, until, errors
):
    async def scene(window):
        view = window.view
        await answered(window, "hi")
        await until(lambda: view.conversation.title == "hi")
        seen = []
        view.drafting_shown.connect(seen.append)
        window.conversations.reload()  # asks the store before the switch is stored
        view.composer.switch.toggle.click()
        await until(lambda: view.conversation.settings.drafting.wish == "off")
        return seen, view.settings.drafting.wish

    seen, wish = in_window(SlowEngine(), scene)
    assert True not in seen
    assert wish == "off"


def test_that_a_switch_that_cannot_be_stored_goes_back_and_says_why(
    in_window, answered, until, errors
):
    async def scene(window):
        view = window.view
        await answered(window, "hi")
        await until(lambda: view.conversation.title == "hi")
        await view._chat._store.call(lambda s: s._db.execute("PRAGMA query_only = ON"))
        view.composer.switch.toggle.click()
        await until(lambda: window.problem_bar.shown is not None)
        await until(lambda: view.composer.switch.toggle.isChecked())
        await view._chat._store.call(lambda s: s._db.execute("PRAGMA query_only = OFF"))
        return window.problem_bar.shown.is_problem

    assert in_window(SlowEngine(), scene)
    assert len(list(errors)) == 1
