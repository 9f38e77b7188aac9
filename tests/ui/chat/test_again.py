import threading

import pytest
from PySide6.QtCore import Qt

from app.problem import ProblemError
from support.scripted import SlowEngine
from support.window import stored, text_of, write_and_send
from ui import wording


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
