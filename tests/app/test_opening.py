import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from app.conversation import Settings
from app.opening import NAME, open_store
from app.store import ConversationStore, Written
from engine.events import Round

ROUND = Round(0, "plain", (), 0, (5,), None, None, None, 0.0, 12.5, 1)
TALKS = 20


def fill(path):
    with closing(ConversationStore(path)) as store:
        for number in range(TALKS):
            conversation, parent = store.add_conversation(Settings()).id, None
            for turn in range(3):
                name = f"{number}.{turn}"
                _, reply = store.add_turn(
                    conversation, parent, f"Question {name}", f"Talk {number}"
                )
                store.finish(reply.id, Written(f"{name} word " * 200, records=[ROUND] * 20), "stop")
                parent = reply.id


def aside(folder):
    return [p for p in folder.glob(f"{NAME}.damaged-*") if p.suffix[-4:] not in ("-wal", "-shm")]


def everything(store):
    return {c.id: [m.text for m in store.messages(c.id)] for c in store.conversations()}


def test_that_a_missing_file_is_a_new_store_without_a_problem(tmp_path):
    opened = open_store(tmp_path)
    assert opened.problems == ()
    assert opened.store.conversations() == []
    opened.store.close()
    assert (tmp_path / NAME).exists()


def test_that_a_whole_file_opens_as_it_was_without_a_problem(tmp_path):
    fill(tmp_path / NAME)
    opened = open_store(tmp_path)
    assert opened.problems == ()
    assert len(everything(opened.store)) == TALKS
    opened.store.close()
    assert aside(tmp_path) == []


def test_that_an_empty_file_is_kept_and_named_and_chatting_goes_on(tmp_path):
    (tmp_path / NAME).touch()
    opened = open_store(tmp_path)
    (problem,) = opened.problems
    (kept,) = aside(tmp_path)
    assert kept.name in problem.safe
    assert kept.stat().st_size == 0
    opened.store.add_turn(opened.store.add_conversation(Settings()).id, None, "hi")
    opened.store.close()
    again = open_store(tmp_path)
    assert again.problems == ()
    assert len(again.store.conversations()) == 1
    again.store.close()


def test_that_a_file_that_is_no_store_is_kept_byte_for_byte(tmp_path):
    content = os.urandom(50_000)
    (tmp_path / NAME).write_bytes(content)
    opened = open_store(tmp_path)
    opened.store.close()
    (kept,) = aside(tmp_path)
    assert kept.read_bytes() == content
    assert "Nothing could be read" in opened.problems[0].sentence


@pytest.mark.parametrize("page", [2, 5, 9, 14, 20, 30])
def test_that_what_can_be_read_of_a_torn_file_is_taken_over(tmp_path, page):
    fill(tmp_path / NAME)
    with closing(ConversationStore(tmp_path / NAME)) as store:
        before = everything(store)
    content = bytearray((tmp_path / NAME).read_bytes())
    content[page * 4096 : page * 4096 + 4096] = b"\xa5" * 4096
    (tmp_path / NAME).write_bytes(content)
    opened = open_store(tmp_path)
    after = everything(opened.store)
    if opened.problems:
        (kept,) = aside(tmp_path)
        assert kept.read_bytes() == content
        assert kept.name in opened.problems[0].safe
    for id_, texts in after.items():
        whole = [text for text in texts if text]
        assert whole == [text for text in before[id_] if text in whole]
    found = sum(text != "" for texts in after.values() for text in texts)
    assert found >= TALKS * 6 - 30
    opened.store.add_turn(opened.store.add_conversation(Settings()).id, None, "hi")
    opened.store.close()
    with closing(sqlite3.connect(tmp_path / NAME)) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_that_the_beginning_of_a_cut_file_is_taken_over(tmp_path):
    fill(tmp_path / NAME)
    content = (tmp_path / NAME).read_bytes()
    (tmp_path / NAME).write_bytes(content[: len(content) * 2 // 3])
    opened = open_store(tmp_path)
    assert len(opened.problems) == 1
    assert len(opened.store.conversations()) > TALKS // 2
    opened.store.close()


def test_that_a_newer_file_is_left_alone_and_a_store_in_memory_is_used(tmp_path):
    fill(tmp_path / NAME)
    with closing(sqlite3.connect(tmp_path / NAME)) as db:
        db.execute("PRAGMA user_version = 99")
    before = (tmp_path / NAME).read_bytes()
    opened = open_store(tmp_path)
    (problem,) = opened.problems
    assert "99" in problem.sentence
    assert "not kept" in problem.safe
    opened.store.add_turn(opened.store.add_conversation(Settings()).id, None, "hi")
    opened.store.close()
    assert (tmp_path / NAME).read_bytes() == before
    assert aside(tmp_path) == []


def test_that_a_file_that_cannot_be_opened_is_left_alone(tmp_path):
    (tmp_path / NAME).mkdir()
    opened = open_store(tmp_path)
    (problem,) = opened.problems
    assert "not kept" in problem.safe
    assert opened.store.conversations() == []
    opened.store.close()
    assert (tmp_path / NAME).is_dir()


def test_that_the_unfinished_replies_of_another_running_program_are_left(tmp_path):
    with closing(ConversationStore(tmp_path / NAME)) as store:
        conversation = store.add_conversation(Settings()).id
        store.add_turn(conversation, None, "hi")
        second = open_store(tmp_path, is_alone=False)
        assert second.store.messages(conversation)[1].state == "streaming"
        second.store.close()
    alone = open_store(tmp_path)
    assert alone.unfinished == 1
    assert alone.store.messages(conversation)[1].state == "interrupted"
    alone.store.close()


FULL = """
import json, resource, signal, sys
from pathlib import Path
from app.opening import open_store
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))  # no file can grow: as on a full disk
opened = open_store(Path(sys.argv[1]))
titles = [c.title for c in opened.store.conversations()]
messages = [m.text for m in opened.store.messages(1)]
conversation = opened.store.conversations()[-1].id if titles else 0
if titles:
    opened.store.add_turn(conversation, None, "in memory")
print(json.dumps([titles, messages, [[p.title, p.safe] for p in opened.problems]]))
opened.store.close()
"""


def open_on_a_full_disk(folder):
    run = subprocess.run(
        [sys.executable, "-c", FULL, folder], stdout=subprocess.PIPE, timeout=60, check=True
    )
    return json.loads(run.stdout)


def test_that_conversations_can_be_read_on_a_full_disk(tmp_path):
    fill(tmp_path / NAME)
    before = (tmp_path / NAME).read_bytes()
    titles, messages, problems = open_on_a_full_disk(tmp_path)
    assert len(titles) == TALKS
    assert messages[0] == "Question 0.0"
    ((_, safe),) = problems
    assert safe == "Your conversations can be read. What you write now is not kept."
    assert (tmp_path / NAME).read_bytes() == before


@pytest.mark.parametrize("content", [b"", b"not a store" * 1_000])
def test_that_a_damaged_file_stays_in_its_place_when_the_disk_is_full(tmp_path, content):
    (tmp_path / NAME).write_bytes(content)
    titles, _, problems = open_on_a_full_disk(tmp_path)
    assert titles == []
    assert problems[-1][1].endswith("What you write now is not kept.")
    assert (tmp_path / NAME).read_bytes() == content


def test_that_a_store_that_cannot_be_tidied_up_is_used_all_the_same(tmp_path, monkeypatch):
    fill(tmp_path / NAME)

    def full(self):
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(ConversationStore, "settle", full)
    opened = open_store(tmp_path)
    assert len(opened.problems) == 1
    assert len(opened.store.conversations()) == TALKS
    opened.store.close()
