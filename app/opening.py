"""Opening the store, whatever state its file is in."""

import logging
import sqlite3
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from app.files import aside_name
from app.problem import Problem, ProblemError
from app.rescue import rescue
from app.store import ConversationStore

NAME = "conversations.db"
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Opened:
    """A store that works, how many replies the last run left unfinished, and what was wrong."""

    store: ConversationStore
    unfinished: int = 0
    problems: tuple[Problem, ...] = ()


def open_store(folder: Path, *, is_alone: bool = True) -> Opened:
    """The conversations kept in `folder`; a store in memory when its file must not be touched.

    A damaged or empty file is put aside under a name of its own, and what can be read of it is
    taken over. Of a file that cannot be written, a copy in memory is used. Unless `is_alone`,
    another program is writing: its unfinished replies are left.
    """
    path = folder / NAME
    problems: list[Problem] = []
    try:
        if _is_empty(path):
            problems.append(_replace(path, "It was empty."))
        store = _checked(path, problems)
    except (ProblemError, sqlite3.Error, OSError) as error:
        _log.exception("The store could not be opened.")
        store, safe = _in_memory(path, error)
        return Opened(store, 0, (*problems, replace(Problem.from_exception(error), safe=safe)))
    try:
        unfinished = store.settle() if is_alone else 0
    except sqlite3.OperationalError as error:  # a full disk; it can be read all the same
        _log.exception("The store could not be tidied up.")
        return Opened(store, 0, (*problems, Problem.from_exception(error)))
    return Opened(store, unfinished, tuple(problems))


def _checked(path: Path, problems: list[Problem]) -> ConversationStore:
    try:
        store = ConversationStore(path)
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF not in _DAMAGED:
            raise
        said = str(error)
    else:
        said = store.complaint()
        if not said:
            return store
        store.close()
    problems.append(_replace(path, said))
    return ConversationStore(path)


def _is_empty(path: Path) -> bool:
    return path.exists() and path.stat().st_size == 0


def _replace(path: Path, said: str) -> Problem:
    """Put what can be read of a damaged file into its place, and keep it beside with its journal.

    Until the new file is whole, the old one stays where it is.
    """
    fresh, kept = path.with_name(f"{path.name}.new"), aside_name(path, "damaged")
    fresh.unlink(missing_ok=True)
    found = rescue(path, fresh)
    path.replace(kept)
    for ending in ("-wal", "-shm"):  # else they would be taken for those of the new file
        with suppress(FileNotFoundError):
            path.with_name(path.name + ending).replace(kept.with_name(kept.name + ending))
    fresh.replace(path)
    sentence = (
        f"{found.conversations} conversations with {found.messages} messages were read from it."
        if found.conversations
        else "Nothing could be read from it."
    )
    return Problem(
        "The file of your conversations was damaged",
        sentence,
        f"The old file is kept as {kept.name}.",
        "Show file",
        said,
    )


def _in_memory(path: Path, error: Exception) -> tuple[ConversationStore, str]:
    """A store in memory, with what can be read, and the sentence that says what is safe."""
    if not isinstance(error, ProblemError) and path.is_file():
        with suppress(sqlite3.Error):
            copy = ConversationStore.copied(path)
            return copy, "Your conversations can be read. What you write now is not kept."
    return ConversationStore(None), "The file was left as it was. What you write now is not kept."
