import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QInputMethodEvent
from PySide6.QtWidgets import QApplication

from ui import wording
from ui.chat.composer import Composer
from ui.theme import Themes

Key, Modifier = Qt.Key, Qt.KeyboardModifier


@pytest.fixture
def composer(qtbot):
    composer = Composer(Themes())
    composer.resize(700, 200)
    qtbot.addWidget(composer)
    composer.show()
    sent = []
    composer.send_asked.connect(sent.append)
    composer.sent_texts = sent
    return composer


def test_that_enter_sends_and_shift_enter_is_a_new_line(composer, qtbot):
    qtbot.keyClicks(composer.box, "one")
    qtbot.keyClick(composer.box, Key.Key_Return, Modifier.ShiftModifier)
    qtbot.keyClicks(composer.box, "two")
    qtbot.keyClick(composer.box, Key.Key_Return)
    assert composer.sent_texts == ["one\ntwo"]
    assert composer.text == "one\ntwo"


def test_that_the_keypads_enter_sends_too(composer, qtbot):
    composer.write("one")
    qtbot.keyClick(composer.box, Key.Key_Enter, Modifier.KeypadModifier)
    assert composer.sent_texts == ["one"]


def test_that_the_send_key_can_be_swapped(composer, qtbot):
    composer.set_send_key(enter_sends=False)
    composer.write("one")
    qtbot.keyClick(composer.box, Key.Key_Return)
    assert (composer.sent_texts, composer.text) == ([], "one\n")
    qtbot.keyClick(composer.box, Key.Key_Return, Modifier.ControlModifier)
    assert composer.sent_texts == ["one\n"]


def test_that_enter_belongs_to_an_input_method_while_it_composes(composer, qtbot):
    QApplication.sendEvent(composer.box, QInputMethodEvent("にほ", []))
    qtbot.keyClick(composer.box, Key.Key_Return)
    assert composer.sent_texts == []
    commit = QInputMethodEvent("", [])
    commit.setCommitString("日本")
    QApplication.sendEvent(composer.box, commit)
    assert composer.sent_texts == []
    qtbot.keyClick(composer.box, Key.Key_Return)
    assert composer.sent_texts == ["日本"]


def test_that_a_blank_message_is_not_sent(composer, qtbot):
    composer.write("  \n ")
    qtbot.keyClick(composer.box, Key.Key_Return)
    assert composer.sent_texts == []
    assert not composer.button.isEnabled()
    assert composer.button.toolTip() == wording.NOTHING_TO_SEND


def test_that_the_box_grows_to_eight_lines_and_no_further(composer):
    heights = []
    for lines in (1, 2, 8, 9, 200):
        composer.write("\n".join("x" * lines))
        heights.append((composer.box.lines, composer.box.height()))
    assert [lines for lines, _ in heights] == [1, 2, 8, 8, 8]
    assert heights[0][1] < heights[1][1] < heights[2][1] == heights[3][1] == heights[4][1]


def test_that_long_lines_count_where_they_wrap(composer):
    composer.write("word " * 60)
    assert composer.box.lines > 2


def test_that_a_message_that_is_being_saved_is_sent_once(composer, qtbot):
    composer.write("one")
    qtbot.keyClick(composer.box, Key.Key_Return)
    composer.hold()
    qtbot.keyClick(composer.box, Key.Key_Return)
    composer.button.click()
    assert composer.sent_texts == ["one"]
    composer.release()
    assert composer.text == "one"


def test_that_send_is_stop_while_an_answer_is_written(composer, qtbot):
    stops = []
    composer.stop_asked.connect(lambda: stops.append(True))
    composer.show_answering(True)
    assert composer.button.text() == wording.STOP
    assert composer.button.isEnabled()
    composer.button.click()
    assert stops == [True]
    composer.show_stopping()
    assert composer.button.text() == wording.STOPPING
    composer.show_answering(False)
    assert composer.button.text() == wording.SEND


def test_that_the_context_is_said_once_its_limit_is_known(composer):
    composer.show_context(10, 0)
    assert composer.context.text() == ""
    composer.show_context(1204, 8192)
    assert composer.context.text() == "1,204 of 8,192"


def test_that_up_in_the_empty_box_recalls(composer, qtbot):
    recalls = []
    composer.recall_asked.connect(lambda: recalls.append(True))
    qtbot.keyClick(composer.box, Key.Key_Up)
    composer.write("text")
    qtbot.keyClick(composer.box, Key.Key_Up)
    assert recalls == [True]


def test_that_text_of_any_kind_comes_out_as_it_went_in(composer):
    text = "a\tb  c\n\n‮שלום 👩‍👩‍👧 e\u0301 <b>&amp;</b>  \n"
    composer.write(text)
    assert composer.text == text
