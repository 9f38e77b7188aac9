import json
import threading

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog

import resources
from app import receipts
from engine.facts import Facts
from support.checked import CheckedEngine
from ui import wording

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support raise")


FACTS = Facts(
    resources.path("starter"), None, "", 538_000_000, 0, 31_400_000, 602_000_000, 81_000_000,
    "float32", True, 8, (), "",
)  # fmt: skip


def last(window):
    """The view of the newest answer."""
    return window.view.transcript.views[-1]


def kind(window):
    return last(window).verdict.told.kind


async def checked(window, until):
    last(window).verdict.button.click()
    await until(lambda: kind(window) not in ("unchecked", "running", "fast"))


def test_that_a_click_checks_and_the_verdict_is_there_after_a_restart(
    in_window, answered, until, errors
):
    async def before(window):
        await answered(window, "Why?")
        assert kind(window) == "unchecked"
        await checked(window, until)
        return last(window).verdict.told.text

    async def after(window):
        await until(lambda: window.view.transcript.views)
        return last(window).verdict.told.text

    text = in_window(CheckedEngine(tokens=9), before)
    assert text.startswith("Same as without drafting: 9 of 9 tokens.")
    assert in_window(CheckedEngine(), after) == text


def test_that_the_keys_check_the_last_answer(in_window, answered, until, errors):
    async def scene(window):
        await answered(window, "Why?")
        action = window.menus.check
        assert (action.isEnabled(), action.shortcut().toString()) == (True, "Ctrl+Shift+K")
        action.trigger()
        await until(lambda: kind(window) == "same")

    in_window(CheckedEngine(tokens=4), scene)


def test_that_stop_leaves_it_unchecked(in_window, answered, until, qtbot, errors):
    engine = CheckedEngine(tokens=9, wait_at=3)

    async def scene(window):
        await answered(window, "Why?")
        last(window).verdict.button.click()
        await until(lambda: engine.checking.is_set() and "3 of 9" in last(window).verdict.told.text)
        assert kind(window) == "running"
        qtbot.keyClick(last(window).verdict.button, Qt.Key.Key_Space)
        await until(lambda: kind(window) == "unchecked")
        return (await window.view._chat.messages(window.view.here))[-1].receipt

    assert in_window(engine, scene) is None


def test_that_a_check_gives_way_to_the_next_question(in_window, answered, until, errors):
    engine = CheckedEngine(tokens=5, wait_at=2)

    async def scene(window):
        await answered(window, "Why?")
        first = last(window)
        first.verdict.button.click()
        await until(engine.checking.is_set)
        await answered(window, "And?")
        await until(lambda: first.verdict.told.kind == "unchecked")
        return kind(window)

    assert in_window(engine, scene) == "unchecked"


def gives_way(window):
    """The view of the first answer, once its check was asked for."""
    first = last(window)
    first.verdict.button.click()
    return first


def test_that_a_check_that_gave_way_says_so_and_starts_again_once_the_engine_rests(
    in_window, answered, until, errors
):
    gate = threading.Event()
    engine = CheckedEngine(tokens=5, wait_at=2, facts=FACTS)

    async def scene(window):
        await answered(window, "Why?")
        first = gives_way(window)
        await until(engine.checking.is_set)
        engine.gate = gate
        window.view.send("And?")
        await until(lambda: first.verdict.told.kind == "waiting")
        text = first.verdict.told.text
        engine.go_on.set()
        gate.set()
        await until(lambda: first.verdict.told.kind == "same")
        assert kind(window) == "unchecked"
        return text

    assert in_window(engine, scene) == (
        "The check gave way to other work. It starts again by itself when the engine rests."
    )


def test_that_a_check_that_gave_way_twice_waits_to_be_asked_for(in_window, answered, until, errors):
    engine = CheckedEngine(tokens=5, wait_at=2, facts=FACTS)

    async def scene(window):
        await answered(window, "Why?")
        first = gives_way(window)
        await until(engine.checking.is_set)
        engine.checking.clear()
        await answered(window, "And?")
        await until(engine.checking.is_set)  # by itself
        assert first.verdict.told.kind == "running"
        engine.checking.clear()
        await answered(window, "And then?")
        await until(lambda: not window._tasks._running)
        told = first.verdict.told
        assert not engine.checking.is_set()
        assert window.inspector._checks.state_of(first.message.id) == "gave way"
        engine.go_on.set()
        first.verdict.button.click()
        await until(lambda: first.verdict.told.kind == "same")
        return told.text, told.action

    assert in_window(engine, scene) == (
        "Not checked: the check gave way to other work.", "check",
    )  # fmt: skip


@pytest.mark.parametrize("how", ["stop", "model", "delete", "other"])
def test_that_a_check_that_is_not_wanted_any_more_does_not_start_again(
    in_window, answered, until, errors, how
):
    gate = threading.Event()
    engine = CheckedEngine(tokens=5, wait_at=2, facts=FACTS)

    async def scene(window):
        await answered(window, "Why?")
        first = gives_way(window)
        await until(engine.checking.is_set)
        engine.checking.clear()
        engine.gate = gate
        window.view.send("And?")
        await until(lambda: first.verdict.told.kind == "waiting")
        if how == "stop":
            first.verdict.button.click()
            assert first.verdict.told.text == "Not checked."
        elif how == "delete":
            window.conversations.delete_here()
            await until(lambda: window.view.here is None)
        elif how == "model":
            engine.told = None
        gate.set()
        await until(lambda: not window.view.is_answering)
        if how == "other":
            engine.go_on.set()
            window.checks.check(last(window).message.id)
            await until(lambda: kind(window) == "same")
        await until(lambda: not window._tasks._running)
        assert how == "other" or not engine.checking.is_set()
        return first.verdict.told.text

    text = in_window(engine, scene)
    if how in ("model", "other"):
        assert text == "Not checked: the check gave way to other work."


def test_that_a_check_goes_on_while_another_chat_is_looked_at(in_window, answered, until, errors):
    engine = CheckedEngine(tokens=5, wait_at=2)

    async def scene(window):
        await answered(window, "Why?")
        chat = (await window.view._chat.conversations())[0]
        last(window).verdict.button.click()
        await until(engine.checking.is_set)
        window.conversations.new()
        window.view.open(chat)
        await until(lambda: window.view.transcript.views)
        assert kind(window) == "running"
        engine.go_on.set()
        await until(lambda: kind(window) == "same")

    in_window(engine, scene)


def test_that_it_is_said_why_nothing_is_checked_while_an_answer_is_written(
    in_window, answered, until, errors
):
    async def scene(window):
        await answered(window, "Why?")
        view = last(window)
        window.view.send("And?")
        await until(lambda: window.view.is_answering)
        view.verdict.button.click()
        await until(lambda: window.problem_bar.shown is not None)
        shown = window.problem_bar.shown
        window.view.stop()
        await until(lambda: not window.view.is_answering)
        assert len(list(errors)) == 1
        return view.verdict.told.kind, shown.is_problem

    assert in_window(CheckedEngine(ms=4, tokens=300), scene) == ("unchecked", True)


def test_that_a_difference_can_be_saved_as_a_report(in_window, answered, until, tmp_path, errors):
    file = tmp_path / "report.json"

    async def scene(window):
        await answered(window, "Why?")
        await checked(window, until)
        assert last(window).verdict.told.text == (
            "Differs at token 4. With drafting “␣however” · without “␣but”. Score gap 0.03."
        )
        last(window).verdict.button.click()
        dialog = window.findChildren(QFileDialog)[0]
        assert dialog.acceptMode() == QFileDialog.AcceptMode.AcceptSave
        dialog.fileSelected.emit(str(file))
        await until(file.exists)
        dialog.close()

    in_window(CheckedEngine(tokens=9, differs_at=3), scene)
    assert json.loads(file.read_text())["verdict"] == "differs"
    read = receipts.read(file)
    assert (read.at, read.drafted, read.plain) == (3, " however", " but")


def test_that_a_report_that_cannot_be_written_is_told_in_a_sentence(
    in_window, answered, until, tmp_path, errors
):
    async def scene(window):
        await answered(window, "Why?")
        await checked(window, until)
        window.checks._save_to(last(window).message.id, str(tmp_path / "no" / "such" / "folder"))
        await until(lambda: window.problem_bar.shown is not None)
        assert len(list(errors)) == 1
        return window.problem_bar.shown.text

    text = in_window(CheckedEngine(tokens=9, differs_at=3), scene)
    assert "is not there" in text
    assert "Traceback" not in text


def test_that_what_cannot_be_checked_says_why(in_window, answered, until, errors):
    async def scene(window):
        await answered(window, "Why?")
        await checked(window, until)
        return last(window).verdict.told.text

    engine = CheckedEngine(tokens=3, cannot="The model file changed since this was written.")
    text = in_window(engine, scene)
    assert text == "Can't be checked: the model file changed since this was written."


def test_that_fast_mode_is_told_at_its_answers(in_window, answered, until, errors):
    async def scene(window):
        sheet = window.open_chat_settings()
        sheet.mode.box.setCurrentIndex(sheet.mode.box.findData("fast"))
        sheet.accept()
        await until(lambda: window.view.settings.drafting.exactness == "fast")
        await answered(window, "Why?")
        text = last(window).verdict.told.text
        assert last(window).verdict.button.isVisible()
        assert last(window).verdict.button.text().startswith("Check this answer")
        await checked(window, until)
        return text, kind(window)

    text, found = in_window(CheckedEngine(tokens=3), scene)
    assert text == "Fast mode: it does not promise the words of plain decoding. Not checked."
    assert found == "same"


def test_that_the_menu_entry_is_worded_as_the_others(in_window, errors):
    async def scene(window):
        return window.menus.check.text(), window.menus.check.isEnabled()

    assert in_window(CheckedEngine(), scene) == (wording.CHECK, False)
