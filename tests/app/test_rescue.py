import sqlite3
from contextlib import closing
from shutil import copyfile

import pytest

from app.conversation import Settings
from app.opening import NAME, open_store
from app.rescue import Rescued, rescue
from app.store import ConversationStore, Written
from engine.events import Finished, Round

ROUND = Round(0, "plain", (), 0, (5,), None, None, None, 0.0, 12.5, 1)
FINISHED = Finished("stop", tuple(range(600)), (5,), "Because.", 1, 0, 0, None, "off")


@pytest.fixture
def fresh(tmp_path):
    return tmp_path / "fresh.db"


def say(store, questions):
    conversation, parent = store.add_conversation(Settings()).id, None
    for question in questions:
        _, reply = store.add_turn(conversation, parent, question, "Talk")
        store.finish(reply.id, Written("Because.", "hm", 1.0, [ROUND]), "stop", FINISHED)
        parent = reply.id
    return conversation


def spoil(path, statement):
    with closing(sqlite3.connect(path)) as db, db:  # foreign keys are off: nothing cascades
        assert db.execute(statement).rowcount > 0


def test_that_everything_of_a_whole_file_is_taken_over(store, path, fresh):
    conversation = say(store, ["one", "two"])
    expected = [store.message(m.id) for m in store.messages(conversation)]
    listed = store.conversations()
    store.close()
    before = path.read_bytes()
    assert rescue(path, fresh) == Rescued(1, 4)
    assert path.read_bytes() == before
    with closing(ConversationStore(fresh)) as found:
        assert [found.message(m.id) for m in found.messages(conversation)] == expected
        assert found.conversations() == listed
        assert found.conversations("two") == listed


def test_that_a_message_whose_parent_was_lost_follows_the_one_before_it(store, path, fresh):
    conversation = say(store, ["one", "two", "three"])
    store.close()
    spoil(path, "DELETE FROM message WHERE id IN (3, 4)")
    rescue(path, fresh)
    with closing(ConversationStore(fresh)) as found:
        assert [(m.id, m.parent) for m in found.messages(conversation)] == [
            (1, None),
            (2, 1),
            (5, 2),
            (6, 5),
        ]
    with closing(sqlite3.connect(fresh)) as db:
        assert db.execute("PRAGMA foreign_key_check").fetchall() == []


def test_that_messages_whose_conversation_was_lost_get_a_new_one(store, path, fresh):
    say(store, ["one"])
    lost = say(store, ["two", "three"])
    store.close()
    spoil(path, f"DELETE FROM conversation WHERE id = {lost}")
    assert rescue(path, fresh) == Rescued(2, 6)
    with closing(ConversationStore(fresh)) as found:
        assert found.conversation(lost).title == "Recovered"
        assert [m.text for m in found.messages(lost)][::2] == ["two", "three"]


def test_that_what_is_only_in_the_journal_is_taken_over_too(store, path, fresh, tmp_path):
    conversation = say(store, ["one"])  # not in the file before it is closed
    copy = tmp_path / "killed.db"
    for ending in ("", "-wal"):
        copyfile(f"{path}{ending}", f"{copy}{ending}")
    assert rescue(copy, fresh) == Rescued(1, 2)
    with closing(ConversationStore(fresh)) as found:
        assert found.messages(conversation)[0].text == "one"


def test_that_the_journal_of_an_empty_file_is_read_kept_and_not_used_for_the_new_one(
    store, path, tmp_path
):
    conversation = say(store, ["one"])
    folder = tmp_path / "killed"
    folder.mkdir()
    (folder / NAME).touch()
    copyfile(f"{path}-wal", folder / f"{NAME}-wal")
    journal = (folder / f"{NAME}-wal").read_bytes()
    opened = open_store(folder)
    assert [m.text for m in opened.store.messages(conversation)] == ["one", "Because."]
    say(opened.store, ["two"])
    opened.store.close()
    (kept,) = folder.glob(f"{NAME}.damaged-*-wal")
    assert kept.read_bytes() == journal
    again = open_store(folder)
    assert again.problems == ()
    assert len(again.store.conversations()) == 2
    again.store.close()
