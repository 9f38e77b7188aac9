from dataclasses import replace

import pytest

from app.conversation import DraftMark
from engine.events import Finished
from ui.chat import strip_text
from ui.chat.strip_text import (
    Tally,
    accepted,
    collapsed,
    down,
    of_round,
    opened,
    saved,
    summary,
    up,
)


@pytest.fixture
def finished():
    return Finished(
        reason="stop", prompt_ids=(1,), token_ids=tuple(range(100)), text="", rounds=30,
        proposed=100, accepted=71, tokens_per_s=42.19, drafting="on", saved_s=(4.29, 4.29),
        speedup=1.69, plain_steps=8, first_token_s=0.71,
    )  # fmt: skip


@pytest.fixture
def tally(round_):
    made = Tally()
    made.add(round_(n, 4, 2 + n % 2) for n in range(10))
    return made


@pytest.mark.parametrize(
    ("value", "cut", "raised"),
    [
        (1.69, "1.6", "1.7"),
        (2.0, "2.0", "2.0"),
        (0.3, "0.3", "0.3"),
        (1999.99, "1,999.9", "2,000.0"),
    ],
)
def test_that_gains_are_cut_and_costs_are_raised(value, cut, raised):
    assert (down(value), up(value)) == (cut, raised)


def test_that_the_time_saved_is_told_with_the_speed_up(finished):
    assert saved(finished) == "Saved 4.2 s (1.6×)"


def test_that_no_speed_up_is_told_below_eight_plain_steps(finished):
    assert saved(replace(finished, plain_steps=7)) == "Saved 4.2 s"


def test_that_a_range_is_told_as_a_range(finished):
    few = replace(finished, plain_steps=3, speedup=None)
    assert saved(replace(few, saved_s=(1.19, 3.78))) == "Saved 1.1 to 3.7 s"
    assert saved(replace(few, saved_s=(-0.41, 1.29))) == "Between 0.5 s longer and 1.2 s saved"
    assert saved(replace(few, saved_s=(-2.01, -0.41))) == "Took 0.5 to 2.1 s longer"


def test_that_a_loss_is_called_a_loss(finished):
    slow = replace(finished, saved_s=(-1.21, -1.21), speedup=0.89)
    assert saved(slow) == "Took 1.3 s longer (0.8×)"


def test_that_nothing_is_told_that_was_not_measured(finished):
    assert saved(replace(finished, saved_s=None)) == ""
    assert saved(replace(finished, proposed=0)) == ""
    assert strip_text.rate(replace(finished, tokens_per_s=None)) == ""


def test_that_rates_carry_their_number(tally, round_):
    assert accepted(tally) == "accepted 62 % (25 of 40)"
    few = Tally()
    few.add([round_(0, 4, 3)])
    assert accepted(few) == "accepted 3 of 4"


def test_that_the_folded_strip_is_one_line(finished, tally):
    assert collapsed(finished, tally, ()) == (
        "Draft on · 3.5 tokens per round · saved 4.2 s (1.6×)"
    )
    assert opened(finished, tally, ())[0] == "Saved 4.2 s (1.6×)"


def test_that_plain_answers_tell_no_numbers_of_drafting(finished, round_):
    plain = Tally()
    plain.add(round_(n, 0, 0) for n in range(5))
    off = replace(finished, drafting="off", proposed=0, accepted=0)
    assert collapsed(off, plain, ()) == "Draft off"


@pytest.mark.parametrize(
    ("proposed", "hit", "more", "told"),
    [
        (4, 3, {}, "Round 41 · proposed 4 · accepted 3 · wrote 4 · 52 ms"),
        (0, 0, {}, "Round 41 · plain step · wrote 1 · 52 ms"),
        (6, 6, {"mode": "copy"}, "Round 41 · proposed 6 · accepted 6 · wrote 7 · 52 ms · copied from the chat"),
        (1, 0, {"recheck": True, "draft_ms": 0.1, "verify_ms": 0.2},
         "Round 41 · proposed 1 · accepted 0 · wrote 1 · under 1 ms · near-tie, checked again"),
    ],
)  # fmt: skip
def test_that_a_round_is_told_in_full(round_, proposed, hit, more, told):
    assert of_round(round_(40, proposed, hit, **more)) == told


def test_that_the_summary_says_what_the_strip_shows(finished, tally):
    marks = (DraftMark(3, "paused", "Slower than plain on this text."), DraftMark(6, "on", ""))
    told = summary(finished, tally, marks)
    assert told == (
        "Drafting, 10 rounds: 10 with the drafter. Saved 4.2 s (1.6×). "
        "3.5 tokens per round · accepted 62 % (25 of 40). "
        "Drafting was paused. Slower than plain on this text. Drafting went on."
    )
