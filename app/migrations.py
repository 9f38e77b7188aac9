"""The shape of the store's file, as numbered steps that are taken once each."""

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import TypeAlias

from app.files import aside_name
from app.problem import Problem, ProblemError

Migration: TypeAlias = Callable[[sqlite3.Connection], None]

APPLICATION = 0x534C4950  # "SLIP", in the header of every file of ours


def migrate(
    db: sqlite3.Connection, path: Path, migrations: Sequence[Migration] | None = None
) -> None:
    """Bring the file behind `db` to the newest shape; before each step a copy is kept beside it.

    A new file needs no copy. A step is taken whole or not at all.

    Raises:
        ProblemError: a newer version of the program wrote the file; it is not touched.
        sqlite3.Error: the file or the disk failed.
    """
    steps = MIGRATIONS if migrations is None else migrations
    version = int(db.execute("PRAGMA user_version").fetchone()[0])
    if not 0 <= version <= len(steps):
        raise ProblemError(_newer(path, version, len(steps)))
    for number, step in enumerate(steps[version:], version + 1):
        if version:  # a new file has nothing to lose
            _copy(db, aside_name(path, f"before-{number}"))
        db.execute("BEGIN IMMEDIATE")
        try:
            step(db)
            db.execute(f"PRAGMA user_version = {number}")
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:  # a full disk has ended it already
                db.execute("ROLLBACK")
            raise


def _copy(db: sqlite3.Connection, path: Path) -> None:
    with closing(sqlite3.connect(path)) as copy:
        db.backup(copy)


def _newer(path: Path, version: int, known: int) -> Problem:
    return Problem(
        "Your conversations are from a newer Slipstream",
        f"{path.name} has version {version}; this program knows up to {known}.",
        "Nothing in it was changed.",
        "Update Slipstream",
    )


def _1_conversations(db: sqlite3.Connection) -> None:  # long: a schema is read whole
    """Conversations, their messages as a tree, the traces of replies, and the search index.

    `seal` is a CRC-32 of role, text and thinking. `chosen` is the child that is shown; NULL shows
    the last. `piece` holds the prompts of the summaries (`finished`), and `recovered` the bytes of
    records that could not be read.
    """
    db.execute(f"PRAGMA application_id = {APPLICATION}")
    db.execute("""
        CREATE TABLE conversation (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            title TEXT NOT NULL,
            created REAL NOT NULL,
            updated REAL NOT NULL,
            pinned INTEGER NOT NULL DEFAULT 0,
            deleted REAL,
            chosen INTEGER,
            settings TEXT NOT NULL
        )""")
    db.execute("""
        CREATE TABLE message (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            conversation INTEGER NOT NULL REFERENCES conversation(id) ON DELETE CASCADE,
            parent INTEGER REFERENCES message(id) ON DELETE CASCADE,
            chosen INTEGER,
            role TEXT NOT NULL,
            state TEXT NOT NULL,
            created REAL NOT NULL,
            text TEXT NOT NULL,
            thinking TEXT NOT NULL DEFAULT '',
            thinking_s REAL,
            finished BLOB,
            failure TEXT,
            seal INTEGER NOT NULL
        )""")
    db.execute("CREATE INDEX message_of_conversation ON message(conversation)")
    db.execute("CREATE INDEX message_of_parent ON message(parent)")
    db.execute("""
        CREATE TABLE trace (
            message INTEGER NOT NULL REFERENCES message(id) ON DELETE CASCADE,
            part INTEGER NOT NULL,
            body BLOB NOT NULL,
            PRIMARY KEY (message, part)
        ) WITHOUT ROWID""")
    db.execute("""
        CREATE TABLE piece (
            conversation INTEGER NOT NULL REFERENCES conversation(id) ON DELETE CASCADE,
            digest BLOB NOT NULL,
            body BLOB NOT NULL,
            PRIMARY KEY (conversation, digest)
        ) WITHOUT ROWID""")
    db.execute("""
        CREATE TABLE recovered (
            id INTEGER PRIMARY KEY,
            conversation INTEGER NOT NULL,
            message INTEGER,
            field TEXT NOT NULL,
            reason TEXT NOT NULL,
            found REAL NOT NULL,
            body BLOB,
            UNIQUE (conversation, message, field)
        )""")
    db.execute("CREATE VIRTUAL TABLE search USING fts5(text, tokenize = 'unicode61')")


def _2_receipts(db: sqlite3.Connection) -> None:
    """What checking a reply found, see `kept_receipts`."""
    db.execute("ALTER TABLE message ADD COLUMN receipt BLOB")


MIGRATIONS: tuple[Migration, ...] = (_1_conversations, _2_receipts)
