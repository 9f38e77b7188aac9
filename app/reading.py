"""Messages read from the store's file, each for itself: one that is damaged hides no other."""

import sqlite3
from typing import Literal, TypeAlias

from app import recovered, rows
from app.conversation import Message
from app.tree import Node, Place, Tree

Detail: TypeAlias = Literal["words", "trace", "prompt"]  # each has what those before it have


def tree_of(db: sqlite3.Connection, conversation: int) -> Tree:
    """The places of all messages of a conversation."""
    root = db.execute("SELECT chosen FROM conversation WHERE id = ?", (conversation,))
    (chosen,) = root.fetchone() or (None,)
    nodes = db.execute(
        "SELECT id, parent, chosen FROM message WHERE conversation = ?", (conversation,)
    )
    return Tree((Node(*row) for row in nodes), chosen)


def conversation_of(db: sqlite3.Connection, message: int) -> int | None:
    """The conversation in which a message is."""
    row = db.execute("SELECT conversation FROM message WHERE id = ?", (message,))
    (conversation,) = row.fetchone() or (None,)
    return conversation


def read(db: sqlite3.Connection, conversation: int, place: Place, detail: Detail) -> Message:
    """The message at `place`; what is damaged of it is kept aside."""
    columns = rows.WORDS if detail == "words" else rows.MESSAGE
    try:
        row = db.execute(f"SELECT {columns} FROM message WHERE id = ?", (place.id,)).fetchone()
        parts = db.execute(
            "SELECT body FROM trace WHERE message = ? AND ? ORDER BY part",
            (place.id, detail != "words"),
        ).fetchall()
    except sqlite3.DatabaseError as error:
        recovered.keep(db, conversation, place.id, [rows.Damage("row", str(error), b"")])
        return rows.lost_message(conversation, place)

    def piece(digest: bytes) -> bytes | None:
        found = db.execute(
            "SELECT body FROM piece WHERE conversation = ? AND digest = ?", (conversation, digest)
        )
        (body,) = found.fetchone() or (None,)
        return body

    bodies = [body for (body,) in parts]
    message, damages = rows.message_from(row, bodies, place, piece if detail == "prompt" else None)
    recovered.keep(db, conversation, place.id, damages)
    return message
