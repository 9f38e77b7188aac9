"""The real window in a process of its own: how it starts, and what signals mean to it."""

import os
import signal
import subprocess
import sys

import pytest

from support.scripted import words
from support.window_process import SECONDS_TO_END, driven, end_of, started_again
from ui import wording


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_that_a_signal_means_what_closing_means(home, number):
    with driven(home, "writing", "stay", "1", "1", "10") as child:
        assert child.stdout.readline() == "ready\n"
        child.send_signal(number)
        code, said, seconds = end_of(child)
    problems, (_, answer) = started_again(home)
    assert (code, said, problems) == (0, [], ())
    assert seconds < SECONDS_TO_END
    assert answer.state == "cancelled"
    assert answer.text.startswith(words(0))


def test_that_the_window_opens_without_mlx_and_closes_without_a_word(home):
    with driven(home, "shown", "close", "0", "0", "0") as child:
        assert child.stdout.readline() == "ready\n"
        code, said, _ = end_of(child)
    assert (code, said) == (0, [])


def test_that_the_window_opens_where_nothing_can_be_written(home):
    home.mkdir()
    (home / "data").write_text("in the way")
    with driven(home, "shown", "close", "0", "0", "0") as child:
        assert child.stdout.readline() == "ready\n"
        code, said, _ = end_of(child)
    assert code == 0
    assert "could not be opened" in said[0]  # without a log file, stderr is the log


@pytest.mark.skipif(sys.platform != "linux", reason="other systems always have a display")
def test_that_without_a_display_it_says_what_works_instead(home):
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in {"DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"}
    }
    run = subprocess.run(
        [sys.executable, "-m", "ui"], capture_output=True, text=True, env=environment, timeout=60
    )
    assert (run.returncode, run.stdout) == (1, "")
    assert run.stderr == f"{wording.NO_DISPLAY}\n"
