"""Reading what can be read from a damaged store."""

import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from shutil import copyfile

from app import search
from app.migrations import migrate

_COLUMNS = {
    "conversation": "id, title, created, updated, pinned, deleted, chosen, settings",
    "message": "id, conversation, parent, chosen, role, state, created, text, thinking,"
    " thinking_s, finished, failure, seal, receipt",
}
_KEEPS = "INSERT OR IGNORE INTO main.{0} ({1}) SELECT {1} FROM old.{0} WHERE id = ?"


@dataclass(frozen=True, slots=True)
class Rescued:
    """How much was taken over."""

    conversations: int
    messages: int


def rescue(damaged: Path, fresh: Path) -> Rescued:
    """Make a store at `fresh`, where nothing is yet, from all that can be read of `damaged`.

    `damaged` and its journal are read from a copy and stay as they are.

    Raises:
        OSError: the disk failed.
    """
    with tempfile.TemporaryDirectory() as scratch, closing(_new(fresh)) as db:
        copy = Path(scratch) / "old.db"
        for ending in ("", "-wal"):
            with suppress(FileNotFoundError):
                copyfile(f"{damaged}{ending}", f"{copy}{ending}")
        if copy.exists() and copy.stat().st_size == 0:
            copy.write_bytes(bytes(4096))  # SQLite throws the journal of an empty file away
        with suppress(sqlite3.DatabaseError):
            db.execute("PRAGMA writable_schema = ON")  # else a file that was cut is refused whole
            db.execute("ATTACH ? AS old", (str(copy),))
            for table in _COLUMNS:
                columns = _columns(db, table)
                for id_ in _ids(db, table):
                    with suppress(sqlite3.DatabaseError):
                        db.execute(_KEEPS.format(table, columns), (id_,))
            _take_traces(db)
        return _mended(db)


def _new(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, isolation_level=None)
    db.text_factory = bytes
    db.execute("PRAGMA foreign_keys=OFF")
    migrate(db, path)
    return db


def _columns(db: sqlite3.Connection, table: str) -> str:
    """What is taken over: a file of an earlier version has fewer columns."""
    found = db.execute("SELECT name FROM pragma_table_info(?, 'old')", (table,))
    there = {bytes(name).decode(errors="replace") for (name,) in found}
    return ", ".join(name for name in _COLUMNS[table].split(", ") if name in there)


def _ids(db: sqlite3.Connection, table: str) -> list[int]:
    """Every id that can be reached: from the front, and from the back, up to the damage."""
    found: set[int] = set()
    for order in ("ASC", "DESC"):
        found.update(_readable(db, f"SELECT id FROM old.{table} NOT INDEXED ORDER BY id {order}"))
    return sorted(found)


def _readable(db: sqlite3.Connection, query: str) -> Iterator[int]:
    with suppress(sqlite3.DatabaseError):
        for (id_,) in db.execute(query):
            yield id_


def _take_traces(db: sqlite3.Connection) -> None:
    for table, owner in (("trace", "message"), ("piece", "conversation")):
        for (id_,) in db.execute(f"SELECT id FROM main.{owner}").fetchall():
            with suppress(sqlite3.DatabaseError):
                db.execute(
                    f"INSERT OR IGNORE INTO main.{table} SELECT * FROM old.{table}"
                    f" WHERE {owner} = ?",
                    (id_,),
                )


def _mended(db: sqlite3.Connection) -> Rescued:
    """Give messages whose conversation or parent was lost a new one; index the words."""
    db.execute(
        "INSERT OR IGNORE INTO main.conversation(id, title, created, updated, settings)"
        " SELECT conversation, 'Recovered', min(created), max(created), '{}' FROM main.message"
        " WHERE conversation NOT IN (SELECT id FROM main.conversation) GROUP BY conversation"
    )
    db.execute(
        "UPDATE main.message SET parent = (SELECT max(m.id) FROM main.message AS m"
        " WHERE m.conversation = message.conversation AND m.id < message.id)"
        " WHERE parent IS NOT NULL AND parent NOT IN (SELECT id FROM main.message)"
    )
    for id_, text in db.execute("SELECT id, text FROM main.message").fetchall():
        search.put(db, id_, bytes(text).decode(errors="replace"))
    counts = "SELECT (SELECT count(*) FROM main.conversation), (SELECT count(*) FROM main.message)"
    return Rescued(*db.execute(counts).fetchone())
