import asyncio
import subprocess
import sys
import threading

import pytest

from app.folders import Folders
from app.opening import NAME
from app.program import running
from support.scripted import SlowEngine


def visit(folders, scene=None):
    """Run the program once; give its problems and what `scene` gives."""

    async def main():
        async with running(folders, engine=SlowEngine) as program:
            result = await scene(program) if scene else None
            return [p.title for p in program.problems], program.crashed, result

    return asyncio.run(main())


async def list_conversations(program):
    return await program.chat.conversations()


async def make_one(program):
    return await program.chat.new()


def test_that_the_first_run_and_the_next_have_no_problems(folders):
    assert visit(folders) == ([], False, None)
    titles, crashed, made = visit(folders, make_one)
    assert (titles, crashed) == ([], False)
    assert visit(folders, list_conversations) == ([], False, [made])


def test_that_nothing_is_left_but_what_the_program_keeps(folders):
    visit(folders, make_one)
    assert {p.name for p in folders.data.iterdir()} == {NAME}


def test_that_everything_wrong_on_disk_is_told_and_the_program_opens(folders):
    folders.make()
    (folders.config / "settings.json").write_text("{")
    (folders.data / NAME).write_bytes(b"not a store" * 1_000)
    titles, crashed, conversations = visit(folders, list_conversations)
    assert titles == [
        "Some settings could not be read",
        "The file of your conversations was damaged",
    ]
    assert (crashed, conversations) == (False, [])
    assert visit(folders) == ([], False, None)


def test_that_it_opens_where_nothing_can_be_written(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("a file where the folders should be")
    titles, _, made = visit(Folders.below(blocked), make_one)
    assert made.id == 1
    assert len(titles) == 3  # the folders, the settings, the store


CRASHING = """
import asyncio, os, sys
from pathlib import Path
from app.folders import Folders
from app.program import running
from tests.support.scripted import SlowEngine

async def main():
    async with running(Folders.below(Path(sys.argv[1])), engine=lambda: SlowEngine(1, 10_000)) as program:
        if sys.argv[2] == "idle":
            os._exit(1)
        reply = await program.chat.send((await program.chat.new()).id, "Why?")
        async def show(batch):
            os._exit(1)
        await reply.run(show)

asyncio.run(main())
"""


@pytest.mark.parametrize(
    ("what", "word"), [("idle", "unexpectedly."), ("answering", "while answering")]
)
def test_that_a_crash_is_told_by_the_next_run_once(folders, what, word):
    ended = subprocess.run(
        [sys.executable, "-c", CRASHING, folders.data.parent, what], timeout=60, check=False
    )
    assert ended.returncode == 1

    async def main():
        async with running(folders, engine=SlowEngine) as program:
            return program.problems, program.crashed, await program.chat.conversations()

    (problem,), crashed, conversations = asyncio.run(main())
    assert crashed
    assert word in problem.sentence
    assert "not reloaded" in problem.safe
    assert len(conversations) == (what == "answering")
    assert visit(folders)[:2] == ([], False)


def test_that_a_second_window_beside_the_first_opens_and_disturbs_nothing(folders):
    async def main():
        gate = threading.Event()
        async with running(folders, engine=lambda: SlowEngine(gate=gate)) as first:
            reply = await first.chat.send((await first.chat.new()).id, "Why?")
            task = asyncio.get_running_loop().create_task(reply.run(None))
            async with running(folders, engine=SlowEngine) as second:
                assert (second.problems, second.crashed) == ((), False)
                messages = await second.chat.messages(reply.conversation)
                assert messages[-1].state == "streaming"
            gate.set()
            await task
            return reply.result.state

    assert asyncio.run(main()) == "stop"
    assert visit(folders)[:2] == ([], False)


def test_that_leaving_in_the_middle_of_an_answer_saves_it_as_stopped(folders):
    async def main():
        async with running(folders, engine=lambda: SlowEngine(1, 100_000)) as program:
            reply = await program.chat.send((await program.chat.new()).id, "Why?")
            begun = asyncio.Event()

            async def show(batch):
                if reply.events_so_far[-1] and len(reply.events_so_far) > 30:
                    begun.set()

            task = asyncio.get_running_loop().create_task(reply.run(show))
            await begun.wait()
        await task
        return reply

    reply = asyncio.run(main())
    _, crashed, message = visit(folders, lambda program: program.chat.message(reply.message))
    assert not crashed
    assert message == reply.result
    assert message.state == "cancelled"
    assert message.text.startswith("word0 word1 ")


def test_that_a_failure_inside_still_closes_everything(folders):
    async def main():
        async with running(folders, engine=SlowEngine) as program:
            await program.chat.new()
            raise KeyError("in the window")

    with pytest.raises(KeyError, match="in the window"):
        asyncio.run(main())
    assert visit(folders)[:2] == ([], False)
