"""A process that is killed in the middle of a reply loses at most the last second of it."""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import dataclass

import pytest

from app.folders import Folders
from app.opening import NAME, open_store
from support.scripted import words

MS = 5
LOST_SECONDS = 1.0
SLACK = 0.25  # between a token leaving the engine and its number reaching us

CHILD = """
import asyncio, sys, time
from pathlib import Path
from app.folders import Folders
from app.program import running
from engine.events import TextDelta
from tests.support.scripted import SlowEngine

async def main():
    async with running(Folders.below(Path(sys.argv[1])), engine=lambda: SlowEngine(float(sys.argv[3]), 100_000)) as program:
        reply = await program.chat.send((await program.chat.new()).id, "Question " + sys.argv[2])
        print("asked", flush=True)
        async def show(batch):
            tokens = [e.last_token for e in batch if isinstance(e, TextDelta)]
            if tokens:
                print(f"{time.monotonic()} {tokens[-1]}", flush=True)
        await reply.run(show)

asyncio.run(main())
"""


@dataclass
class Killed:
    asked: bool
    seen: list  # (time, token), of the child's clock, which is ours
    at: float


def run_and_kill(folders, number, seconds):
    """Start a program that is asked something, kill it `seconds` after it has begun."""
    arguments = [folders.data.parent, str(number), str(MS)]
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, *arguments], stdout=subprocess.PIPE, text=True
    )
    first = child.stdout.readline()
    time.sleep(seconds)  # the kill comes at a random time: that is the experiment
    at = time.monotonic()
    os.kill(child.pid, signal.SIGKILL)
    rest, _ = child.communicate(timeout=60)
    lines = [line.split() for line in rest.splitlines()]
    return Killed(first == "asked\n", [(float(t), int(n)) for t, n in lines if n], at)


def check(folders, killed, number):
    with closing(sqlite3.connect(folders.data / NAME)) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert db.execute("PRAGMA foreign_key_check").fetchall() == []
    opened = open_store(folders.data)
    try:
        assert opened.problems == ()
        (conversation,) = opened.store.conversations(f"Question {number}")
        question, answer = opened.store.messages(conversation.id)
        assert len(opened.store.conversations()) == number + 1
    finally:
        opened.store.close()
    assert question.text == f"Question {number}"
    assert answer.state == "interrupted"
    written = answer.text.count(" ")
    assert answer.text == "".join(words(n) for n in range(written))
    assert sum(len(r.committed_ids) for r in answer.rounds) >= written
    assert [answer.text[a:b] for a, b, _ in answer.spans] == [words(n) for n in range(written)]
    old = [token for when, token in killed.seen if when < killed.at - LOST_SECONDS - SLACK]
    assert written >= (old[-1] + 1 if old else 0)
    return written


def kill_again_and_again(tmp_path, times, seed):
    chance = random.Random(seed)
    folders = Folders.below(tmp_path / "home")
    written = []
    for number in range(times):
        killed = run_and_kill(folders, number, chance.uniform(0.0, 2.5))
        assert killed.asked, seed
        written.append(check(folders, killed, number))
    return written


def test_that_a_kill_loses_no_question_and_at_most_a_second_of_the_answer(tmp_path):
    written = kill_again_and_again(tmp_path, 5, seed=20)
    assert max(written) > 0


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("seed", [random.SystemRandom().randrange(10**6)])
def test_that_twenty_kills_at_random_lose_no_question_and_at_most_a_second(tmp_path, seed):
    written = kill_again_and_again(tmp_path, 20, seed)
    assert sum(count > 0 for count in written) > 5
