from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtWidgets import QWidget

from app import catalogue
from app.conversation import Settings
from engine.request import DrafterOptions, Drafting, Sampling
from support.scripted import SlowEngine
from support.window import running_text
from ui.chat.settings_sheet import ChatSettingsSheet
from ui.theme import Themes

KNOWN = catalogue.read()
FULL = Settings(
    target=Path("/models/big"), drafter=Path("/models/small"), system="Be kind.\nBe brief.",
    sampling=Sampling(temperature=0.35, top_p=0.9, top_k=40, min_p=0.05, seed=2**64 - 1),
    drafting=Drafting(wish="on", max_drafts=5), drafter_options=DrafterOptions(4, 0.125), max_tokens=12_345, stop=("END",), thinking=True,
)  # fmt: skip


@pytest.fixture
def parent(qtbot):
    parent = QWidget()
    qtbot.addWidget(parent)
    return parent


@pytest.mark.parametrize("settings", [Settings(), FULL], ids=["usual", "full"])
def test_that_an_untouched_form_changes_nothing(parent, settings):
    sheet = ChatSettingsSheet(Themes(), settings, KNOWN, parent)
    assert sheet.settings == settings
    chosen = []
    sheet.chosen.connect(chosen.append)
    sheet.accept()
    assert chosen == []


def test_that_every_field_reaches_the_settings(parent):
    sheet = ChatSettingsSheet(Themes(), Settings(), KNOWN, parent)
    sheet.target.path.setText(" /models/big ")
    sheet.drafter.path.setText("/models/small")
    sheet.system.setPlainText("Be kind.")
    sheet.temperature.setValue(0.2)
    sheet.top_p.setValue(0.5)
    sheet.max_tokens.setValue(7)
    sheet.seed.setText("18446744073709551615")
    sheet.drafting.setCurrentIndex(sheet.drafting.findData("off"))
    sheet.runs.bits.setCurrentIndex(sheet.runs.bits.findData(8))
    sheet.runs.drafts.setValue(9)
    sheet.runs.confidence.setValue(0.4)
    chosen = []
    sheet.chosen.connect(chosen.append)
    sheet.accept()
    usual = Settings()
    assert chosen == [
        replace(
            usual, target=Path("/models/big"), drafter=Path("/models/small"), system="Be kind.",
            sampling=replace(usual.sampling, temperature=0.2, top_p=0.5, seed=2**64 - 1),
            drafting=replace(usual.drafting, wish="off", max_drafts=9), max_tokens=7,
            drafter_options=DrafterOptions(8, 0.4),
        )
    ]  # fmt: skip


def test_that_cancel_changes_nothing(parent):
    sheet = ChatSettingsSheet(Themes(), Settings(), KNOWN, parent)
    chosen = []
    sheet.chosen.connect(chosen.append)
    sheet.max_tokens.setValue(7)
    sheet.reject()
    assert chosen == []


def test_that_chosen_settings_hold_for_the_next_answer_and_are_named_in_the_title(
    in_window, answered, until, errors
):
    engine = SlowEngine(tokens=2)

    async def scene(window):
        await answered(window, "one")
        old = window.view.settings
        sheet = window.open_chat_settings()
        sheet.target.path.setText("/models/big")
        sheet.drafter.path.setText("/models/small")
        sheet.system.setPlainText("Be kind.")
        sheet.accept()
        await until(lambda: window.view.settings != old)
        await until(lambda: window.view.conversation.settings.system == "Be kind.")
        pair = window.title_bar.pair.toolTip()
        await answered(window, "two")
        return pair, (await window.view._chat.conversations())[0].settings

    pair, stored = in_window(engine, scene)
    assert pair == "big ← small"
    assert (stored.target, stored.drafter) == (Path("/models/big"), Path("/models/small"))
    assert engine.requests[0].model.target != engine.requests[1].model.target
    assert engine.requests[1].turns[0].text == "Be kind."


def test_that_settings_of_a_new_chat_go_with_its_first_message(in_window, answered, until, errors):
    engine = SlowEngine(tokens=2)

    async def scene(window):
        sheet = window.open_chat_settings()
        sheet.system.setPlainText("Be brief.")
        sheet.accept()
        await until(lambda: window.view.settings.system == "Be brief.")
        assert await window.view._chat.conversations() == []
        await answered(window, "one")
        window.conversations.new()
        return window.view.settings.system

    assert in_window(engine, scene) == ""
    assert engine.requests[0].turns[0].text == "Be brief."


def test_that_drafting_switched_off_in_the_form_holds_from_the_next_round(in_window, until, errors):
    async def scene(window):
        view = window.view
        view.send("hi")
        await until(lambda: "word3" in running_text(window))
        sheet = window.open_chat_settings()
        sheet.drafting.setCurrentIndex(sheet.drafting.findData("off"))
        sheet.accept()
        reply = view.following.reply
        await until(
            lambda: [e.mode for e in reply.events_so_far if hasattr(e, "mode")][-1] == "plain"
        )
        view.stop()
        await until(lambda: not view.is_answering)
        return (await view._chat.conversations())[0].settings.drafting.wish

    assert in_window(SlowEngine(ms=5, tokens=4000), scene) == "off"


def test_that_each_mode_says_what_it_promises_and_fast_never_claims_to_be_exact(parent):
    sheet = ChatSettingsSheet(Themes(), Settings(), KNOWN, parent)
    assert sheet.mode.mode == "guarded"  # as `Drafting` has it
    said = {}
    for mode in ("exact", "guarded", "fast"):
        sheet.mode.box.setCurrentIndex(sheet.mode.box.findData(mode))
        assert sheet.settings.drafting.exactness == mode
        said[mode] = sheet.mode.meaning.text()
        assert sheet.mode.box.accessibleDescription() == said[mode]
    assert len(set(said.values())) == 3
    assert all("from the next answer on" in text for text in said.values())
    assert "exact" not in said["fast"].lower()
    assert "may differ" in said["fast"]
    assert not any("equally valid" in text for text in said.values())


def test_that_a_mode_chosen_for_this_chat_holds_for_its_next_answer(
    in_window, answered, until, errors
):
    engine = SlowEngine(tokens=2)

    async def scene(window):
        await answered(window, "one")
        sheet = window.open_chat_settings()
        sheet.mode.box.setCurrentIndex(sheet.mode.box.findData("exact"))
        sheet.accept()
        await until(lambda: window.view.settings.drafting.exactness == "exact")
        await answered(window, "two")

    in_window(engine, scene)
    assert [request.drafting.exactness for request in engine.requests] == ["guarded", "exact"]


def test_that_a_mode_chosen_for_new_chats_seeds_them_and_leaves_the_others(
    in_window, answered, until, errors
):
    engine = SlowEngine(tokens=2)

    def choose(window, mode):
        box = window.preferences.open_sheet().mode.box
        box.setCurrentIndex(box.findData(mode))

    async def scene(window):
        choose(window, "fast")  # for the empty chat that is open, too
        await until(lambda: window.view.settings.drafting.exactness == "fast")
        await answered(window, "one")
        choose(window, "exact")
        await answered(window, "still the old chat")
        window.conversations.new()
        await answered(window, "a new one")

    in_window(engine, scene)
    assert [r.drafting.exactness for r in engine.requests] == ["fast", "fast", "exact"]
