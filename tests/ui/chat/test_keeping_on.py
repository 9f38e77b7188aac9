"""Drafting kept on where it pauses: the button in the strip, and what is wished in the chat."""

import time
from dataclasses import replace

import pytest
from PySide6.QtCore import QRect

from app.conversation import DraftMark
from engine.events import DraftingState, Finished, Round
from support.scripted import SlowEngine

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support raise")
PAUSED = DraftMark(2, "paused", "Guessing is slower than plain decoding on this text.")
COST = "Kept on as you wish: 31 tokens a second, 41 without guesses."
KEPT = DraftMark(4, "on", COST)
DONE = Finished("stop", (1,), (7, 8), "", 2, 8, 3, 42.0, "paused")


class PausingEngine(SlowEngine):
    """Pauses after two rounds, and waits there and later for what a person wishes."""

    def _decode(self, request, controls):
        for event in super()._decode(request, controls):
            done = isinstance(event, Finished)
            yield replace(event, drafting="paused", proposed=9) if done else event
            if isinstance(event, Round) and event.index == 1 and request.drafting.wish == "auto":
                yield DraftingState("paused", PAUSED.reason, 31.2, 40.4, 8)
                self._until(controls, lambda: controls.insist)
                yield DraftingState("on", COST, 31.2, 40.4)
            if isinstance(event, Round) and event.index == 2 and controls.insist:
                self._until(controls, lambda: controls.insist is False)
                yield DraftingState("paused", PAUSED.reason, 31.2, 40.4, 8)

    def _until(self, controls, is_wished):
        while not is_wished() and not controls.stop:
            time.sleep(0.002)


@pytest.fixture
def two(round_):
    return (round_(0, 4, 2), round_(1, 4, 1))


def test_that_a_pause_offers_to_keep_on_and_then_to_let_it_pause_again(strip, two, qtbot):
    strip.show_answer(two, [PAUSED], DONE)
    assert strip.keep.text() == "Keep on anyway"
    assert "Same text, slower" in strip.keep.accessibleDescription()
    with qtbot.waitSignal(strip.keep_asked) as asked:
        strip.keep.click()
    assert asked.args == [True]
    assert strip.show_wish("on")
    assert strip.keep.text() == "Let it pause again"
    with qtbot.waitSignal(strip.keep_asked) as asked:
        strip.keep.click()
    assert asked.args == [False]


def test_that_the_button_is_there_only_where_it_means_something(strip, two):
    strip.show_answer(two, [PAUSED], DONE)
    strip.show_wish("off")
    assert strip.keep.isHidden()  # nothing is drafted here
    strip.show_wish("auto")
    strip.show_answer(two, [PAUSED, KEPT], replace(DONE, drafting="on"))
    assert strip.keep.isHidden()  # it was kept on then, and is not any more
    strip.show_wish("on")
    assert not strip.keep.isHidden()
    strip.show_answer(two, [], replace(DONE, drafting="on"))
    assert strip.keep.isHidden()  # it pays


def test_that_the_line_says_that_it_is_kept_on_and_what_that_costs(strip, two):
    strip.show_answer(two, [PAUSED, KEPT], None)
    assert COST.rstrip(".") in strip.head.text()
    strip.set_open(False)
    assert strip.head.text().startswith(COST.rstrip("."))
    assert COST.rstrip(".") in strip.head.accessibleName()
    strip.set_open(True)
    done = replace(DONE, saved_s=(-1.2, -1.2))
    strip.show_answer(two, [PAUSED], done)
    assert strip.head.text().startswith("Took 1.2 s longer · Draft paused")


@pytest.mark.parametrize("width", [900, 480, 300])
def test_that_line_and_button_have_room_however_narrow_it_is(strip, two, width):
    strip.show_answer(two, [PAUSED], DONE)
    height = strip.lay_out(width)
    strip.resize(width, height)
    head, keep, area = strip.head.geometry(), strip.keep.geometry(), strip._area.geometry()
    words = QRect(head.x(), head.y(), strip.head.room, head.height() - 4)
    arrow = QRect(head.right() - 16, head.y(), 16, head.height() - 4)
    assert not words.intersects(keep)
    assert not arrow.intersects(keep)
    assert words.width() > 150
    assert not keep.intersects(area)
    assert keep.width() >= strip.keep.sizeHint().width()
    assert max(keep.right(), area.right()) <= width
    assert area.bottom() <= height


def test_that_a_person_keeps_it_on_in_the_middle_of_an_answer_and_lets_it_pause_again(
    in_window, until, errors
):
    async def scene(window):
        view, chat = window.view, window.view._chat
        window.show()
        view.send("Why?")
        await until(lambda: view.transcript.views and hasattr(view.transcript.views[-1], "strip"))
        strip = view.transcript.views[-1].strip
        await until(lambda: strip.keep.text() == "Keep on anyway")
        strip.keep.click()
        await until(lambda: COST.rstrip(".") in strip.head.text())
        assert strip.keep.text() == "Let it pause again"
        assert view.composer.switch.line == COST
        assert (await chat.conversations())[0].settings.drafting.wish == "on"
        strip.keep.click()
        await until(lambda: not view.is_answering and not window._tasks._running)
        assert strip.keep.text() == "Keep on anyway"
        assert (await chat.conversations())[0].settings.drafting.wish == "auto"
        strip.keep.click()  # also after its end, for the next answers
        await until(lambda: not window._tasks._running)
        view.send("And?")
        await until(lambda: len(engine.requests) == 2 and not view.is_answering)

    engine = PausingEngine(tokens=9)
    in_window(engine, scene)
    assert [request.drafting.wish for request in engine.requests] == ["auto", "on"]


def test_that_the_switch_takes_it_back(in_window, until, errors):
    async def scene(window):
        view = window.view
        window.show()
        view.send("Why?")
        await until(lambda: view.transcript.views and hasattr(view.transcript.views[-1], "strip"))
        strip = view.transcript.views[-1].strip
        await until(lambda: strip.keep.text() == "Keep on anyway")
        reply = view.following.reply
        strip.keep.click()
        await until(lambda: reply.controls.insist)
        view.set_drafting(False)
        await until(lambda: reply.controls.insist is False)
        view.set_drafting(True)
        await until(lambda: not view.is_answering and not window._tasks._running)
        return view.settings.drafting.wish, reply.controls.insist

    assert in_window(PausingEngine(tokens=9), scene) == ("auto", False)
