"""The index over the words of all messages."""

import re
import sqlite3

_WORD = re.compile(r"\w+")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")


def put(db: sqlite3.Connection, message: int, text: str) -> None:
    """Index `text` as the words of `message`, instead of what was there."""
    db.execute("DELETE FROM search WHERE rowid = ?", (message,))
    db.execute("INSERT INTO search(rowid, text) VALUES (?, ?)", (message, text))


def forget_deleted(db: sqlite3.Connection) -> None:
    """Drop the words of conversations that are marked as deleted."""
    db.execute(
        "DELETE FROM search WHERE rowid IN (SELECT message.id FROM message"
        " JOIN conversation ON conversation.id = message.conversation WHERE deleted IS NOT NULL)"
    )


def rebuild(db: sqlite3.Connection) -> bool:
    """Make the index anew from the messages; False when the file does not let us."""
    try:
        db.execute("DROP TABLE IF EXISTS search")
        db.execute("CREATE VIRTUAL TABLE search USING fts5(text, tokenize = 'unicode61')")
        for id_, text in db.execute("SELECT id, text FROM message").fetchall():
            put(db, id_, bytes(text).decode(errors="replace"))
    except sqlite3.DatabaseError:
        return False
    return True


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
