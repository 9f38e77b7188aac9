import threading
from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QGuiApplication
from PySide6.QtWidgets import QApplication, QWidget

from app.problem import Problem
from app.settings import WindowState
from support.scripted import SlowEngine, words
from ui import placement, wording
from ui.main_window import command_of

Role = QAction.MenuRole


def actions_of(window):
    return [action for action in window.findChildren(QAction) if action.text()]


def test_that_the_conversation_and_its_answer_are_there_after_a_restart(
    in_window, answered, until, errors
):
    async def before(window):
        await answered(window, "remember me")
        window.panes.want(False)
        return window.view.here

    async def after(window):
        await until(lambda: window.view.here is not None)
        messages = await window.view._chat.messages(window.view.here)
        return window.view.here, messages[1].text, window.panes.is_wanted

    here = in_window(SlowEngine(tokens=3), before)
    text = words(0) + words(1) + words(2)
    assert in_window(SlowEngine(), after) == (here, text, False)


def test_that_a_newcomer_can_type_at_once(in_window, qtbot, until, errors):
    async def scene(window):
        await until(lambda: QApplication.focusWidget() is not None)
        qtbot.keyClicks(QApplication.focusWidget(), "Hello")
        return window.view.composer.text

    assert in_window(SlowEngine(), scene) == "Hello"
    assert errors == []


def test_that_a_window_is_put_onto_a_screen_that_is_there(qtbot):
    area = QGuiApplication.primaryScreen().availableGeometry()
    window = QWidget()
    qtbot.addWidget(window)
    placement.restore(window, WindowState(x=90_000, y=-90_000, width=400, height=300))
    assert area.contains(window.geometry())
    assert (window.width(), window.height()) == (400, 300)
    placement.restore(window, WindowState(x=5, y=5, width=90_000, height=90_000))
    assert area.contains(window.geometry())


def test_that_a_place_comes_back_as_it_was(qtbot):
    window = QWidget()
    qtbot.addWidget(window)
    placement.restore(window, WindowState(x=20, y=30, width=400, height=300))
    assert placement.of(window) == replace(WindowState(), x=20, y=30, width=400, height=300)


def test_that_every_menu_action_has_its_role_set_by_hand(in_window, errors):
    async def scene(window):
        return {action.text(): action.menuRole() for action in window.menus.parent().findChildren(QAction)
                if action.text() and not action.menu()}  # fmt: skip

    roles = in_window(SlowEngine(), scene)
    special = {wording.ABOUT: Role.AboutRole, wording.SETTINGS: Role.PreferencesRole,
               wording.QUIT: Role.QuitRole}  # fmt: skip
    mine = {text: role for text, role in roles.items() if role != Role.TextHeuristicRole}
    assert {text: role for text, role in mine.items() if role != Role.NoRole} == special
    assert mine[wording.CHAT_SETTINGS] == Role.NoRole


def test_that_no_two_menu_actions_share_a_shortcut(in_window, errors):
    async def scene(window):
        return [key.toString() for action in actions_of(window) for key in action.shortcuts()]

    keys = in_window(SlowEngine(), scene)
    assert len(keys) > 20
    assert sorted(set(keys)) == sorted(keys)


def test_that_a_narrow_window_lays_the_sidebar_over_and_takes_it_away(in_window, until, errors):
    async def scene(window):
        states = [window.panes.is_panel_visible]
        window.resize(500, 700)
        states.append(window.sidebar.isVisible())
        window.title_bar.sidebar_button.click()
        states += [window.sidebar.isVisible(), window.view.width() == 500]
        window.conversations.new()
        await until(lambda: not window.sidebar.isVisible())
        window.resize(1000, 700)
        states.append(window.sidebar.isVisible())
        return states

    assert in_window(SlowEngine(), scene) == [True, False, True, True, True]


def test_that_text_size_and_appearance_are_kept(in_window, errors):
    async def scene(window):
        window.menus.larger.trigger()
        window.menus.appearances.actions()[2].trigger()
        return window._program.settings.current

    in_window(SlowEngine(), scene)

    async def again(window):
        settings = window._program.settings.current
        return settings.appearance, settings.text_size, window._themes.current.is_dark

    assert in_window(SlowEngine(), again) == ("dark", 1.1, True)


def test_that_a_problem_offers_only_what_can_be_done(in_window, errors):
    async def scene(window):
        bar = window.problem_bar
        bar.show_problem(Problem("Full", "The disk is full.", "All is safe.", "Free space"))
        first = bar.shown, bar.action.isVisible()
        bar.show_problem(Problem("Full", "The disk is full.", "All is safe.", "Free space"))
        bar.dismiss()
        assert bar.shown is None
        bar.show_problem(Problem("Odd", "It is odd.", "All is safe.", "Open Settings"))
        return first, bar.shown.action, bar.action.isVisible()

    (shown, offered), action, offers = in_window(SlowEngine(), scene)
    assert shown.text == "Full. The disk is full. All is safe. Free space."
    assert (offered, action, offers) == (False, "Open Settings", True)


def test_that_an_example_asks_with_one_click(in_window, until, errors):
    async def scene(window):
        window.view.welcome.examples[0].click()
        await until(lambda: window.view.is_answering)
        await until(lambda: not window.view.is_answering)
        messages = await window.view._chat.messages(window.view.here)
        return messages[0].text

    assert in_window(SlowEngine(), scene) == wording.EXAMPLES[0][1]


def test_that_the_edit_menu_works_on_the_field_that_has_the_focus(in_window, until, errors):
    async def scene(window):
        box = window.view.composer.box
        window.view.composer.write("some text")
        window.activateWindow()
        box.setFocus()
        await until(box.hasFocus)
        by_text = {action.text(): action for action in actions_of(window)}
        by_text[wording.SELECT_ALL].trigger()
        by_text[wording.CUT].trigger()
        cut = window.view.composer.text
        by_text[wording.UNDO_EDIT].trigger()
        return cut, window.view.composer.text

    assert in_window(SlowEngine(), scene) == ("", "some text")


def test_that_the_settings_sheet_holds_at_once(in_window, errors):
    async def scene(window):
        sheet = window.preferences.open_sheet()
        sheet.appearance.setCurrentIndex(sheet.appearance.findData("dark"))
        sheet.size_box.setCurrentIndex(sheet.size_box.findData(1.5))
        sheet.key.setCurrentIndex(sheet.key.findData("mod+enter"))
        settings = window._program.settings.current
        themes, box = window._themes, window.view.composer.box
        return settings, themes.current.is_dark, themes.text_size, box.enter_sends

    settings, *shown = in_window(SlowEngine(), scene)
    assert (settings.appearance, settings.text_size, settings.send_key) == (
        "dark",
        1.5,
        "mod+enter",
    )
    assert shown == [True, 1.5, False]


def test_that_a_choice_that_cannot_be_written_holds_and_is_said(in_window, home, errors):
    async def scene(window):
        file = window._program.settings._path
        file.unlink(missing_ok=True)
        file.mkdir()
        window.menus.appearances.actions()[2].trigger()
        return window._themes.current.is_dark, window.problem_bar.shown

    is_dark, shown = in_window(SlowEngine(), scene)
    assert is_dark
    assert shown.is_problem


@pytest.mark.parametrize(
    ("action", "command"),
    [
        ("Choose another model.", "models"),
        ("Choose another", "models"),
        ("Continue", "continue"),
        ("Try again; if it happens again, verify or download the model anew.", "again"),
        ("Start a new conversation, or shorten this one.", "new"),
        ("Load it", "load"),
        ("Open Settings", "settings"),
        ("Free space", None),
        ("", None),
    ],
)
def test_that_advice_is_a_command_where_the_window_can_follow_it(action, command):
    assert command_of(action) == command


def test_that_load_it_loads_the_model_and_says_so(in_window, until, errors):
    engine = SlowEngine()

    async def scene(window):
        window.problem_bar.show_problem(Problem("Crash", "It crashed.", "All is safe.", "Load it"))
        window.problem_bar.action.click()
        await until(lambda: window.problem_bar.shown is not None)
        return window.problem_bar.shown.text

    assert in_window(engine, scene) == "scripted is loaded."


def test_that_a_refused_load_says_why(in_window, until, errors):
    async def scene(window):
        window._act_here("Load it")
        await until(lambda: window.problem_bar.shown is not None)
        return window.problem_bar.shown

    shown = in_window(SlowEngine(refuse=True), scene)
    assert shown.text == "There are no weights. All is saved."
    assert shown.action == "Choose another"


def test_that_unloading_drops_the_model_and_says_so(in_window, answered, until, errors):
    engine = SlowEngine()

    async def scene(window):
        await answered(window, "hi")
        window.menus.unload.trigger()
        await until(lambda: window.problem_bar.shown is not None)
        return window.problem_bar.shown.text

    assert in_window(engine, scene) == wording.UNLOADED
    assert engine.loaded is None


def test_that_the_sidebar_follows_the_direction_of_the_language(in_window, errors):
    async def scene(window):
        window.panes.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
        return window.sidebar.geometry().right() == window.panes.rect().right()

    assert in_window(SlowEngine(), scene)


def test_that_details_are_copied_with_their_sentence(in_window, errors):
    async def scene(window):
        problem = Problem("Odd", "It is odd.", "All is safe.", "Copy details", "Line 1\nLine 2")
        window.problem_bar.show_problem(problem)
        window.problem_bar.copy.click()
        return QGuiApplication.clipboard().text()

    assert in_window(SlowEngine(), scene) == "Odd. It is odd. All is safe.\n\nLine 1\nLine 2"


def test_that_tab_goes_from_the_sidebar_over_the_transcript_to_the_composer(
    in_window, answered, errors
):
    async def scene(window):
        await answered(window, "hi")
        places = [window.sidebar, window.view.transcript, window.view.composer]
        order, widget = [], window.sidebar.search
        for _ in range(500):
            inside = [p for p in places if p is widget or p.isAncestorOf(widget)]
            reached = widget.focusPolicy() & Qt.FocusPolicy.TabFocus and widget.isVisible()
            if inside and reached and inside[0] not in order:
                order.append(inside[0])
            widget = widget.nextInFocusChain()
        return [type(place).__name__ for place in order]

    assert in_window(SlowEngine(), scene) == ["Sidebar", "Transcript", "Composer"]


def test_that_esc_in_the_search_stops_no_answer(in_window, until, qtbot, errors):
    gate = threading.Event()

    async def scene(window):
        window.view.send("hi")
        await until(lambda: window.view.is_answering)
        window.activateWindow()
        window.sidebar.search.setFocus()
        await until(window.sidebar.search.hasFocus)
        window.sidebar.search.setText("heron")
        qtbot.keyClick(window.sidebar.search, Qt.Key.Key_Escape)
        stopped = window.view.following.reply.controls.stop
        emptied = window.sidebar.search.text()
        qtbot.keyClick(window.sidebar.search, Qt.Key.Key_Escape)
        stopped_then = window.view.following.reply.controls.stop
        gate.set()
        await until(lambda: not window.view.is_answering)
        return stopped, emptied, stopped_then

    assert in_window(SlowEngine(gate=gate), scene) == (False, "", True)
