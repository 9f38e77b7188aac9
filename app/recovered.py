"""The bytes of records that could not be read, kept beside those that could."""

import sqlite3
import time
from collections.abc import Sequence

from app.rows import Damage


def keep(
    db: sqlite3.Connection, conversation: int, message: int | None, damages: Sequence[Damage]
) -> None:
    """Copy what is damaged into the table `recovered`, once.

    A disk that is full does not hide what can still be read.
    """
    for damage in damages:
        kept = db.execute(
            "SELECT 1 FROM recovered WHERE conversation = ? AND message IS ? AND field = ?",
            (conversation, message, damage.field),
        ).fetchone()
        if kept is not None:
            continue
        try:
            db.execute(
                "INSERT INTO recovered(conversation, message, field, reason, found, body)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                (conversation, message, damage.field, damage.reason, time.time(), damage.body),
            )
        except sqlite3.OperationalError:
            return


def concerns(db: sqlite3.Connection, conversation: int) -> bool:
    """Whether something of this conversation could not be read."""
    row = db.execute("SELECT 1 FROM recovered WHERE conversation = ? LIMIT 1", (conversation,))
    return row.fetchone() is not None
