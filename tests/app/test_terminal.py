"""Streams that are missing, closed or poor, and the JSON of events."""

import io
import json
import os
from pathlib import Path

from app.terminal import Terminal, as_json
from app.terminal_strip import Strip, sign, summary
from engine.events import DraftingState, Finished, LoadProgress, Round, TextDelta


class Screen(io.StringIO):
    def isatty(self):
        return True


def round_(proposed=(), accepted=0):
    committed = tuple(range(accepted + 1))
    return Round(
        0,
        "copy" if proposed else "plain",
        proposed,
        accepted,
        committed,
        None,
        None,
        None,
        0.0,
        1.0,
        1,
    )


def finished(**changes):
    values = {
        "reason": "stop", "prompt_ids": (1, 2), "token_ids": (3, 4, 5), "text": "Hi", "rounds": 2,
        "proposed": 4, "accepted": 1, "tokens_per_s": 9.99, "drafting": "on",
    }  # fmt: skip
    return Finished(**(values | changes))


def test_that_an_event_is_named_in_snake_case_and_keeps_every_field():
    event = LoadProgress("target", 5, 10)
    assert as_json(event) == {"event": "load_progress", "part": "target", "done": 5, "total": 10}
    assert as_json(DraftingState("off", "You."))["event"] == "drafting_state"
    assert as_json(TextDelta("answer", "a", 0, 0))["event"] == "text_delta"


def test_that_json_is_one_ascii_line_with_lists_and_paths_as_text():
    out = io.StringIO()
    Terminal(out, None).json({"ids": (1, 2), "text": "é\n\ud800", "folder": Path("a")})
    assert out.getvalue().isascii()
    assert out.getvalue().count("\n") == 1
    assert json.loads(out.getvalue()) == {"ids": [1, 2], "text": "é\n\ud800", "folder": "a"}


def test_that_missing_streams_are_written_to_without_harm():
    terminal = Terminal(None, None)
    terminal.line("text")
    terminal.note("text")
    terminal.status("text")
    assert not terminal.closed


def test_that_a_reader_who_leaves_is_noticed_and_later_text_dropped():
    read, write = os.pipe()
    with os.fdopen(write, "w") as out:
        terminal = Terminal(out, None)
        terminal.line("seen")
        assert not terminal.closed
        os.close(read)
        terminal.line("unseen")
        assert terminal.closed
        terminal.line("more")


def test_that_a_closed_stream_is_a_reader_who_left():
    out, err = io.StringIO(), io.StringIO()
    out.close()
    err.close()
    terminal = Terminal(out, err)
    terminal.line("text")
    terminal.note("text")
    assert terminal.closed


def test_that_a_character_the_encoding_lacks_is_escaped():
    bytes_ = io.BytesIO()
    out = io.TextIOWrapper(bytes_, encoding="ascii")
    Terminal(out, None).line("naïve")
    assert bytes_.getvalue() == b"na\\xefve\n"


def test_that_a_status_is_shown_on_a_screen_only_and_taken_away_before_a_note():
    err = io.StringIO()
    Terminal(None, err).status("40 %")
    assert err.getvalue() == ""
    screen = Screen()
    terminal = Terminal(None, screen)
    terminal.status("40 %")
    terminal.status("40 %")
    assert screen.getvalue().count("40 %") == 1
    terminal.note("Done.")
    assert screen.getvalue().endswith("\r\x1b[KDone.\n")


def test_that_the_strip_tells_plain_missed_and_right_guesses_apart():
    assert sign(round_()) == "·"
    assert sign(round_((1, 2), 0)) == "○"
    assert sign(round_((1, 2), 2)) == "▂"
    assert sign(round_(tuple(range(31)), 31)) == "█"


def test_that_the_strip_keeps_the_newest_rounds_within_the_width():
    strip = Strip()
    for _ in range(50):
        strip.add(round_())
    strip.add(round_((1,), 1))
    line = strip.line(20)
    assert line == "·" * 8 + "▁ 52 tokens"
    assert len(line) < 20


def test_that_the_summary_never_rounds_up():
    line = summary(finished(speedup=1.99, saved_s=(4.29, 4.29)))
    assert line == (
        "Draft on · 1.5 tokens per round · 1 of 4 guesses right · 9.9 tok/s · saved 4.2 s (1.9×)"
    )
    assert "saved 1.0 to 4.2 s" in summary(finished(saved_s=(1.0, 4.29)))
    # Time lost is not rounded towards nothing either.
    assert "saved -0.2 s" in summary(finished(saved_s=(-0.11, -0.11)))
    assert summary(finished(rounds=0, proposed=0, tokens_per_s=None, drafting="off")) == "Draft off"
