"""Conversations on disk."""

import json
import sqlite3
import time
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from app import recovered, rows, search, upkeep
from app.conversation import Conversation, Failure, Message, MessageState, Settings
from app.kept_receipts import packed_receipt
from app.migrations import migrate
from app.reading import conversation_of, read, tree_of
from app.receipts import Receipt
from app.records import Record, packed
from app.settings import settings_to_plain
from app.summary import packed_summary
from engine.events import Finished


@dataclass(frozen=True, slots=True)
class Written:
    """What a reply has to say so far. `records` are only those that were not saved before."""

    text: str
    thinking: str = ""
    thinking_s: float | None = None
    records: Sequence[Record] = field(default=())


class ConversationStore:
    """One SQLite file. Used on one thread only (see `Confined`).

    A record that cannot be read is copied into the table `recovered` and named by `damaged`; the
    others are not affected.
    """

    def __init__(self, path: Path | None) -> None:
        """Open the file at `path`, or a store in memory.

        Raises:
            ProblemError: the file is of a newer version.
            sqlite3.Error: it is damaged, in use, or cannot be written.
        """
        self._db = sqlite3.connect(path or ":memory:", isolation_level=None, timeout=5)
        self._db.text_factory = bytes  # a text that is not UTF-8 must not hide its neighbours
        try:
            for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "foreign_keys=ON"):
                self._db.execute(f"PRAGMA {pragma}")
            self._db.execute("PRAGMA secure_delete=ON")
            migrate(self._db, path or Path("memory"))
        except BaseException:
            self._db.close()
            raise

    @classmethod
    def copied(cls, path: Path) -> "ConversationStore":
        """A store in memory with what is in the file at `path`, which is only read.

        Raises:
            sqlite3.Error: it cannot be read.
        """
        store = cls(None)
        try:
            with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)) as file:
                file.backup(store._db)
            store.conversations()
        except BaseException:
            store.close()
            raise
        return store

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def complaint(self) -> str:
        """What the integrity check says, empty when all is well. A broken index is made anew."""
        return upkeep.complaint(self._db)

    def settle(self) -> int:
        """Tidy up after the last run; return how many replies it left unfinished."""
        with self._transaction():
            return upkeep.settle(self._db)

    def conversations(self, words: str = "") -> list[Conversation]:
        """Those whose title or messages have all of `words`: pinned first, then newest first."""
        found = search.conversations(self._db, words)
        listed = self._db.execute(
            f"SELECT {rows.CONVERSATION} FROM conversation WHERE deleted IS NULL"
            " ORDER BY pinned DESC, updated DESC, id DESC"
        ).fetchall()
        return [self._listed(row) for row in listed if found is None or row[0] in found]

    def conversation(self, id_: int) -> Conversation | None:
        """One conversation, deleted or not."""
        row = self._db.execute(
            f"SELECT {rows.CONVERSATION} FROM conversation WHERE id = ?", (id_,)
        ).fetchone()
        return None if row is None else self._listed(row)

    def add_conversation(self, settings: Settings) -> Conversation:
        """A new conversation that nothing was said in."""
        now = time.time()
        id_ = self._insert(
            "INSERT INTO conversation(title, created, updated, settings) VALUES ('', ?, ?, ?)",
            (now, now, _plain(settings)),
        )
        return Conversation(id_, "", now, now, settings=settings)

    def rename(self, id_: int, title: str) -> None:
        """Give a conversation another title."""
        self._set(id_, "title", title)

    def pin(self, id_: int, pinned: bool) -> None:
        """Keep a conversation at the top, or not."""
        self._set(id_, "pinned", int(pinned))

    def delete(self, id_: int) -> None:
        """Hide a conversation; `settle` removes it for good at the next start."""
        self._set(id_, "deleted", time.time())

    def restore(self, id_: int) -> None:
        """Undo `delete`."""
        self._set(id_, "deleted", None)

    def set_settings(self, id_: int, settings: Settings) -> None:
        """Replace the settings of a conversation."""
        self._set(id_, "settings", _plain(settings))

    def messages(self, conversation: int) -> list[Message]:
        """The shown branch, root to leaf; their summaries without the ids of the prompts."""
        branch = tree_of(self._db, conversation).branch()
        return [read(self._db, conversation, place, "trace") for place in branch]

    def message(self, id_: int) -> Message | None:
        """One message, wherever it is in its tree, with everything that is kept of it."""
        conversation = conversation_of(self._db, id_)
        if conversation is None:
            return None
        return read(self._db, conversation, tree_of(self._db, conversation).place(id_), "prompt")

    def path(self, id_: int) -> list[Message]:
        """The messages from the root to `id_`, both included, only as they were said."""
        conversation = conversation_of(self._db, id_)
        if conversation is None:
            return []
        path = tree_of(self._db, conversation).path_to(id_)
        return [read(self._db, conversation, place, "words") for place in path]

    def add_turn(
        self, conversation: int, parent: int | None, text: str | None, title: str = ""
    ) -> tuple[Message | None, Message]:
        """Add a user's message, unless `text` is None, and an empty reply; show their branch.

        `title` names the conversation when it has no name yet.
        """
        with self._transaction():
            user = None if text is None else self._add(conversation, parent, "user", text)
            reply = self._add(conversation, user or parent, "assistant", "")
            self._show(conversation, reply)
            self._db.execute(
                "UPDATE conversation SET updated = ?, title = iif(title = '', ?, title)"
                " WHERE id = ?",
                (time.time(), title, conversation),
            )
            if user is not None and text is not None:
                search.put(self._db, user, text)
        asked = None if user is None else self._sure(user)
        return asked, self._sure(reply)

    def reopen(self, message: int) -> Message:
        """Mark a reply as being written again; its text and trace stay."""
        self._db.execute(
            "UPDATE message SET state = 'streaming', finished = NULL, failure = NULL,"
            " receipt = NULL WHERE id = ?",
            (message,),
        )
        return self._sure(message)

    def grow(self, message: int, written: Written) -> None:
        """Save what a reply has so far."""
        with self._transaction():
            self._write(message, written, "streaming")

    def finish(
        self,
        message: int,
        written: Written,
        state: MessageState,
        finished: Finished | None = None,
        failure: Failure | None = None,
    ) -> None:
        """Save a reply that has ended."""
        summary = finished and packed_summary(finished, written.text, written.thinking)
        with self._transaction():
            self._write(message, written, state)
            self._db.execute(
                "UPDATE message SET finished = ?, failure = ? WHERE id = ?",
                (summary and summary.body, rows.failure_to_text(failure), message),
            )
            self._db.executemany(
                "INSERT OR IGNORE INTO piece SELECT conversation, ?, ? FROM message WHERE id = ?",
                [(*piece, message) for piece in summary.pieces.items()] if summary else (),
            )
            search.put(self._db, message, written.text)

    def keep_receipt(self, message: int, receipt: Receipt) -> None:
        """Save what checking a reply found, unless it is being written again."""
        self._db.execute(
            "UPDATE message SET receipt = ? WHERE id = ? AND state != 'streaming'",
            (packed_receipt(receipt), message),
        )

    def choose(self, message: int, step: int) -> None:
        """Show the alternative `step` after (or before) `message`; at the ends nothing changes."""
        conversation = conversation_of(self._db, message)
        if conversation is None:
            return
        beside = tree_of(self._db, conversation).beside(message, step)
        if beside is not None:
            with self._transaction():
                self._show(conversation, beside)

    def _listed(self, row: Sequence[Any]) -> Conversation:
        conversation, damages = rows.conversation_from(row)
        recovered.keep(self._db, conversation.id, None, damages)
        is_damaged = recovered.concerns(self._db, conversation.id)
        return replace(conversation, damaged=is_damaged) if is_damaged else conversation

    def _sure(self, id_: int) -> Message:
        message = self.message(id_)
        assert message is not None, id_
        return message

    def _add(self, conversation: int, parent: int | None, role: str, text: str) -> int:
        state = "stop" if role == "user" else "streaming"
        return self._insert(
            "INSERT INTO message(conversation, parent, role, state, created, text, seal)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            (conversation, parent, role, state, time.time(), text, rows.seal(role, text, "")),
        )

    def _write(self, message: int, written: Written, state: MessageState) -> None:
        if written.records:
            self._db.execute(
                "INSERT INTO trace SELECT ?, coalesce(max(part), 0) + 1, ? FROM trace"
                " WHERE message = ?",
                (message, packed(written.records), message),
            )
        self._db.execute(
            "UPDATE message SET text = ?, thinking = ?, thinking_s = ?, state = ?, seal = ?"
            " WHERE id = ?",
            (
                written.text,
                written.thinking,
                written.thinking_s,
                state,
                rows.seal("assistant", written.text, written.thinking),
                message,
            ),
        )

    def _show(self, conversation: int, message: int) -> None:
        """Make every step on the way to `message` the chosen one."""
        path = tree_of(self._db, conversation).path_to(message)
        self._db.execute(
            "UPDATE conversation SET chosen = ? WHERE id = ?", (path[0].id, conversation)
        )
        for parent, child in pairwise(path):
            self._db.execute("UPDATE message SET chosen = ? WHERE id = ?", (child.id, parent.id))

    def _set(self, id_: int, column: str, value: str | float | None) -> None:
        self._db.execute(f"UPDATE conversation SET {column} = ? WHERE id = ?", (value, id_))

    def _insert(self, statement: str, values: Sequence[object]) -> int:
        id_ = self._db.execute(statement, tuple(values)).lastrowid  # type: ignore[arg-type]
        assert id_ is not None
        return id_

    @contextmanager
    def _transaction(self) -> Generator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:  # a full disk has ended it already
                self._db.execute("ROLLBACK")
            raise


def _plain(settings: Settings) -> str:
    return json.dumps(settings_to_plain(settings), ensure_ascii=False)
