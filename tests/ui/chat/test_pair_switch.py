"""Drafting turned off for the pair of an answer that differs, in the whole window."""

from dataclasses import replace

import pytest

import resources
from app.conversation import Pair
from engine.events import Finished
from support.checked import CheckedEngine

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support raise")
STARTER = Pair(None, None)


class StarterEngine(CheckedEngine):
    """Says that the starter wrote its replies."""

    def _decode(self, request, controls):
        for event in super()._decode(request, controls):
            if isinstance(event, Finished):
                origin = replace(event.origin, target=str(resources.path("starter")))
                event = replace(event, origin=origin)
            yield event


def last(window):
    return window.view.transcript.views[-1]


async def found_different(window, answered, until):
    await answered(window, "Why?")
    last(window).verdict.button.click()
    await until(lambda: last(window).verdict.told.kind == "differs")


def test_that_a_pair_is_turned_off_here_and_for_new_chats_and_on_again_in_the_same_place(
    in_window, answered, until, errors
):
    async def before(window):
        chat = window.view._chat
        await found_different(window, answered, until)
        verdict, settings = last(window).verdict, window._program.settings
        assert verdict.also.text() == "Turn drafting off for this model"
        verdict.also.click()
        await until(lambda: verdict.told.also == "pair on" and not window._tasks._running)
        here = await chat.conversations()
        assert settings.current.plain_pairs == (STARTER,)
        assert (window.view.following.drafting.on, here[0].settings.drafting.wish) == (False, "off")
        assert "its new chats begin without" in verdict.told.text
        window.conversations.new()
        assert not window.view.following.drafting.on
        await answered(window, "And?")
        assert (await chat.conversations())[0].settings.drafting.wish == "off"
        window.view.open(here[0])
        await until(lambda: window.view.here == here[0].id)
        return here[0].id

    async def after(window):
        await until(lambda: window.view.transcript.views)
        verdict = last(window).verdict
        assert (verdict.told.also, window.view.following.drafting.on) == ("pair on", False)
        verdict.also.click()
        await until(lambda: verdict.told.also == "pair off" and not window._tasks._running)
        assert window.view.following.drafting.on
        window.conversations.new()
        assert window.view.following.drafting.on
        return window._program.settings.current.plain_pairs

    engine = StarterEngine(tokens=9, differs_at=3)
    in_window(engine, before)
    assert in_window(StarterEngine(), after) == ()


def test_that_a_chat_that_uses_another_pair_keeps_its_switch(in_window, answered, until, errors):
    async def scene(window):
        await found_different(window, answered, until)
        verdict = last(window).verdict
        verdict.also.click()
        await until(lambda: verdict.told.also == "pair on" and not window._tasks._running)
        return window.view.following.drafting.on, window._program.settings.current.plain_pairs[0]

    on, pair = in_window(CheckedEngine(tokens=9, differs_at=3), scene)  # written by /models/a
    assert on
    assert (str(pair.target), pair.drafter) == ("/models/a", None)


def test_that_a_pair_chosen_later_begins_as_it_was_switched(in_window, until, errors, tmp_path):
    other = tmp_path / "other"

    async def scene(window):
        settings = window._program.settings
        settings.write(replace(settings.current, plain_pairs=(Pair(other, None),)))
        usual = window.view.settings
        window.pairs.choose(replace(usual, target=other))
        await until(lambda: window.view.settings.target == other)
        assert not window.view.following.drafting.on
        window.view.set_drafting(True)  # a person may have it otherwise
        window.pairs.choose(replace(window.view.settings, system="Be kind."))
        await until(lambda: window.view.settings.system)
        return window.view.following.drafting.on

    assert in_window(CheckedEngine(), scene)


def test_that_a_disk_that_refuses_is_told_and_the_choice_holds_for_this_run(
    in_window, answered, until, errors, monkeypatch
):
    def refuse(_path, _content):
        raise OSError(28, "No space left on device")

    async def scene(window):
        await found_different(window, answered, until)
        with monkeypatch.context() as patch:
            patch.setattr("app.settings.write_whole", refuse)
            last(window).verdict.also.click()
            await until(lambda: window.problem_bar.shown is not None)
        assert len(list(errors)) == 1
        return last(window).verdict.told.also, window.problem_bar.shown.is_problem

    engine = StarterEngine(tokens=9, differs_at=3)
    assert in_window(engine, scene) == ("pair on", True)
