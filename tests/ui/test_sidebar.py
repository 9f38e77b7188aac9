import datetime

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLineEdit

from app.conversation import Conversation
from support.scripted import SlowEngine
from ui import wording
from ui.sidebar import Sidebar
from ui.sidebar_model import CONVERSATION, Heading, rows
from ui.theme import Themes

NOON = datetime.datetime(2026, 3, 10, 12, 0).timestamp()
HOUR = 3600


@pytest.fixture
def sidebar(qtbot):
    sidebar = Sidebar(Themes())
    qtbot.addWidget(sidebar)
    sidebar.resize(236, 600)
    sidebar.show()
    return sidebar


def test_that_rows_stand_under_pinned_today_and_earlier_newest_first():
    old = Conversation(1, "old", 0, NOON - 13 * HOUR)
    new = Conversation(2, "new", 0, NOON - HOUR)
    newer = Conversation(3, "newer", 0, NOON)
    kept = Conversation(4, "kept", 0, NOON - 1000 * HOUR, pinned=True)
    assert rows([old, new, newer, kept], NOON) == [
        Heading(wording.PINNED), kept, Heading(wording.TODAY), newer, new,
        Heading(wording.EARLIER), old,
    ]  # fmt: skip


def test_that_a_heading_without_rows_is_not_shown():
    assert rows([], NOON) == []


def test_that_a_title_is_typed_over_in_its_row(sidebar, qtbot):
    sidebar.show_conversations([Conversation(7, "before", 0, NOON)])
    asked = []
    sidebar.rename_asked.connect(lambda *what: asked.append(what))
    sidebar.edit_title(7)
    editor = sidebar.list.findChild(QLineEdit)
    editor.setText("after")
    qtbot.keyClick(editor, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: asked == [(7, "after")], timeout=30_000)


def test_that_an_empty_title_changes_nothing(sidebar, qtbot):
    sidebar.show_conversations([Conversation(7, "before", 0, NOON)])
    asked = []
    sidebar.rename_asked.connect(lambda *what: asked.append(what))
    sidebar.edit_title(7)
    editor = sidebar.list.findChild(QLineEdit)
    editor.setText("   ")
    qtbot.keyClick(editor, Qt.Key.Key_Return)
    qtbot.waitUntil(
        lambda: not sidebar.list.isPersistentEditorOpen(sidebar.rows.row_of(7)), timeout=30_000
    )
    assert asked == []
    assert sidebar.rows.row_of(7).data() == "before"


def test_that_an_answering_row_says_so_to_a_screen_reader(sidebar):
    sidebar.show_conversations([Conversation(7, "title", 0, NOON)])
    sidebar.show_marks({7}, set())
    index = sidebar.rows.row_of(7)
    assert index.data(Qt.ItemDataRole.AccessibleTextRole) == "title, answering"
    sidebar.show_marks({7}, {7})
    assert index.data(Qt.ItemDataRole.AccessibleTextRole) == "title, waiting"


def test_that_searching_finds_words_of_messages(in_window, answered, until, errors):
    async def scene(window):
        await answered(window, "the heron stands")
        window.conversations.new()
        await answered(window, "the kettle sings")
        window.sidebar.search.setText("heron")
        await until(lambda: _titles(window) == ["the heron stands"])
        window.sidebar.search.setText("zeppelin")
        await until(lambda: _titles(window) == [])
        said = window.sidebar._empty.text()
        window.sidebar.search.clear()
        await until(lambda: len(_titles(window)) == 2)
        return said

    assert in_window(SlowEngine(), scene) == wording.NOTHING_FOUND.format(search="zeppelin")


def _titles(window):
    model = window.sidebar.rows
    found = [model.index(row).data(CONVERSATION) for row in range(model.rowCount())]
    return [one.title for one in found if one]


def test_that_a_deleted_conversation_can_be_brought_back(in_window, answered, until, errors):
    async def scene(window):
        await answered(window, "precious")
        window.conversations.delete_here()
        await until(lambda: _titles(window) == [])
        assert window.view.here is None
        shown = window.problem_bar.shown
        window.problem_bar.action.click()
        await until(lambda: _titles(window) == ["precious"])
        await until(lambda: window.view.here is not None)
        return shown, len(await window.view._chat.messages(window.view.here))

    shown, messages = in_window(SlowEngine(), scene)
    assert shown.action == wording.UNDO
    assert messages == 2


def test_that_pin_and_rename_reach_the_store(in_window, answered, until, errors):
    async def scene(window):
        await answered(window, "plain title")
        here = window.view.here
        window.conversations.rename(here, "Better title")
        await until(lambda: _titles(window) == ["Better title"])
        await until(lambda: window.title_bar.title.toolTip() == "Better title")
        window.conversations.pin_here()
        await until(lambda: window.view.conversation.pinned)
        return (await window.view._chat.conversations())[0]

    stored = in_window(SlowEngine(), scene)
    assert (stored.title, stored.pinned) == ("Better title", True)


def test_that_the_menu_of_a_row_acts_on_that_row(sidebar):
    kept = Conversation(7, "kept", 0, NOON, pinned=True)
    sidebar.show_conversations([kept, Conversation(8, "other", 0, NOON)])
    sidebar.list.setCurrentIndex(sidebar.rows.row_of(7))
    asked = []
    sidebar.pin_asked.connect(lambda *what: asked.append(what))
    sidebar.delete_asked.connect(asked.append)
    menu = sidebar.menu_for(kept)
    by_text = {action.text(): action for action in menu.actions()}
    by_text[wording.UNPIN].trigger()
    by_text[wording.DELETE].trigger()
    assert asked == [(7, False), 7]


def test_that_arrow_keys_open_and_delete_deletes(sidebar, qtbot):
    newest, older = Conversation(1, "newest", 0, NOON), Conversation(2, "older", 0, NOON - 1)
    sidebar.show_conversations([newest, older])
    sidebar.show_current(1)
    sidebar.activateWindow()
    sidebar.list.setFocus()
    qtbot.waitUntil(sidebar.list.hasFocus, timeout=30_000)
    opened, deleted = [], []
    sidebar.opened.connect(opened.append)
    sidebar.delete_asked.connect(deleted.append)
    qtbot.keyClick(sidebar.list, Qt.Key.Key_Down)
    qtbot.keyClick(sidebar.list, Qt.Key.Key_Delete)
    assert (opened, deleted) == ([2], [2])


def test_that_esc_empties_the_search(sidebar, qtbot):
    sidebar.search.setText("heron")
    qtbot.keyClick(sidebar.search, Qt.Key.Key_Escape)
    assert sidebar.search.text() == ""


def test_that_a_title_that_is_typed_survives_what_happens_meanwhile(sidebar, qtbot):
    one, two = Conversation(1, "one", 0, NOON), Conversation(2, "two", 0, NOON + 1)
    sidebar.show_conversations([one])
    asked = []
    sidebar.rename_asked.connect(lambda *what: asked.append(what))
    sidebar.edit_title(1)
    editor = sidebar.list.findChild(QLineEdit)
    editor.setText("better")
    sidebar.show_conversations([one, two])
    qtbot.keyClick(editor, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: asked == [(1, "better")], timeout=30_000)
    qtbot.waitUntil(lambda: sidebar.rows.row_of(2).isValid(), timeout=30_000)
