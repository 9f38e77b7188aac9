from dataclasses import replace

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QAbstractButton

from app.conversation import Failure
from engine.events import Finished, TextDelta
from ui.chat.answer import AnswerView
from ui.chat.popover import LinkPopover
from ui.chat.selection import Selection

pytestmark = pytest.mark.qt_log_ignore(
    "This plugin does not support raise", "This plugin does not support grabbing the keyboard"
)

LONG = "\n\n".join(f"Paragraph {n} of a long answer." for n in range(80))


def deltas(text, first=0, channel="answer"):
    return [TextDelta(channel, letter, first + n, first + n) for n, letter in enumerate(text)]


def press(button):
    button.click()


@pytest.fixture
def talk(message):
    """`talk(count)`: so many questions and answers."""

    def make(count, text="Some *words* as an answer.\n\n```py\nx = 1\n```"):
        return [
            message(n, "user" if n % 2 else "assistant", f"Question {n}" if n % 2 else text)
            for n in range(1, 2 * count + 1)
        ]

    return make


def test_that_a_long_conversation_builds_only_what_is_near(transcript, talk):
    transcript.show_messages(talk(250))
    assert 2 <= len(transcript.views) <= 30
    assert transcript.views[-1].message.id == 500


def test_that_scrolling_builds_what_comes_and_lets_go_of_the_rest(transcript, talk):
    transcript.show_messages(talk(60))
    bar = transcript.verticalScrollBar()
    for value in range(bar.maximum(), 0, -600):
        bar.setValue(value)
    bar.setValue(0)
    assert transcript.views[0].message.id == 1
    assert len(transcript.views) <= 50


def test_that_the_end_is_followed_by_those_who_are_there(transcript, talk, message):
    transcript.show_messages(talk(5))
    transcript.add(message(11, "user", "More"))
    transcript.add(message(12, "assistant", "", state="streaming"))
    transcript.apply(12, [TextDelta("answer", LONG, 0, 0)])
    bar = transcript.verticalScrollBar()
    assert bar.value() == bar.maximum() > 0


def test_that_who_scrolled_up_stays_there(transcript, talk, message):
    transcript.show_messages(talk(9))
    transcript.add(message(20, "assistant", "", state="streaming"))
    transcript.apply(20, [TextDelta("answer", LONG, 0, 0)])
    bar = transcript.verticalScrollBar()
    bar.setValue(bar.maximum() // 2)
    seen = next(view for view in transcript.views if view.geometry().bottom() > 0)
    before = seen.y()
    transcript.apply(20, deltas("And still more. " * 40, 1))
    assert seen.y() == before
    transcript.settle(replace(seen.message, id=20, role="assistant", text=LONG, state="stop"))
    assert seen.y() == before


def test_that_what_is_seen_stays_when_heights_above_turn_out_otherwise(transcript, talk):
    transcript.show_messages(talk(60, text=LONG))
    bar = transcript.verticalScrollBar()
    for _ in range(40):
        bar.setValue(bar.value() - 37)
        middle = transcript.viewport().height() // 2
        seen = next(v for v in transcript.views if v.isVisible() and v.geometry().bottom() > middle)
        before = seen.y()
        bar.setValue(bar.value() - 10)
        assert seen.y() == before + 10


def test_that_settling_keeps_the_blocks_that_were_written(transcript, message):
    writing = message(2, "assistant", "", state="streaming")
    transcript.show_messages([writing])
    transcript.apply(2, deltas("One.\n\nTwo **bold**."))
    blocks = list(transcript.view_of(2).body.blocks)
    transcript.settle(replace(writing, text="One.\n\nTwo **bold**.", state="stop"))
    assert transcript.view_of(2).body.blocks == blocks


def test_that_settling_shows_what_is_stored_when_it_differs(transcript, message):
    writing = message(2, "assistant", "", state="streaming")
    transcript.show_messages([writing])
    transcript.apply(2, deltas("On"))
    transcript.settle(replace(writing, text="One more.", state="stop"))
    assert transcript.view_of(2).body.plain_text == "One more."


def test_that_a_reopened_answer_goes_on_where_it_was(transcript, message):
    transcript.show_messages([message(2, "assistant", "```py\nx", state="streaming")])
    transcript.apply(2, deltas(" = 1\n```\nDone."))
    assert transcript.view_of(2).body.plain_text == "x = 1\n\nDone."
    assert transcript.view_of(2).text == "```py\nx = 1\n```\nDone."


def test_that_a_note_stands_in_the_place_of_the_answer(transcript, message):
    transcript.show_messages([message(2, "assistant", "", state="streaming")])
    transcript.set_note(2, "Loading SmolLM2… 40 %")
    view = transcript.view_of(2)
    assert view.note.text() == "Loading SmolLM2… 40 %"
    assert view.note.isVisible()
    transcript.set_note(2, "")
    assert not view.note.isVisible()


def test_that_actions_carry_their_message(transcript, talk, qtbot):
    messages = talk(1)
    messages[1] = replace(messages[1], state="cancelled", position=2, alternatives=3)
    transcript.show_messages(messages)
    row = transcript.view_of(2).row
    with qtbot.waitSignal(transcript.regenerate_asked) as asked:
        press(row.again)
    assert asked.args == [2]
    with qtbot.waitSignal(transcript.continue_asked) as asked:
        press(row.go_on)
    assert asked.args == [2]
    with qtbot.waitSignal(transcript.branch_asked) as asked:
        press(row.versions.onward)
    assert asked.args == [2, 1]


def test_that_a_question_is_edited_in_its_place(transcript, talk, qtbot):
    transcript.show_messages(talk(1))
    view = transcript.view_of(1)
    press(view.edit)
    assert view.editor.field.toPlainText() == "Question 1"
    view.editor.field.setPlainText("Another")
    with qtbot.waitSignal(transcript.edit_asked) as asked:
        qtbot.keyClick(view.editor.field, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert asked.args == [1, "Another"]
    assert view.editor is None


def test_that_leaving_the_field_changes_nothing(transcript, talk, qtbot):
    transcript.show_messages(talk(1))
    view = transcript.view_of(1)
    press(view.edit)
    view.editor.field.setPlainText("Another")
    qtbot.keyClick(view.editor.field, Qt.Key.Key_Escape)
    assert view.editor is None
    assert view.body.plain_text == "Question 1"


def test_that_a_failure_says_what_is_safe_and_what_to_do(transcript, message, qtbot):
    failure = Failure("memory", "Memory ran short.", "Everything is saved.", "Turn drafting off")
    failed = message(2, "assistant", "Half", state="failed", failure=failure)
    transcript.show_messages([failed])
    notice = transcript.view_of(2).notice
    assert notice.text == "Memory ran short. Everything is saved."
    with qtbot.waitSignal(transcript.problem_action_asked) as asked:
        notice._button.click()
    assert asked.args == ["Turn drafting off"]


@pytest.mark.parametrize("state", ["cancelled", "length", "context", "interrupted", "damaged"])
def test_that_every_other_end_is_told(transcript, message, state):
    transcript.show_messages(
        [message(2, "assistant", "" if state == "damaged" else "x", state=state)]
    )
    notice = transcript.view_of(2).notice
    assert notice.isVisible()
    assert notice.text.endswith(".")


def test_that_only_one_message_has_a_selection(transcript, talk):
    transcript.show_messages(talk(1))
    question, answer = transcript.view_of(1).body, transcript.view_of(2).body
    question.select_all()
    answer.select_all()
    assert question.selection.is_empty
    assert answer.selected_text == "Some words as an answer.\n\nx = 1"


def test_that_a_link_is_shown_in_full_before_it_opens(transcript, message, opened, qtbot):
    address = "https://example.org/a/rather/long/path?with=a&query=äö"
    transcript.show_messages([message(2, "assistant", f"[c]({address})")])
    body = transcript.view_of(2).body
    assert body.link_at(QPointF(3, 10)).startswith("https://example.org/")
    qtbot.mouseClick(body, Qt.MouseButton.LeftButton, pos=QPoint(3, 10))
    (sheet,) = transcript.findChildren(LinkPopover)
    assert opened == []
    assert sheet.address == "https://example.org/a/rather/long/path?with=a&query=%C3%A4%C3%B6"
    sheet.open.click()
    assert opened == [sheet.address]


def test_that_links_are_reached_by_keys(transcript, message, qtbot):
    text = "[a](https://example.org/1) and [b](https://example.org/2)"
    transcript.show_messages([message(2, "assistant", text)])
    body = transcript.view_of(2).body
    body.setFocus()
    for _ in range(2):
        assert body.focusNextPrevChild(True)
    qtbot.keyClick(body, Qt.Key.Key_Return)
    (sheet,) = transcript.findChildren(LinkPopover)
    assert sheet.address == "https://example.org/2"
    sheet.close()


def test_that_thinking_is_folded_until_it_is_asked_for(transcript, message):
    transcript.show_messages([message(2, "assistant", "", state="streaming")])
    transcript.apply(2, deltas("Let me *see*.", channel="thinking"))
    view = transcript.view_of(2)
    assert view.thinking.view is None
    assert view.thinking.head.text() == "Thinking…"
    view.thinking.head.click()
    transcript.apply(2, deltas(" More.", channel="thinking"))
    assert view.thinking.view.plain_text == "Let me see. More."
    stored = replace(
        view.message, text="So.", state="stop", thinking="Let me *see*. More.", thinking_s=2.01
    )
    transcript.settle(stored)
    assert view.thinking.head.text() == "Thought for 2.1 s"
    assert view.thinking.view.plain_text == "Let me see. More."


def test_that_the_strip_and_the_text_point_at_each_other(transcript, message, round_):
    text = "Alpha **beta** gamma"
    rounds = (round_(0, 4, 0), round_(1, 4, 1), round_(2, 4, 0))
    spans = ((0, 5, 0), (5, 9, 1), (9, 14, 2), (14, 20, 3))
    stored = message(2, "assistant", text, rounds=rounds, spans=spans)
    transcript.show_messages([stored])
    view = transcript.view_of(2)
    assert isinstance(view, AnswerView)
    view.strip.grid.choose(1)
    assert view.body.selected_text == " beta"
    view.body._choose(Selection((0, 12), (0, 15)))
    assert list(view.strip.grid._lit) == [2]


def test_that_an_answer_is_copied_in_three_ways(transcript, message):
    transcript.show_messages([message(2, "assistant", "A **bold** <b>.\n\n```py\nx < 1\n```")])
    view, clipboard = transcript.view_of(2), QGuiApplication.clipboard()
    view._copy("markdown")
    assert clipboard.text() == "A **bold** <b>.\n\n```py\nx < 1\n```"
    assert not clipboard.mimeData().hasHtml()
    view._copy("plain")
    assert clipboard.text() == "A bold <b>.\n\nx < 1"
    view._copy("rich")
    html = bytes(clipboard.mimeData().data("text/html").data()).decode()
    assert "<b>bold</b> &lt;b&gt;." in html
    assert "x &lt; 1" in html


def test_that_another_size_of_text_is_another_layout(transcript, talk, themes):
    transcript.show_messages(talk(2))
    before = transcript.view_of(4).height()
    themes.set_text_size(2.0)
    assert transcript.view_of(4).height() > 1.5 * before
    themes.set_appearance("dark")
    assert transcript.view_of(4).body.plain_text == "Some words as an answer.\n\nx = 1"


def test_that_every_button_has_a_name(transcript, message, round_):
    finished = Finished("stop", (1,), (1,), "", 1, 4, 3, 40.0, "on")
    rounds = (round_(0, 4, 3),)
    transcript.show_messages(
        [
            message(1, "user", "Q", alternatives=2),
            message(2, "assistant", "```\nx\n```", thinking="t", rounds=rounds, finished=finished),
        ]
    )
    for button in filter(QAbstractButton.isVisible, transcript.findChildren(QAbstractButton)):
        assert button.accessibleName() or button.text()
    assert transcript.view_of(2).strip.grid.accessibleName().startswith("Drafting, 1 rounds")


def test_that_a_window_that_becomes_active_does_not_scroll(transcript, talk, qtbot):
    transcript.show_messages(talk(9))
    bar = transcript.verticalScrollBar()
    transcript._focus_moved(None, transcript.views[0].body)
    assert bar.value() == bar.maximum()
    transcript._focus_moved(transcript.views[-1].body, transcript.views[0].row)
    assert bar.value() < bar.maximum()


def test_that_a_growing_table_builds_only_its_new_rows(transcript, message):
    transcript.show_messages([message(2, "assistant", "", state="streaming")])
    transcript.apply(2, deltas("| a | b |\n|---|---|\n| 1 | 2 |\n"))
    view = transcript.view_of(2)
    before = view.body.blocks[0].row(1)
    transcript.apply(2, [TextDelta("answer", "| 3 | 4 |\n", 40, 40)])
    transcript.settle(replace(view.message, text=view.text, state="stop"))
    table = view.body.blocks[0]
    assert table.row(1) is before
    assert table.copied(0, table.length) == "a\tb\n1\t2\n3\t4"


def test_that_text_that_is_heavy_to_read_is_read_less_often_and_never_lost(
    transcript, message, monkeypatch, qtbot
):
    monkeypatch.setattr("ui.chat.answer.HEAVY", 0.0)
    transcript.show_messages([message(2, "assistant", "", state="streaming")])
    transcript.apply(2, [TextDelta("answer", "One ", 0, 0)])
    transcript.apply(2, [TextDelta("answer", "two.", 1, 1)])
    view = transcript.view_of(2)
    assert (view.body.plain_text, view.text) == ("One", "One two.")
    qtbot.waitUntil(lambda: view.body.plain_text == "One two.", timeout=30_000)
    transcript.apply(2, [TextDelta("answer", " End.", 2, 2)])
    transcript.settle(replace(view.message, text="One two. End.", state="stop"))
    assert view.body.plain_text == "One two. End."
