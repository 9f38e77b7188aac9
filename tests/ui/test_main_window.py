from dataclasses import replace

from PySide6.QtGui import QAction, QGuiApplication
from PySide6.QtWidgets import QWidget

from app.problem import Problem
from app.settings import WindowState
from tests.support.scripted import SlowEngine, words
from ui import placement, wording

Role = QAction.MenuRole


def actions_of(window):
    return [action for action in window.findChildren(QAction) if action.text()]


def test_that_the_conversation_and_its_answer_are_there_after_a_restart(
    in_window, answered, until, errors
):
    async def before(window):
        await answered(window, "remember me")
        window.panes.want_sidebar(False)
        return window.view.here

    async def after(window):
        await until(lambda: window.view.here is not None)
        messages = await window.view._chat.messages(window.view.here)
        return window.view.here, messages[1].text, window.panes.is_sidebar_wanted

    here = in_window(SlowEngine(tokens=3), before)
    text = words(0) + words(1) + words(2)
    assert in_window(SlowEngine(), after) == (here, text, False)


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
        states = [window.panes.is_sidebar_visible]
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
