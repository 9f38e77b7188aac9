import threading

from support.scripted import SlowEngine
from support.window import running_text, stored, text_of, write_and_send
from ui import wording
from ui.sidebar_model import CONVERSATION, MARK


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
        await until(lambda: "word5" in running_text(window))
        first = view.here
        window.conversations.new()
        await until(lambda: first in window.conversations._listed)
        window.conversations.open(first)
        await until(lambda: view.is_answering)
        message = view.following.reply.message
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
        note = view.following._progress.note
        await until(lambda: _marks(window) == {first: "answering", second: "waiting"})
        gate.set()
        await until(lambda: not view.replies.answering)
        return note, await stored(window)

    note, messages = in_window(engine, scene)
    assert note == wording.NOTE_WAITING
    assert [request.turns[-1].text for request in engine.requests] == ["first", "second"]
    assert sorted(m[1][1] for m in messages) == [text_of(5)] * 2


def _marks(window):
    rows = window.sidebar.rows
    found = (rows.index(row) for row in range(rows.rowCount()))
    return {i.data(CONVERSATION).id: i.data(MARK) for i in found if i.data(CONVERSATION)}


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


def test_that_what_the_chat_format_changed_is_said_once_a_conversation(
    in_window, answered, until, errors
):
    engine = SlowEngine(tokens=3)
    engine.notes = ("The model takes no such roles.",)

    async def scene(window):
        told = []
        window.view.following.noted.connect(told.append)
        await answered(window, "first")
        await answered(window, "again")
        shown = window.problem_bar.label.text()
        window.conversations.new()
        await answered(window, "elsewhere")
        return told, shown

    told, shown = in_window(engine, scene)
    assert told == list(engine.notes) * 2
    assert engine.notes[0] in shown
    assert errors == []
