"""The index over the words of all messages."""

import re
import sqlite3
from contextlib import suppress

_NOT_ITS_FAULT = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_READONLY,
}
_WORD = re.compile(r"\w+")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")


def create(db: sqlite3.Connection) -> None:
    """Make an empty index."""
    db.execute("CREATE VIRTUAL TABLE search USING fts5(text, tokenize = 'unicode61')")


def put(db: sqlite3.Connection, message: int, text: str) -> None:
    """Index `text` as the words of `message`, instead of what was there."""
    db.execute("DELETE FROM search WHERE rowid = ?", (message,))
    db.execute("INSERT INTO search(rowid, text) VALUES (?, ?)", (message, text))


def forget_deleted(db: sqlite3.Connection) -> None:
    """Drop the words of conversations that are marked as deleted, from the file as well."""
    gone = db.execute(
        "DELETE FROM search WHERE rowid IN (SELECT message.id FROM message"
        " JOIN conversation ON conversation.id = message.conversation WHERE deleted IS NOT NULL)"
    )
    if gone.rowcount:
        db.execute("INSERT INTO search(search) VALUES ('optimize')")  # words stay until merged


def is_sound(db: sqlite3.Connection) -> bool:
    """Whether the index is whole, as far as can be told while others write or the disk is full."""
    try:
        db.execute("INSERT INTO search(search) VALUES ('integrity-check')")
    except sqlite3.DatabaseError as error:
        return error.sqlite_errorcode & 0xFF in _NOT_ITS_FAULT
    return True


def rebuild(db: sqlite3.Connection) -> None:
    """Make the index anew from the messages, as far as the file lets us.

    A broken index cannot be dropped in the usual way: its entry in the schema goes first, then the
    tables in which it keeps its data.
    """
    with suppress(sqlite3.DatabaseError):
        db.execute("PRAGMA writable_schema = ON")
        db.execute("DELETE FROM sqlite_master WHERE name = 'search'")
        db.execute("PRAGMA writable_schema = RESET")
        for part in ("data", "idx", "content", "docsize", "config"):
            db.execute(f"DROP TABLE IF EXISTS search_{part}")
        create(db)
        for id_, text in db.execute("SELECT id, text FROM message").fetchall():
            put(db, id_, bytes(text).decode(errors="replace"))


def conversations(db: sqlite3.Connection, words: str) -> set[int] | None:
    """The conversations that have all of `words` in their title or in one message; None for all.

    A word is found by its beginning; in scripts without spaces, anywhere.
    """
    if not words.strip():
        return None
    found = {
        id_
        for (id_,) in db.execute(
            "SELECT id FROM conversation WHERE instr(lower(title), lower(?))", (words.strip(),)
        )
    }
    return found | {id_ for (id_,) in _with_message(db, words)}


def _with_message(db: sqlite3.Connection, words: str) -> sqlite3.Cursor:
    terms = _WORD.findall(words)
    if not terms or _UNSPACED.search(words):
        return db.execute(
            "SELECT DISTINCT conversation FROM message WHERE instr(lower(text), lower(?))",
            (words.strip(),),
        )
    query = " ".join(f'"{term}"*' for term in terms)
    return db.execute(
        "SELECT DISTINCT conversation FROM message"
        " WHERE id IN (SELECT rowid FROM search WHERE search MATCH ?)",
        (query,),
    )
