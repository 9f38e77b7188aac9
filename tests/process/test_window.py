"""The real window in a process of its own: how it starts and how it ends."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest

from app.folders import Folders
from app.program import running
from tests.support.scripted import SlowEngine, words

SECONDS_TO_END = 3.0


@contextmanager
def driven(home, *script):
    """The window, driven by `script`; killed when the test leaves it running."""
    environment = {**os.environ, "SLIPSTREAM_HOME": str(home), "QT_QPA_PLATFORM": "offscreen"}
    child = subprocess.Popen(
        [sys.executable, "-X", "dev", "-W", "error", "-m", "tests.support.driven", *script],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
    )  # fmt: skip
    try:
        yield child
    finally:
        child.kill()
        child.communicate()


def end_of(child):
    """Its exit code, what it said on stderr, and the seconds until it ended."""
    start = time.monotonic()
    _, said = child.communicate(timeout=20)
    return child.returncode, _without_qt_note(said), time.monotonic() - start


def _without_qt_note(said):
    note = "This plugin does not support propagateSizeHints()"  # of the offscreen platform
    return [line for line in said.splitlines() if line and line != note]


def started_again(home):
    """The problems and the messages that the next start finds."""

    async def look():
        async with running(Folders.below(home), engine=SlowEngine) as program:
            (conversation,) = await program.chat.conversations()
            return program.problems, await program.chat.messages(conversation.id)

    return asyncio.run(look())


@pytest.mark.parametrize(
    ("moment", "pace", "least"),
    [
        ("loading", ("8000", "1", "20"), 0),
        ("reading", ("1", "400", "20"), 0),
        ("writing", ("1", "1", "20"), 10),
    ],
)
def test_that_closing_at_any_moment_ends_soon_and_saves(home, moment, pace, least):
    with driven(home, moment, "close", *pace) as child:
        assert child.stdout.readline() == "ready\n"
        code, said, seconds = end_of(child)
    problems, (question, answer) = started_again(home)
    assert (code, said, problems) == (0, [], ())
    assert seconds < SECONDS_TO_END
    assert (question.text, answer.state) == ("Why?", "cancelled")
    assert answer.text.startswith("".join(words(n) for n in range(least)))


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
