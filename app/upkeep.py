"""What is done to the store's file once, when the program starts."""

import sqlite3
import time

from app import search

_DAY = 86_400.0


def complaint(db: sqlite3.Connection) -> str:
    """What the integrity check says, empty when all is well.

    A broken search index alone is made anew; nothing else is written.
    """
    said = _check(db)
    if any("search" not in line for line in said):
        return "; ".join(said)
    if said or not search.is_sound(db):  # from SQLite 3.44 on the check looks at the index too
        search.rebuild(db)
        said = _check(db)
    return "; ".join(said)


def settle(db: sqlite3.Connection) -> int:
    """Tidy up after the last run, inside a transaction; return how many replies were unfinished.

    Those become `interrupted`, what was deleted is removed for good, and conversations of other
    days in which nothing was said go.
    """
    unfinished = db.execute("SELECT id, text FROM message WHERE state = 'streaming'").fetchall()
    for id_, text in unfinished:
        search.put(db, id_, bytes(text).decode(errors="replace"))
    db.execute("UPDATE message SET state = 'interrupted' WHERE state = 'streaming'")
    search.forget_deleted(db)
    db.execute("DELETE FROM conversation WHERE deleted IS NOT NULL")
    db.execute(
        "DELETE FROM conversation WHERE pinned = 0 AND updated < ? AND NOT EXISTS"
        " (SELECT 1 FROM message WHERE message.conversation = conversation.id)",
        (time.time() - _DAY,),
    )
    return len(unfinished)


def _check(db: sqlite3.Connection) -> list[str]:
    try:
        said = [str(line, "utf-8", "replace") for (line,) in db.execute("PRAGMA quick_check(5)")]
    except sqlite3.DatabaseError as error:
        return [str(error)]
    return [] if said == ["ok"] else said
