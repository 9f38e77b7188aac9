"""O-23: one damaged conversation, and a store that is empty.

janhq/jan #3693, #8019; andrewyng/openworker #56; nomic-ai/gpt4all #2810. The kills of part (ii) are
in tests/process/test_kill.py.
"""

import asyncio
import sqlite3
from contextlib import closing

import pytest

from app.folders import Folders
from app.opening import NAME
from app.program import running
from support.scripted import SlowEngine

ANSWER = "".join(f"word{n} " for n in range(20))


def visit(folders, scene):
    async def main():
        async with running(folders, engine=lambda: SlowEngine(tokens=20)) as program:
            return program.problems, await scene(program.chat)

    return asyncio.run(main())


@pytest.fixture
def folders(tmp_path):
    """Three conversations of two questions and two answers each."""
    folders = Folders.below(tmp_path / "home")

    async def talk(chat):
        for number in range(3):
            conversation = (await chat.new()).id
            for turn in range(2):
                await (await chat.send(conversation, f"Question {number}.{turn}")).run(None)

    visit(folders, talk)
    return folders


async def read_all(chat):
    listed = {c.title: c for c in await chat.conversations()}
    return {title: (c.damaged, await chat.messages(c.id)) for title, c in listed.items()}


SPOILINGS = {
    "text cut by 20 bytes": "text = substr(text, 1, length(text) - 20)",
    "text of invalid bytes": "text = cast(x'fffec0c1' AS TEXT)",
    "invalid bytes in the text": "text = cast(cast(substr(text, 1, 9) AS BLOB) || x'ff' AS TEXT)",
}


@pytest.mark.parametrize("spoiling", SPOILINGS.values(), ids=SPOILINGS.keys())
def test_that_a_damaged_record_costs_neither_the_other_conversations_nor_the_other_messages(
    folders, spoiling
):
    with closing(sqlite3.connect(folders.data / NAME)) as db, db:
        (id_,) = db.execute("SELECT min(id) + 1 FROM message WHERE conversation = 2").fetchone()
        db.execute(f"UPDATE message SET {spoiling} WHERE id = ?", (id_,))
        (bytes_,) = db.execute(
            "SELECT cast(text AS BLOB) FROM message WHERE id = ?", (id_,)
        ).fetchone()

    visit(folders, read_all)
    problems, found = visit(folders, read_all)
    assert problems == ()
    for title in ("Question 0.0", "Question 2.0"):
        is_damaged, messages = found[title]
        assert not is_damaged
        assert [m.state for m in messages] == ["stop"] * 4
        assert [m.text for m in messages[1::2]] == [ANSWER, ANSWER]
    is_damaged, messages = found["Question 1.0"]
    assert is_damaged
    assert [m.state for m in messages] == ["stop", "damaged", "stop", "stop"]
    assert [messages[at].text for at in (0, 2, 3)] == ["Question 1.0", "Question 1.1", ANSWER]

    with closing(sqlite3.connect(folders.data / NAME)) as db:
        assert db.execute("SELECT message, body FROM recovered").fetchall() == [(id_, bytes_)]
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_that_one_can_go_on_in_a_damaged_conversation(folders):
    with closing(sqlite3.connect(folders.data / NAME)) as db, db:
        db.execute("UPDATE message SET text = x'ff' WHERE conversation = 2 AND role = 'assistant'")

    async def go_on(chat):
        reply = await chat.send(2, "Are you still there?")
        await reply.run(None)
        return reply.result

    _, result = visit(folders, go_on)
    assert (result.text, result.state) == (ANSWER, "stop")


def test_that_an_empty_store_file_is_kept_under_another_name_and_told(folders):
    (folders.data / NAME).write_bytes(b"")
    for journal in folders.data.glob(f"{NAME}-*"):
        journal.unlink()

    async def talk(chat):
        assert await chat.conversations() == []
        await (await chat.send((await chat.new()).id, "Hello")).run(None)

    (problem,), _ = visit(folders, talk)
    (kept,) = folders.data.glob(f"{NAME}.damaged-*")
    assert kept.name in problem.safe
    assert kept.stat().st_size == 0
    problems, found = visit(folders, read_all)
    assert problems == ()
    assert list(found) == ["Hello"]
