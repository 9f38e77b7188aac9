"""Starting the driven window from a test, and what it leaves behind."""

import asyncio
import os
import subprocess
import sys
import time
from contextlib import contextmanager

from app.folders import Folders
from app.program import running
from support.scripted import SlowEngine

SECONDS_TO_END = 3.0


@contextmanager
def driven(home, *script):
    """The window, driven by `script` (see `driven.py`); killed when the test leaves it running."""
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
    _, said = child.communicate(timeout=60)
    return child.returncode, _without_qt_note(said), time.monotonic() - start


def started_again(home):
    """The problems and the messages that the next start finds."""

    async def look():
        async with running(Folders.below(home), engine=SlowEngine) as program:
            (conversation,) = await program.chat.conversations()
            return program.problems, await program.chat.messages(conversation.id)

    return asyncio.run(look())


def _without_qt_note(said):
    note = "This plugin does not support propagateSizeHints()"  # of the offscreen platform
    return [line for line in said.splitlines() if line and line != note]
