from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication

import resources
from engine.facts import Facts, WidthFact
from support.checked import CheckedEngine
from support.window import running_text
from ui.inspector.panel import InspectorPanel
from ui.inspector.texts import Line, Place
from ui.theme import Themes

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support raise")

FACTS = Facts(
    resources.path("starter"), None, "", 538_000_000, 0, 31_400_000, 602_000_000, 81_000_000,
    "float32", False, 1, (), "",
)  # fmt: skip


class MeasuredEngine(CheckedEngine):
    """Knows nothing of exactness until it is measured."""

    def measure(self, controls):
        super().measure(controls)
        widths = (WidthFact(2, True, 0.0, 1e-5), WidthFact(3, False, 5e-5, 2e-4))
        self.told = replace(self.told, is_measured=True, exact_width=2, widths=widths)


def shown(window, section):
    return window.inspector_panel.sections[section].text


def all_guesses(window):
    return [line for line in shown(window, "guesses").splitlines() if "All" in line]


def test_that_the_keys_show_and_hide_it_and_it_is_there_after_a_restart(in_window, errors):
    async def scene(window):
        states = [window.inspector_panel.isVisible()]
        assert window.menus.inspector.shortcut().toString() == "Ctrl+I"
        for _ in range(3):
            window.menus.inspector.trigger()
            states.append(window.inspector_panel.isVisible())
            assert window.menus.inspector.isChecked() == states[-1]
            assert window.title_bar.inspector_button.isChecked() == states[-1]
        return states

    async def again(window):
        return window.inspector_panel.isVisible()

    assert in_window(CheckedEngine(), scene) == [False, True, False, True]
    assert in_window(CheckedEngine(), again)


def test_that_it_folds_away_in_a_narrow_window_and_slides_over_when_asked(in_window, until, errors):
    async def scene(window):
        panel = window.inspector_panel
        window.menus.inspector.trigger()
        assert (panel.isVisible(), window.view.width() + panel.width()) == (
            True, window.inspector_panes.width(),
        )  # fmt: skip
        window.resize(500, 700)
        assert not panel.isVisible()
        assert window.view.width() == 500
        window.title_bar.inspector_button.click()
        await until(lambda: panel.isVisible() and panel.geometry().right() == 499)
        assert window.view.width() == 500
        panel.close_button.click()
        await until(lambda: not panel.isVisible())
        window.resize(1180, 700)
        return panel.isVisible()

    assert in_window(CheckedEngine(), scene)


def test_that_it_tells_the_last_answer_or_the_whole_chat(in_window, answered, until, errors):
    engine = CheckedEngine(tokens=10, facts=FACTS)

    async def scene(window):
        window.menus.inspector.trigger()
        await answered(window, "Why?")
        await until(lambda: " of " in shown(window, "guesses") and not window.view.is_answering)
        engine.tokens = 20
        await answered(window, "And?")
        messages = await window.view._chat.messages(window.view.here)
        counts = [(m.finished.accepted, m.finished.proposed) for m in messages if m.finished]
        right, seen = counts[-1]
        await until(lambda: all_guesses(window) == [f"All guesses: {right} of {seen}"])
        window.inspector_panel.whole.click()
        return all_guesses(window), counts

    both, counts = in_window(engine, scene)
    (right, seen), (right2, seen2) = counts
    assert both == [f"All guesses: {100 * (right + right2) // (seen + seen2)} % of {seen + seen2}"]


def test_that_memory_and_context_are_told_once_the_engine_rests(in_window, answered, until, errors):
    engine = CheckedEngine(tokens=6, facts=FACTS)

    async def scene(window):
        window.menus.inspector.trigger()
        await until(lambda: "not loaded" in shown(window, "exactness"))
        await answered(window, "Why?")
        await until(lambda: "538 MB" in shown(window, "memory"))
        return shown(window, "memory"), shown(window, "context")

    memory, context = in_window(engine, scene)
    assert "This chat: 31.4 MB" in memory
    assert "In use: 46 of 8,192 (0 %)" in context
    assert engine.asked  # and by the number of the conversation
    assert set(engine.asked) <= {"", "1"}


def test_that_the_engine_is_never_asked_while_an_answer_is_written(in_window, until, errors):
    engine = CheckedEngine(ms=3, tokens=4000, facts=FACTS)

    async def scene(window):
        window.menus.inspector.trigger()
        window.view.send("Why?")
        await until(lambda: "word30" in running_text(window))
        asked = len(engine.asked)
        window.inspector.refresh()
        await until(lambda: "of" in shown(window, "guesses"))
        seen = shown(window, "guesses")
        await until(lambda: shown(window, "guesses") != seen)  # it follows the answer
        assert len(engine.asked) == asked
        assert "when the engine rests" in shown(window, "exactness")
        assert window.inspector_panel.measure.isHidden()
        window.view.stop()
        await until(lambda: not window.view.is_answering)
        await until(lambda: len(engine.asked) > asked)

    in_window(engine, scene)


def test_that_what_is_known_stays_while_the_next_answer_is_written(
    in_window, answered, until, errors
):
    engine = CheckedEngine(tokens=6, facts=FACTS)

    async def scene(window):
        window.menus.inspector.trigger()
        await answered(window, "Why?")
        await until(lambda: "538 MB" in shown(window, "memory"))
        engine.ms, engine.tokens = 3, 4000
        window.view.send("And?")
        await until(lambda: "word30" in running_text(window))
        window.inspector.refresh()
        await until(lambda: "538 MB" not in shown(window, "memory") or _refreshed(window))
        known = shown(window, "memory")
        window.view.stop()
        await until(lambda: not window.view.is_answering)
        return known

    assert "538 MB" in in_window(engine, scene)


def _refreshed(window):
    """Whether the rounds of the running answer were taken in since the last refresh."""
    return window.inspector._seen > 0 and len(window._tasks._running) == 1


def test_that_nothing_is_gathered_while_it_is_hidden(in_window, answered, until, errors):
    engine = CheckedEngine(tokens=6, facts=FACTS)

    async def scene(window):
        await answered(window, "Why?")
        await until(lambda: not window._tasks._running)
        return window.inspector_panel.text

    text = in_window(engine, scene)
    assert engine.asked == []
    assert "538" not in text


def test_that_measuring_is_a_click_and_shows_what_it_found(in_window, answered, until, errors):
    engine = MeasuredEngine(tokens=6, facts=FACTS)

    async def scene(window):
        window.menus.inspector.trigger()
        panel = window.inspector_panel
        assert panel.measure.isHidden()  # nothing is loaded, and nothing is loaded for it
        await answered(window, "Why?")
        await until(panel.measure.isVisible)
        assert "Not measured yet" in shown(window, "exactness")
        panel.measure.click()
        assert (panel.measure.text(), panel.measure.isEnabled()) == ("Stop measuring", True)
        await until(lambda: "Bit-equal: up to 2 tokens" in shown(window, "exactness"))
        await until(panel.measure.isHidden)
        return shown(window, "exactness")

    text = in_window(engine, scene)
    assert engine.measured == 1
    assert "Largest difference: 5e-05 at 3 tokens" in text
    assert "Near-tie below: 0.0002" in text


def test_that_measuring_can_be_stopped_and_asked_for_again(in_window, answered, until, errors):
    engine = CheckedEngine(tokens=6, facts=FACTS)
    engine.measures_long = True

    async def scene(window):
        window.menus.inspector.trigger()
        panel = window.inspector_panel
        await answered(window, "Why?")
        await until(panel.measure.isVisible)
        panel.measure.click()
        await until(engine.measuring.is_set)
        panel.measure.click()
        await until(lambda: panel.measure.text() == "Measure now")
        assert panel.measure.isVisible()
        return shown(window, "exactness")

    assert "Not measured yet" in in_window(engine, scene)
    assert (engine.measured, engine.interrupted) == (1, 1)


def test_that_facts_of_another_model_are_not_told_as_this_ones(in_window, answered, until, errors):
    engine = CheckedEngine(tokens=6, facts=replace(FACTS, target=Path("/models/other")))

    async def scene(window):
        window.menus.inspector.trigger()
        await answered(window, "Why?")
        await until(lambda: engine.asked and not window._tasks._running)
        assert "not loaded" in shown(window, "exactness")
        return shown(window, "memory")

    assert "538" not in in_window(engine, scene)


def test_that_a_fault_is_told_and_cannot_be_measured_away(in_window, answered, until, errors):
    fault = "Checking 4 tokens at once changes the model's scores. Look for the fault in the cache."
    engine = CheckedEngine(tokens=6, facts=replace(FACTS, fault=fault))

    async def scene(window):
        window.menus.inspector.trigger()
        await answered(window, "Why?")
        await until(lambda: fault in shown(window, "exactness"))
        return window.inspector_panel.measure.isHidden()

    assert in_window(engine, scene)


def test_that_a_warning_about_the_pair_stands_under_drafting(in_window, answered, until, errors):
    warning = "The model's name says INT4, its drafter's none."
    engine = CheckedEngine(tokens=6, facts=replace(FACTS, note=warning))

    async def scene(window):
        window.menus.inspector.trigger()
        assert warning not in shown(window, "drafting")
        await answered(window, "Why?")
        await until(lambda: warning in shown(window, "drafting"))
        return window.inspector_panel.sections["drafting"].note.isVisible()

    assert in_window(engine, scene)


def test_that_the_newest_answer_is_checked_from_here(in_window, answered, until, qtbot, errors):
    engine = CheckedEngine(tokens=6, facts=FACTS, wait_at=2)

    async def scene(window):
        window.menus.inspector.trigger()
        await answered(window, "Why?")
        verdict = window.inspector_panel.verdict
        await until(lambda: verdict.told is not None and verdict.told.kind == "unchecked")
        qtbot.keyClick(verdict.button, Qt.Key.Key_Space)
        await until(lambda: "2 of 6 tokens match so far" in verdict.told.text)
        engine.go_on.set()
        await until(lambda: verdict.told.kind == "same")
        return verdict.told == window.view.transcript.views[-1].verdict.told

    assert in_window(engine, scene)


def test_that_all_of_it_is_copied_as_plain_text(in_window, answered, until, errors):
    async def scene(window):
        window.menus.inspector.trigger()
        await answered(window, "Why?")
        await until(lambda: "538 MB" in shown(window, "memory"))
        window.inspector_panel.copy.click()
        return QGuiApplication.clipboard().text()

    text = in_window(CheckedEngine(tokens=6, facts=FACTS), scene)
    assert "Guesses accepted\nAll guesses: " in text
    assert "Memory\nModel: 538 MB\nDrafter: none" in text
    assert "The newest answer\nNot checked." in text


def test_that_numbers_change_without_moving_anything(qtbot):
    panel = InspectorPanel(Themes("light"))
    qtbot.addWidget(panel)
    panel.resize(panel.width(), 900)
    names = ("Tokens per round", "Guessing", "Checking", "Plain step")

    def places(value, shown):
        panel.guesses.tell([Line("All guesses", value)])
        panel.guesses.show_places(shown)
        panel.sections["rounds"].tell([Line(name, value) for name in names])
        panel.grab()
        return {name: part.geometry() for name, part in panel.sections.items()}

    before = places("–", [])
    assert places("48.0 ms over 1,240", [Place("1", 40, 48), Place("2", 3, 4)]) == before
    assert len({part.y() for part in before.values()}) == len(before)
