"""Opening the store, whatever state its file is in."""

import logging
import sqlite3
from contextlib import suppress
from dataclasses import dataclass
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
    taken over. Unless `is_alone`, another program is writing: its unfinished replies are left.
    """
    path = folder / NAME
    problems: list[Problem] = []
    try:
        if _is_empty(path):
            problems.append(_put_aside(path, "It was empty."))
        store = _checked(path, problems)
    except (ProblemError, sqlite3.Error, OSError) as error:
        _log.exception("The store could not be opened.")
        return Opened(ConversationStore(None), 0, (*problems, _unusable(error)))
    return Opened(store, store.settle() if is_alone else 0, tuple(problems))


def _checked(path: Path, problems: list[Problem]) -> ConversationStore:
    try:
        store = ConversationStore(path)
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF not in _DAMAGED:
            raise
        return _replaced(path, str(error), problems)
    said = store.complaint()
    if not said:
        return store
    store.close()
    return _replaced(path, said, problems)


def _replaced(path: Path, said: str, problems: list[Problem]) -> ConversationStore:
    problems.append(_put_aside(path, said))
    return ConversationStore(path)


def _is_empty(path: Path) -> bool:
    return path.exists() and path.stat().st_size == 0


def _put_aside(path: Path, said: str) -> Problem:
    """Move the file away with its journal, and take over what can be read of it."""
    kept = aside_name(path, "damaged")
    path.replace(kept)
    for ending in ("-wal", "-shm"):
        with suppress(FileNotFoundError):
            path.with_name(path.name + ending).replace(kept.with_name(kept.name + ending))
    found = rescue(kept, path)
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


def _unusable(error: Exception) -> Problem:
    problem = Problem.from_exception(error)
    if isinstance(error, ProblemError):
        return problem
    return Problem(
        problem.title,
        problem.sentence,
        "Nothing in it was changed. What you write now is not kept.",
        problem.action,
        problem.details,
    )
