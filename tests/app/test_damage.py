"""One record that cannot be read harms nothing but itself."""

import sqlite3
from contextlib import closing

import pytest

from app.conversation import Settings
from app.store import ConversationStore, Written
from engine.events import Finished, Round

ROUND = Round(0, "plain", (), 0, (5,), None, None, None, 0.0, 12.5, 1)
FINISHED = Finished("stop", (1,), (5,), "The answer is salt.", 1, 0, 0, 20.0, "off")
ANSWER = "The answer is salt, and it has more than twenty bytes."


@pytest.fixture
def three(path):
    """Three conversations of four messages each; gives the ids of the second one's messages."""
    with closing(ConversationStore(path)) as store:
        for number in range(3):
            conversation, parent = store.add_conversation(Settings()).id, None
            for turn in range(2):
                _, reply = store.add_turn(
                    conversation, parent, f"Question {turn}", f"Talk {number}"
                )
                store.finish(reply.id, Written(ANSWER, "hm", 1.0, [ROUND]), "stop", FINISHED)
                parent = reply.id
    return [5, 6, 7, 8]


def spoil(path, statement, *values):
    with closing(sqlite3.connect(path)) as db, db:
        assert db.execute(statement, values).rowcount > 0


def kept(path):
    with closing(sqlite3.connect(path)) as db:
        db.text_factory = bytes
        return db.execute("SELECT message, field, body FROM recovered").fetchall()


CUT = "cast(substr(cast({0} AS BLOB), 1, length(cast({0} AS BLOB)) - 20) AS TEXT)"


@pytest.mark.parametrize(
    ("column", "value", "field"),
    [
        ("text", CUT.format("text"), b"text"),
        ("text", "cast(x'c3c3fffe' AS TEXT)", b"text"),
        ("text", "x'00ff00ff'", b"text"),
        ("text", "42", b"text"),
        ("role", "'nobody'", b"text"),
        ("state", "'nonsense'", b"state"),
        ("state", "cast(x'ff' AS TEXT)", b"state"),
        ("thinking", "cast(x'ff' AS TEXT)", b"thinking"),
        ("seal", "0", b"text"),
    ],
)
def test_that_a_spoiled_message_is_shown_as_damaged_among_intact_ones(
    three, path, column, value, field
):
    spoil(path, f"UPDATE message SET {column} = {value} WHERE id = 6")
    with closing(sqlite3.connect(path)) as db:
        db.text_factory = bytes
        (spoiled,) = db.execute(f"SELECT {field.decode()} FROM message WHERE id = 6").fetchone()
    with closing(ConversationStore(path)) as store:
        assert store.complaint() == ""
        messages = store.messages(2)
        assert [(m.id, m.state) for m in messages] == [
            (5, "stop"),
            (6, "damaged"),
            (7, "stop"),
            (8, "stop"),
        ]
        assert messages[3].text == ANSWER
        assert messages[3].rounds == (ROUND,)
        assert [c.damaged for c in store.conversations()] == [False, True, False]
        for other in (1, 3):
            assert [m.state for m in store.messages(other)] == ["stop"] * 4
        store.messages(2)
    expected = spoiled if isinstance(spoiled, bytes) else str(spoiled).encode()
    assert kept(path) == [(6, field, expected)]


@pytest.mark.parametrize(
    ("statement", "field", "what"),
    [
        ("UPDATE trace SET body = substr(body, 1, length(body) - 20) WHERE message = 6", b"trace", "rounds"),
        ("UPDATE trace SET body = x'ffff' WHERE message = 6", b"trace", "rounds"),
        ("UPDATE message SET finished = substr(finished, 1, length(finished) - 20) WHERE id = 6", b"finished", "finished"),
        ("UPDATE message SET failure = '{' WHERE id = 6", b"failure", "failure"),
        ("UPDATE message SET failure = cast(x'ff' AS TEXT) WHERE id = 6", b"failure", "failure"),
    ],
)  # fmt: skip
def test_that_the_words_stand_when_only_what_belongs_to_them_is_spoiled(
    three, path, statement, field, what
):
    spoil(path, statement)
    with closing(ConversationStore(path)) as store:
        message = store.messages(2)[1]
        assert (message.text, message.state) == (ANSWER, "stop")
        assert not getattr(message, what)
        assert store.conversation(2).damaged
    assert [(m, f) for m, f, _ in kept(path)] == [(6, field)]


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("title", "cast(x'54616c6bff' AS TEXT)"),
        ("settings", "'{'"),
        ("settings", "cast(x'ff' AS TEXT)"),
        ("settings", """'{"max_tokens": -5}'"""),
        ("settings", "7"),
    ],
)
def test_that_a_spoiled_conversation_still_opens_with_all_its_messages(three, path, column, value):
    spoil(path, f"UPDATE conversation SET {column} = {value} WHERE id = 2")
    with closing(ConversationStore(path)) as store:
        listed = store.conversations()
        assert [(c.id, c.damaged) for c in listed] == [(3, False), (2, True), (1, False)]
        assert listed[1].title.startswith("Talk")
        assert listed[1].settings == Settings()
        assert [m.state for m in store.messages(2)] == ["stop"] * 4
    assert [f for _, f, _ in kept(path)] == [column.encode()]


def test_that_times_that_are_no_numbers_are_the_beginning_of_time(three, path):
    spoil(path, "UPDATE conversation SET created = 'x' WHERE id = 2")
    spoil(path, "UPDATE message SET created = 'x', thinking_s = 'y' WHERE id = 6")
    with closing(ConversationStore(path)) as store:
        assert store.conversation(2).created == 0.0
        assert (store.message(6).created, store.message(6).thinking_s) == (0.0, None)


def test_that_a_lost_row_leaves_the_messages_after_it_readable(three, path):
    spoil(path, "DELETE FROM message WHERE id = 6")
    with closing(ConversationStore(path)) as store:
        assert [m.id for m in store.messages(2)] == [5, 7, 8]


def test_that_what_cannot_be_kept_aside_can_still_be_read(three, path):
    spoil(path, "UPDATE message SET text = 'other' WHERE id = 6")
    with closing(ConversationStore(path)) as store:
        store._db.execute("PRAGMA query_only = ON")  # as a disk that takes nothing more
        assert store.messages(2)[1].state == "damaged"


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE search_data SET block = x'ffffffffffff'",
        "DELETE FROM search_content WHERE id = 6",
        "DELETE FROM search_data",
        "UPDATE search_docsize SET sz = x'ff'",
    ],
)
def test_that_a_broken_search_index_is_made_anew(three, path, statement):
    spoil(path, statement)
    with closing(ConversationStore(path)) as store:
        assert store.complaint() == ""
        assert [c.id for c in store.conversations("salt")] == [3, 2, 1]
        store.finish(6, Written("magnesium"), "stop")
        assert [c.id for c in store.conversations("magnesium")] == [2]
