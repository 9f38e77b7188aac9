from dataclasses import replace

from app.conversation import DraftMark, Failure, Message
from app.growing import Growing
from engine.events import (
    DraftingState,
    Failed,
    Finished,
    Loaded,
    LoadProgress,
    PromptProgress,
    Round,
    TextDelta,
)

FINISHED = Finished("stop", (1,), (5, 6, 7), "", 3, 0, 0, None, "on")
EMPTY = Message(2, 1, 1, "assistant", "", "streaming", 0.0)


def round_(index, *committed):
    return Round(index, "plain", (), 0, committed, None, None, None, 0.0, 1.0, 1)


def fold(message, *events):
    growing = Growing(message)
    for now, event in enumerate(events):
        growing.take(growing.placed(event), float(now))
    return growing


def test_that_a_span_names_the_piece_of_the_answer_that_a_token_completed():
    message = fold(
        EMPTY,
        round_(0, 5, 6, 7),
        TextDelta("thinking", "hm", 0, 0),
        TextDelta("answer", "Be", 1, 1),
        TextDelta("answer", "cause", 2, 2),
    ).message()
    assert (message.text, message.thinking) == ("Because", "hm")
    assert message.spans == ((0, 2, 1), (2, 7, 2))
    assert [message.text[a:b] for a, b, _ in message.spans] == ["Be", "cause"]


def test_that_thinking_lasts_from_its_first_to_its_last_text():
    events = [TextDelta("thinking", "a", 0, 0), round_(0, 1), TextDelta("thinking", "b", 1, 1)]
    assert fold(EMPTY, round_(0, 1), *events).message().thinking_s == 2.0
    assert fold(EMPTY, TextDelta("answer", "a", 0, 0)).message().thinking_s is None


def test_that_a_mark_counts_the_rounds_before_it():
    states = [
        DraftingState("paused", "slower"),
        round_(0, 1),
        round_(1, 2),
        DraftingState("on", "faster"),
    ]
    assert fold(EMPTY, *states).message().marks == (
        DraftMark(0, "paused", "slower"),
        DraftMark(2, "on", "faster"),
    )


def test_that_the_end_gives_the_state_and_the_summary():
    finished = Finished("length", (1,), (2,), "a", 1, 0, 0, None, "off")
    message = fold(EMPTY, TextDelta("answer", "a", 0, 0), finished).message()
    assert (message.state, message.finished) == ("length", finished)


def test_that_a_failure_keeps_what_was_written():
    message = fold(EMPTY, TextDelta("answer", "half", 0, 0), Failed("c", "m", "s", "a")).message()
    assert (message.text, message.state, message.failure) == (
        "half",
        "failed",
        Failure("c", "m", "s", "a"),
    )


def test_that_loading_and_reading_write_nothing():
    growing = fold(
        EMPTY, LoadProgress("target", 1, 2), Loaded("m", None, 1, 0, 8), PromptProgress(1, 2, 0)
    )
    assert not growing.has_words
    assert not growing.is_unsaved
    assert growing.message() == EMPTY


def test_that_a_reply_that_goes_on_numbers_after_what_it_had():
    before = replace(EMPTY, text="one ", rounds=(round_(0, 5), round_(1, 6, 7)), spans=((0, 4, 2),))
    growing = fold(
        before, round_(0, 8), TextDelta("answer", "two", 0, 0), DraftingState("off", "switched")
    )
    message = growing.message()
    assert message.text == "one two"
    assert [r.index for r in message.rounds] == [0, 1, 2]
    assert message.spans == ((0, 4, 2), (4, 7, 3))
    assert message.marks == (DraftMark(3, "off", "switched"),)
    assert growing.unsaved().written.records == (
        message.rounds[2],
        message.spans[1],
        message.marks[0],
    )


def test_that_records_are_saved_once_and_again_only_when_a_save_failed():
    growing = fold(EMPTY, round_(0, 5), TextDelta("answer", "a", 0, 0))
    assert growing.is_unsaved
    first = growing.unsaved()
    assert not growing.is_unsaved
    assert growing.unsaved() == first
    growing.take(round_(1, 6), 9.0)
    growing.saved(first)
    assert growing.unsaved().written.records == (round_(1, 6),)


def test_that_thinking_that_was_never_closed_is_kept_once_as_the_answer():
    # As the engine reports it: the text again as the answer, and a summary without thinking.
    end = replace(FINISHED, text="Only this.", thinking="")
    events = [
        TextDelta("thinking", "Only this.", 0, 2),
        TextDelta("answer", "Only this.", 0, 2),
        end,
    ]
    message = fold(EMPTY, *events).message()
    assert (message.text, message.thinking, message.thinking_s) == ("Only this.", "", None)


def test_that_going_on_without_thinking_keeps_what_was_thought_before():
    before = replace(EMPTY, text="So", thinking="hm", thinking_s=1.5)
    growing = fold(before, TextDelta("answer", " far", 0, 0), replace(FINISHED, thinking=""))
    assert growing.unsaved().written.thinking == "hm"
    assert (growing.message().thinking, growing.message().thinking_s) == ("hm", 1.5)
