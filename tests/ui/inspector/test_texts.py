from dataclasses import replace
from pathlib import Path

import pytest

from app.conversation import Settings
from engine.drafters import precision
from engine.events import DraftingState, Loaded
from engine.facts import Facts, WidthFact
from ui import wording
from ui.chat.drafting import DraftingNow
from ui.inspector import texts
from ui.inspector.figures import Figures

FIGURES = Figures(
    rounds=48, drafted=40, written=150, proposed=298, accepted=212, accepted_at=(40, 31, 2),
    proposed_at=(48, 40, 3), guess_ms=160.0, check_ms=1920.0, timed=100, timed_s=2.5, plain_steps=8,
    plain_ms=320.0,
)  # fmt: skip
FACTS = Facts(
    Path("/models/a"), Path("/models/d"), "", 538_000_000, 12_300_000, 31_400_000, 1_602_000_000,
    81_000_000, "float32", True, 3,
    (WidthFact(2, True, 0.0, 1e-5), WidthFact(3, True, 0.0, 1e-5), WidthFact(4, False, 5e-5, 2e-4)),
    "",
)  # fmt: skip


def values(lines):
    return {line.name: line.value for line in lines}


def test_that_every_rate_carries_its_number():
    assert texts.share(212, 298) == "71 % of 298"  # 71.1, never rounded up
    assert texts.share(19, 19) == "19 of 19"  # too few for a percentage
    assert texts.share(0, 0) == "–"
    assert values(texts.guesses(FIGURES)) == {"All guesses": "71 % of 298"}


def test_that_places_beyond_the_eighth_share_a_line():
    places = texts.places(FIGURES)
    assert [(p.name, p.text) for p in places] == [
        ("1", "83 % of 48"), ("2", "77 % of 40"), ("3", "2 of 3"),
    ]  # fmt: skip
    deep = replace(FIGURES, accepted_at=(9,) * 12, proposed_at=(10,) * 12)
    shown = texts.places(deep)
    assert [p.name for p in shown] == ["1", "2", "3", "4", "5", "6", "7", "8+"]
    assert shown[-1].text == "90 % of 50"  # places 8 to 12


def test_that_times_are_means_and_say_over_how_many():
    assert values(texts.rounds(FIGURES)) == {
        "Tokens per round": "3.1 over 48",
        "Guessing": "4.0 ms over 40",
        "Checking": "48.0 ms over 40",
        "Plain step": "40.0 ms over 8",
    }


def test_that_both_rates_stand_side_by_side():
    assert values(texts.speed(FIGURES)) == {
        "As written": "40.0 tok/s", "Plain": "25.0 tok/s over 8", "Ratio": "1.6× plain",
    }  # fmt: skip


def test_that_no_ratio_is_told_from_few_plain_steps():
    few = replace(FIGURES, plain_steps=7, plain_ms=280.0)
    assert values(texts.speed(few))["Ratio"] == "few plain steps yet"


def test_that_nothing_is_invented_where_nothing_is_known():
    for lines in (
        texts.guesses(Figures()), texts.rounds(Figures()), texts.speed(Figures()),
        texts.context(0, 0), texts.memory(None, None), texts.exactness(None, "guarded")[1:],
    ):  # fmt: skip
        assert {line.value for line in lines} == {"–"}
    assert texts.places(Figures()) == []


def test_that_memory_tells_what_loading_said_until_there_are_facts():
    loaded = Loaded("a", "d", 538_000_000, 12_300_000, 8192)
    assert list(values(texts.memory(None, loaded)).values()) == [
        "538 MB", "12.3 MB", "–", "–", "–",
    ]  # fmt: skip
    assert values(texts.memory(FACTS, loaded)) == {
        "Model": "538 MB", "Drafter": "12.3 MB", "This chat": "31.4 MB", "In use": "1.6 GB",
        "Kept for reuse": "81.0 MB",
    }  # fmt: skip
    alone = replace(FACTS, drafter_bytes=0, conversation_bytes=0)
    assert values(texts.memory(alone, None))["Drafter"] == "none"
    assert values(texts.memory(alone, None))["This chat"] == "nothing kept"


@pytest.mark.parametrize(
    ("count", "expected"),
    [(999, "999 B"), (1_000, "1.0 kB"), (99_940, "99.9 kB"), (250_000_000, "250 MB"),
     (17_100_000_000, "17.1 GB")],
)  # fmt: skip
def test_that_sizes_are_in_steps_of_a_thousand(count, expected):
    assert texts.size(count) == expected


def test_that_exactness_says_width_difference_margin_and_mode():
    assert values(texts.exactness(FACTS, "guarded")) == {
        "Mode": "Guarded", "Bit-equal": "up to 3 tokens", "Largest difference": "5e-05 at 4 tokens",
        "Near-tie below": "0.0002",
    }  # fmt: skip
    assert texts.exactness_note(FACTS, is_busy=False) == ""
    assert values(texts.exactness(FACTS, "fast"))["Near-tie below"] == "not used"


def test_that_equal_everywhere_and_nowhere_are_said_in_words():
    equal = replace(FACTS, widths=FACTS.widths[:2])
    assert values(texts.exactness(equal, "exact"))["Bit-equal"] == "at all widths, to 3"
    assert values(texts.exactness(equal, "exact"))["Largest difference"] == "none"
    never = replace(FACTS, exact_width=1, widths=(WidthFact(2, False, 1e-4, 4e-4),))
    assert values(texts.exactness(never, "exact"))["Bit-equal"] == "at no width"


def test_that_fast_is_never_called_exact():
    lines = texts.exactness(FACTS, "fast")
    assert lines[0].value == "Fast"
    assert "exact" not in f"{lines[0].value} {lines[0].meaning}".lower()


def test_that_the_note_says_what_is_missing_or_wrong():
    def note(facts, is_busy=False):
        return texts.exactness_note(facts, is_busy=is_busy)

    assert "not loaded" in note(None)
    assert "when the engine rests" in note(None, is_busy=True)
    assert "Not measured yet" in note(replace(FACTS, widths=(), is_measured=False))
    assert "in part" in note(replace(FACTS, is_measured=False))
    assert note(replace(FACTS, fault="Look here.")) == "Drafting is refused. Look here."


def test_that_drafting_says_its_state_and_why():
    now = DraftingNow(Settings(drafter=Path("/models/small")), speedup=1.6)
    assert texts.drafting(now, None) == ([texts.Line("State", "on")], "Guesses from small")
    paused = now.after(DraftingState("paused", "slower", 36.2, 41.4, 128))
    lines, why = texts.drafting(paused, None)
    assert (lines[0].value, why) == (
        "paused", "Paused: 36 tok/s drafted, 41 plain. Next try in 128 tokens",
    )  # fmt: skip
    assert texts.drafting(now.switched(False), None) == (
        [texts.Line("State", "off")], wording.DRAFT_OFF,
    )  # fmt: skip
    refused = now.after(Loaded("a", None, 1, 0, 8192, "Not for this model."))
    assert texts.drafting(refused, None)[1] == "Copies only: Not for this model."
    told = texts.drafting(now, replace(FACTS, refused="Not for this model."))
    assert told[1] == "Copies only: Not for this model."  # loaded for another chat
    fault = now.after(DraftingState("off", "Look for the fault in the cache."))
    assert texts.drafting(fault, None)[0][0].value == "off"
    assert "Look for the fault" in texts.drafting(fault, None)[1]


def test_that_a_warning_about_the_pair_stands_whatever_else_is_said():
    warning = precision.note(Path("Laguna-S-2.1-INT4"), Path("Laguna-S-2.1-DFlash"))
    assert warning
    now = DraftingNow(Settings(drafter=Path("/models/small")))
    told = now.after(Loaded("a", "d", 1, 1, 8192, note=warning))
    paused = DraftingState("paused", "slower", 36.2, 41.4, 128)
    for known, facts in ((told, None), (now, replace(FACTS, note=warning))):  # of another chat
        assert texts.drafting(known, facts)[1] == f"Guesses from small\n{warning}"
        first, second = texts.drafting(known.after(paused), facts)[1].splitlines()
        assert first.startswith("Paused: 36 tok/s drafted")
        assert second == warning
        assert texts.drafting(known.switched(False), facts)[1] == wording.DRAFT_OFF
    refused = texts.drafting(told, replace(FACTS, refused="Not for this model."))
    assert refused[1] == "Copies only: Not for this model."


def test_that_the_heading_names_this_machine(monkeypatch):
    monkeypatch.setattr(wording, "HERE", "this Mac")
    assert texts.title("exactness") == "Exactness on this Mac"
