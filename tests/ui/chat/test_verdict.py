from dataclasses import replace

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QLabel

from app.receipts import Receipt
from engine.events import Finished
from ui.chat.verdict import Verdict
from ui.chat.verdict_text import Told
from ui.theme import Theme

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support raise")

SAME = Told("same", "Same as without drafting:", "9 of 9 tokens. Checked here, today 14:02.")
DIFFERS = Told(
    "differs", "Differs at token 388.", "With drafting “a” · without “b”.", "save", "Save"
)
PAIR = replace(DIFFERS, also="pair off", also_label="Turn drafting off for this pair")
UNCHECKED = Told("unchecked", "Not checked.", "", "check", "Check this answer (about 40 s)")
RUNNING = Told("running", "Writing it again…", "3 of 9 tokens match so far.", "stop", "Stop")
DONE = Finished("stop", (1,), (7, 8, 9), "", 3, 4, 2, 42.0, "on", plain_ms=400.0, first_token_s=0.4)
RECEIPT = Receipt("same", 3, 3, None, "", "", None, "", 0.0)


@pytest.fixture
def verdict(qtbot, themes):
    widget = Verdict(themes)
    qtbot.addWidget(widget)
    return widget


@pytest.fixture
def answer(transcript, message, round_):
    """The view of an answer that was drafted."""
    made = message(2, "assistant", "Because.", rounds=(round_(0, 4, 2),), finished=DONE)
    transcript.show_messages([message(1, "user", "Why?"), made])
    return transcript.view_of(2)


@pytest.mark.parametrize(
    ("told", "signal"),
    [(UNCHECKED, "check_asked"), (RUNNING, "stop_asked"), (DIFFERS, "save_asked")],
)
def test_that_the_one_action_is_reached_by_the_keyboard(verdict, qtbot, told, signal):
    verdict.show_told(told)
    assert verdict.button.focusPolicy() & Qt.FocusPolicy.TabFocus
    assert verdict.button.accessibleName() == told.label
    with qtbot.waitSignal(getattr(verdict, signal)):
        qtbot.keyClick(verdict.button, Qt.Key.Key_Space)


@pytest.mark.parametrize(("also", "on"), [("pair off", False), ("pair on", True)])
def test_that_the_pair_is_switched_by_the_keyboard(verdict, qtbot, also, on):
    verdict.show_told(replace(PAIR, also=also))
    assert verdict.also.focusPolicy() & Qt.FocusPolicy.TabFocus
    assert verdict.also.accessibleName() == PAIR.also_label
    assert "this model and drafter" in verdict.also.accessibleDescription()
    with qtbot.waitSignal(verdict.pair_asked) as asked:
        qtbot.keyClick(verdict.also, Qt.Key.Key_Space)
    assert asked.args == [on]
    verdict.show_told(DIFFERS)
    assert verdict.also.isHidden()


def test_that_a_verdict_without_an_action_has_no_button(verdict):
    verdict.show_told(DIFFERS)
    verdict.show_told(SAME)
    assert verdict.button.isHidden()
    assert verdict.accessibleName() == SAME.text
    assert verdict.toolTip() == verdict.accessibleDescription()
    assert "Same model, weights, settings and app version" in verdict.toolTip()


def test_that_every_state_has_a_sign_of_its_own_shape(verdict, themes):
    shapes = set()
    for told in (SAME, DIFFERS, UNCHECKED, RUNNING, Told("cannot", "Can't be checked:", "Why.")):
        verdict.show_told(told)
        verdict.resize(600, verdict.lay_out(600))
        image = verdict.grab().toImage()
        ground = image.pixelColor(0, 0)
        sign = frozenset(
            (x, y) for x in range(14) for y in range(28) if image.pixelColor(x, y) != ground
        )
        assert sign, told
        shapes.add(sign)
    assert len(shapes) == 5


def test_that_good_and_bad_have_their_colour_in_both_appearances(verdict, themes):
    for appearance, theme in (("light", Theme.light()), ("dark", Theme.dark())):
        themes.set_appearance(appearance)
        for told, colour in ((SAME, theme.good), (DIFFERS, theme.bad)):
            verdict.show_told(told)
            verdict.restyle()
            assert colour.name() in verdict.findChildren(QLabel)[0].styleSheet()


def test_that_all_words_are_there_however_narrow_it_is(verdict):
    for told in (SAME, DIFFERS, PAIR, UNCHECKED, RUNNING):
        verdict.show_told(told)
        for width in (700, 420, 220):
            height = verdict.lay_out(width)
            verdict.resize(width, height)
            for part in verdict.children():
                if part.isHidden() or not part.text():
                    continue
                assert verdict.rect().contains(part.geometry(), False), (told.kind, width, part)
                if isinstance(part, QLabel) and part.wordWrap():
                    assert part.height() >= part.heightForWidth(part.width())
                elif not isinstance(part, QLabel):
                    assert part.width() >= part.sizeHint().width()


def test_that_model_text_is_never_markup(verdict):
    verdict.show_told(replace(DIFFERS, rest="With drafting “<b>x</b>”"))
    assert {label.textFormat() for label in verdict.findChildren(QLabel)} == {
        Qt.TextFormat.PlainText
    }


def test_that_the_verdict_stands_in_the_row_where_there_is_room_and_above_it_where_not(
    transcript, answer
):
    assert answer.verdict.told.kind == "unchecked"
    assert answer.verdict.y() == answer.row.y()
    assert answer.verdict.x() >= answer.row._label.sizeHint().width()
    rest = [answer.row.copy, answer.row.again, answer.row.more]
    left = min(part.mapTo(answer, QPoint(0, 0)).x() for part in rest)
    assert answer.verdict.geometry().right() < left
    transcript.resize(400, 600)
    assert answer.verdict.geometry().bottom() <= answer.row.y()


def test_that_progress_moves_nothing_once_it_is_shown(transcript, answer):
    transcript.show_check(2, (0, 113))
    places = []
    for matched in (0, 9, 10, 99, 100, 113):
        transcript.show_check(2, (matched, 113))
        rest = answer.verdict._rest
        assert rest.width() >= rest.fontMetrics().horizontalAdvance(rest.text())  # in one line
        places.append((answer.verdict.geometry(), answer.row.geometry(), answer.geometry()))
    assert len(set(map(str, places))) == 1
    assert "113 of 113 tokens match so far" in answer.verdict.told.text


def test_that_other_words_of_the_same_kind_are_laid_out_anew(transcript, answer):
    before = answer.verdict.geometry()
    transcript.show_check(2, "gave way")
    assert answer.verdict.told.kind == "unchecked"
    rest = answer.verdict._rest
    assert answer.verdict.geometry() != before
    assert answer.verdict.rect().contains(rest.geometry())
    assert not rest.geometry().intersects(answer.verdict._first.geometry())


def test_that_a_check_is_shown_anew_when_its_answer_is(transcript, answer, message):
    transcript.show_check(2, (1, 3))
    messages = [message(1, "user", "Why?"), answer.message]
    transcript.show_messages([])
    transcript.show_messages(messages)
    assert transcript.view_of(2).verdict.told.kind == "running"
    transcript.show_check(2, None)
    assert transcript.view_of(2).verdict.told.kind == "unchecked"


def test_that_a_verdict_stays_with_its_answer_when_the_view_is_built_again(transcript, answer):
    transcript.show_check(2, (1, 3))
    transcript.show_receipt(2, RECEIPT)
    assert answer.verdict.told.kind == "same"
    assert answer.message.receipt == RECEIPT
    assert transcript._places.all[1].message.receipt == RECEIPT


def test_that_the_menu_checks_and_saves(transcript, answer, qtbot):
    labels = [action.text() for action in answer.row.menu().actions()]
    assert "Check this answer" in labels
    assert "Save report…" not in labels
    transcript.show_receipt(2, RECEIPT)
    by_text = {action.text(): action for action in answer.row.menu().actions()}
    with qtbot.waitSignal(transcript.check_asked) as asked:
        by_text["Check this answer"].trigger()
    assert asked.args == [2]
    with qtbot.waitSignal(transcript.save_asked) as asked:
        by_text["Save report…"].trigger()
    assert asked.args == [2]


def test_that_a_verdict_builds_nothing_of_the_text_anew(transcript, answer):
    before = answer.body.blocks
    transcript.show_check(2, (1, 3))
    transcript.show_receipt(2, RECEIPT)
    assert answer.body.blocks is before  # nothing of the text was built anew
