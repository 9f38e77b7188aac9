import time
from dataclasses import replace
from pathlib import Path

import pytest

from app.conversation import Message, Pair
from app.receipts import Receipt
from engine.events import Finished
from engine.origin import Origin
from engine.request import Sampling
from support.checked import MACHINE
from ui import wording
from ui.chat.verdict_text import duration, scope, told, visible, when

NOW = time.mktime((2026, 11, 29, 18, 30, 0, 0, 0, -1))
AT_TWO = time.mktime((2026, 11, 29, 14, 2, 0, 0, 0, -1))
DONE = Finished("stop", (1,) * 40, (7,) * 912, "", 300, 900, 600, 42.0, "on", plain_ms=43.0)
ANSWER = Message(2, 1, 1, "assistant", "Because.", "stop", 0.0, finished=DONE)


def receipt(verdict, tokens=912, **more):
    found = Receipt(verdict, tokens, 912, None, "", "", None, "", AT_TWO)
    return replace(ANSWER, receipt=replace(found, **more))


def origin(mode):
    return Origin("/a", "id", None, "", MACHINE, mode, Sampling())


def test_that_an_answer_that_was_not_checked_offers_it_and_says_how_long_it_takes():
    about = told(ANSWER, None, NOW)
    # 912 tokens of 43 ms are 39.2 s; never rounded down
    assert (about.kind, about.text, about.action) == ("unchecked", "Not checked.", "check")
    assert about.label == "Check this answer (about 40 s)"


@pytest.mark.parametrize(
    ("tokens", "passes", "expected"),
    [
        (10, (), "1 s"),
        (100, (), "5 s"),
        (912, (), "40 s"),
        (912, ((500, 500), (912, 1)), "80 s"),  # the reply before it is read row by row
        (4000, (), "3 min"),
    ],
)
def test_that_the_time_counts_every_row_that_is_read_alone(tokens, passes, expected):
    assert duration(replace(DONE, token_ids=(7,) * tokens, passes=passes)) == expected


def test_that_no_time_is_invented_where_none_was_measured():
    about = told(replace(ANSWER, finished=replace(DONE, plain_ms=None)), None, NOW)
    assert about.label == "Check this answer"


def test_that_a_running_check_says_how_far_it_is_and_can_be_stopped():
    about = told(ANSWER, (312, 912), NOW)
    assert about.text == ("Writing it again without drafting… 312 of 912 tokens match so far.")
    assert (about.kind, about.action, about.label) == ("running", "stop", "Stop")


def test_that_the_same_says_of_how_many_tokens_where_and_when():
    about = told(receipt("same"), None, NOW)
    assert about.text == (
        f"Same as without drafting: 912 of 912 tokens. Checked on {wording.HERE}, today 14:02."
    )
    assert about.kind == "same"


def test_that_a_difference_names_the_place_both_tokens_and_the_gap():
    about = told(
        receipt("differs", 387, at=387, drafted="however", plain="but", gap=0.031), None, NOW
    )
    assert about.text == (
        "Differs at token 388. With drafting “however” · without “but”. Score gap 0.03."
    )
    assert (about.action, about.label) == ("save", "Save report…")


def test_that_a_difference_of_the_end_alone_says_so():
    about = told(receipt("differs", 912, at=912, drafted="", plain=" So"), None, NOW)
    assert about.text == (
        "Differs at its end, after 912 tokens. With drafting “(nothing)” · without “␣So”."
    )


def test_that_a_check_that_cannot_be_made_says_why():
    about = told(receipt("cannot", 0, reason="The model file changed since."), None, NOW)
    assert about.text == "Can't be checked: the model file changed since."


def test_that_what_was_written_before_a_continuation_is_not_claimed():
    about = told(receipt("same", before=500), None, NOW)
    assert "The 500 before it was continued are not part of it." in about.text


def test_that_a_check_that_gave_way_says_so_and_what_comes_next():
    waiting, over = told(ANSWER, "waiting", NOW), told(ANSWER, "gave way", NOW)
    assert waiting.text == (
        "The check gave way to other work. It starts again by itself when the engine rests."
    )
    assert (waiting.kind, waiting.action, waiting.label) == ("waiting", "stop", "Stop")
    assert over.text == "Not checked: the check gave way to other work."
    assert (over.kind, over.action) == ("unchecked", "check")
    assert told(receipt("same"), "gave way", NOW).kind == "same"  # what was found before holds


@pytest.mark.parametrize(
    ("drafter", "label", "off"),
    [
        ("/d", "Turn drafting off for this pair", "Drafting is off for this pair"),
        (None, "Turn drafting off for this model", "Drafting is off for this model"),
    ],
)
def test_that_a_difference_offers_to_turn_its_pair_off_and_then_on_again(drafter, label, off):
    done = replace(DONE, origin=replace(origin("guarded"), drafter=drafter))
    found = replace(receipt("differs", tokens=3, at=3, drafted="a", plain="b"), finished=done)
    pair = Pair(Path("/a"), drafter and Path(drafter))
    about = told(found, None, NOW, ())
    assert (about.action, about.also, about.also_label) == ("save", "pair off", label)
    after = told(found, None, NOW, [pair])
    assert (after.also, after.also_label) == ("pair on", "Turn drafting on again")
    assert after.text == f"{about.text} {off}: its new chats begin without."
    assert told(found, None, NOW, [Pair(Path("/b"), None)]).also == "pair off"
    assert told(found, None, NOW).also == ""
    assert told(replace(found, receipt=receipt("same").receipt), None, NOW, [pair]).also == ""
    assert told(replace(found, finished=DONE), None, NOW, ()).also == ""


def test_that_fast_mode_promises_nothing_and_never_says_exact():
    fast = replace(ANSWER, finished=replace(DONE, origin=origin("fast")))
    about = told(fast, None, NOW)
    assert about.text == (
        "Fast mode: it does not promise the words of plain decoding. Not checked."
    )
    assert (about.action, about.label) == ("check", "Check this answer (about 40 s)")
    assert "exact" not in about.text.lower()
    assert told(replace(fast, receipt=receipt("same").receipt), None, NOW).kind == "same"
    guarded = replace(ANSWER, finished=replace(DONE, origin=origin("guarded")))
    assert told(guarded, None, NOW).kind == "unchecked"


@pytest.mark.parametrize(
    "message",
    [
        Message(1, 1, None, "user", "Why?", "stop", 0.0),
        replace(ANSWER, finished=None, state="interrupted"),
        replace(ANSWER, finished=replace(DONE, proposed=0, accepted=0)),
        replace(ANSWER, state="streaming"),
    ],
    ids=["question", "broken off", "plain", "being written"],
)
def test_that_nothing_is_told_where_nothing_was_drafted(message):
    assert told(message, None, NOW) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("but", "but"),
        (" but", "␣but"),
        ("a\n\tb", "a⏎⇥b"),
        ("\x00\x1b", "␀␛"),
        ("\u202eabc", "⟨202E⟩abc"),  # would turn the sentence around
        ("\u200b", "⟨200B⟩"),
        ("\ue000", "⟨E000⟩"),
        ("\u0301", "◌\u0301"),
        ("", "(nothing)"),
        ("<b>x</b>", "<b>x</b>"),
        ("x" * 25, "x" * 24 + "…"),
        ("日本", "日本"),
    ],
)
def test_that_a_token_is_seen_as_it_is(text, expected):
    assert visible(text) == expected


def test_that_another_day_is_named():
    assert when(AT_TWO, NOW) == "today 14:02"
    assert when(AT_TWO - 86_400, NOW) == "28 Nov, 14:02"
    assert when(AT_TWO - 400 * 86_400, NOW).startswith("25 Oct 2025, 1")


def test_that_the_scope_is_this_machine(monkeypatch):
    monkeypatch.setattr(wording, "HERE", "this Mac")
    assert scope() == "Same model, weights, settings and app version, on this Mac."
