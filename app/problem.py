"""What a person is told when something went wrong, made in one place from an exception."""

import errno
import sqlite3
import traceback
from dataclasses import dataclass
from pathlib import Path

from engine.errors import BadNumbers, DrafterRefused, EngineError, ModelRefused, TemplateRefused

_FULL = {errno.ENOSPC, errno.EDQUOT}
_DENIED = {errno.EACCES, errno.EPERM, errno.EROFS}
_CORRUPT = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_NOT_WRITABLE = {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM}
_IN_USE = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_TITLES: tuple[tuple[type[EngineError], str], ...] = (
    (ModelRefused, "This model cannot be used"),
    (DrafterRefused, "This drafter cannot be used"),
    (TemplateRefused, "This model's chat template cannot be used"),
    (BadNumbers, "The model computed a wrong number"),
)


@dataclass(frozen=True, slots=True)
class Problem:
    """One sentence that says what happened, what is safe, and the one thing to do.

    `details` is for the fold-out and the clipboard; paths in it start at `~`.
    """

    title: str
    sentence: str
    safe: str
    action: str
    details: str = ""

    @staticmethod
    def from_exception(error: BaseException) -> "Problem":
        """Say what `error` means to a person; an unknown kind is our bug and says so."""
        if isinstance(error, ProblemError):
            return error.problem
        if isinstance(error, EngineError):
            return _of_engine(error)
        if isinstance(error, sqlite3.Error):
            return _of_store(error)
        if isinstance(error, OSError):
            return _of_system(error)
        if isinstance(error, MemoryError):
            return Problem(
                "Memory ran short",
                "There was not enough memory to go on.",
                "Your conversations are saved.",
                "Close other programs",
                _details(error),
            )
        return _bug(error)


class ProblemError(Exception):
    """A failure of the world that already knows what to tell a person."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.sentence)
        self.problem = problem


def disk_full(details: str = "") -> Problem:
    """The disk has no room for what was to be written."""
    return Problem(
        "The disk is full",
        "There is no room left on the disk.",
        "Your conversations are safe; new text is held in memory.",
        "Free space",
        details,
    )


def _of_engine(error: EngineError) -> Problem:
    title = next((t for kind, t in _TITLES if isinstance(error, kind)), "The engine refused")
    safe = error.safe or "Your conversations are saved."
    return Problem(title, error.message, safe, error.action or "Copy details", error.code)


def _of_store(error: sqlite3.Error) -> Problem:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the low byte is the primary code
    details = _details(error)
    if code == sqlite3.SQLITE_FULL:
        return disk_full(details)
    if code in _NOT_WRITABLE:
        return Problem(
            "Conversations cannot be saved",
            "The file of the conversations cannot be written.",
            "Nothing in it was changed.",
            "Check the folder's permissions",
            details,
        )
    if code in _IN_USE:
        return Problem(
            "Conversations are in use",
            "Another program holds the file of the conversations.",
            "Nothing in it was changed.",
            "Close the other program",
            details,
        )
    if code in _CORRUPT:
        return Problem(
            "Conversations are damaged",
            "The file of the conversations is damaged.",
            "It is put aside and rescued at the next start.",
            "Restart Slipstream",
            details,
        )
    if code == sqlite3.SQLITE_IOERR:
        return Problem(
            "The disk did not answer",
            "The file of the conversations could not be read or written.",
            "What was saved before is kept.",
            "Check the disk",
            details,
        )
    return _bug(error)


def _of_system(error: OSError) -> Problem:
    name = _short(str(error.filename)) if error.filename else "A file"
    if error.errno in _FULL:
        return disk_full(_details(error))
    if error.errno in _DENIED:
        sentence, action = f"{name} may not be read or written.", "Check its permissions"
    elif error.errno == errno.ENOENT:
        sentence, action = f"{name} is not there.", "Choose another"
    else:
        reason = error.strerror or type(error).__name__
        sentence, action = f"{name} could not be used: {reason}.", "Try again"
    return Problem(
        "A file could not be used",
        sentence,
        "Your conversations are saved.",
        action,
        _details(error),
    )


def _bug(error: BaseException) -> Problem:
    return Problem(
        "This is a bug",
        "Something went wrong inside Slipstream.",
        "Everything up to here is saved.",
        "Copy details",
        _details(error),
    )


def _details(error: BaseException) -> str:
    return _short("".join(traceback.format_exception(error)).strip())


def _short(text: str) -> str:
    """`text` without the name of the person's home folder."""
    return text.replace(str(Path.home()), "~")
