from dataclasses import replace
from pathlib import Path

from app.conversation import Settings
from engine.events import DraftingState, Loaded
from engine.request import Drafting
from ui import wording
from ui.chat.draft_switch import DraftSwitch
from ui.chat.drafting import DraftingNow
from ui.theme import Themes

PAIR = Settings(drafter=Path("/models/small-drafter"))


def test_that_without_a_drafter_it_says_that_it_copies():
    now = DraftingNow(Settings())
    assert now.on
    assert now.line == wording.DRAFT_COPIES


def test_that_a_drafter_is_named_until_something_was_measured():
    assert DraftingNow(PAIR).line == "Guesses from small-drafter"
    assert DraftingNow(PAIR, speedup=1.62).line == "1.6× on the last answer"


def test_that_a_refused_drafter_says_why():
    loaded = Loaded("a", None, 1, 0, 8192, "The drafter counts 5 words, the model 7.")
    assert DraftingNow(PAIR).after(loaded).line == (
        "Copies only: The drafter counts 5 words, the model 7."
    )


def test_that_a_warning_about_the_drafter_stands_until_another_is_chosen():
    loaded = Loaded("a", "b", 1, 1, 8192, note="The names say different precisions.")
    now = DraftingNow(PAIR, speedup=1.6).after(loaded)
    assert now.line == "The names say different precisions."
    assert now.with_settings(replace(PAIR, max_tokens=9)).line == now.line
    assert now.with_settings(replace(PAIR, drafter=None)).line == "1.6× on the last answer"
    assert now.switched(False).line == wording.DRAFT_OFF


def test_that_a_pause_says_both_rates_and_the_next_try():
    paused = DraftingState("paused", "slower", drafted_rate=36.2, plain_rate=41.4, next_probe=128)
    now = DraftingNow(PAIR, speedup=1.6).after(paused)
    assert now.is_paused
    assert now.line == "Paused: 36 tok/s drafted, 41 plain. Next try in 128 tokens"
    assert now.after(DraftingState("on", "faster")).line == "1.6× on the last answer"


def test_that_drafting_that_is_kept_on_says_what_it_costs():
    cost = "Kept on as you wish: 36 tokens a second, 42 without guesses."
    kept = DraftingNow(PAIR, speedup=1.6).after(DraftingState("on", cost, 36.2, 41.4))
    assert (kept.is_paused, kept.line) == (False, cost)
    assert kept.switched(False).line == wording.DRAFT_OFF


def test_that_a_pause_without_figures_invents_none():
    now = DraftingNow(PAIR).after(DraftingState("paused", "slower"))
    assert now.line == wording.DRAFT_PAUSED


def test_that_off_by_hand_hides_what_the_engine_said_before():
    paused = DraftingNow(PAIR).after(DraftingState("paused", "slower", 1.0, 2.0, 64))
    off = paused.switched(False)
    assert (off.on, off.line) == (False, wording.DRAFT_OFF)
    assert off.switched(True).line == "Guesses from small-drafter"


def test_that_switching_off_and_on_gives_up_no_choice():
    always = replace(PAIR, drafting=Drafting(wish="on"))
    assert DraftingNow(always).switched(True).settings.drafting.wish == "on"
    assert DraftingNow(always).switched(False).switched(True).settings.drafting.wish == "auto"


def test_that_the_engines_own_off_says_why():
    now = DraftingNow(PAIR).after(DraftingState("off", "This model cannot forget tokens."))
    assert now.line == "Off: This model cannot forget tokens."


def test_that_the_switch_shows_and_speaks_the_same(qtbot):
    switch = DraftSwitch(Themes())
    qtbot.addWidget(switch)
    paused = DraftingNow(PAIR).after(DraftingState("paused", "slower", 36.0, 41.0, 64))
    switch.show_drafting(paused)
    assert switch.toggle.isChecked()
    assert switch.toggle.is_paused
    assert switch.toggle.accessibleDescription() == paused.line
    asked = []
    switch.switched.connect(asked.append)
    switch.toggle.click()
    assert asked == [False]
