import errno
import sqlite3
from pathlib import Path

import pytest

from app.problem import Problem, ProblemError
from engine.errors import (
    BadNumbers,
    DrafterRefused,
    EngineError,
    ModelRefused,
    RequestRefused,
    TemplateRefused,
)


def raised(error):
    try:
        raise error
    except type(error) as caught:
        return caught


def sqlite_error(code, kind=sqlite3.OperationalError):
    error = kind("it failed")
    error.sqlite_errorcode = code
    return error


@pytest.mark.parametrize(
    ("error", "title"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "The disk is full"),
        (sqlite_error(sqlite3.SQLITE_FULL), "The disk is full"),
        (sqlite_error(sqlite3.SQLITE_READONLY), "Conversations cannot be saved"),
        (sqlite_error(sqlite3.SQLITE_CANTOPEN_ISDIR), "Conversations cannot be saved"),
        (sqlite_error(sqlite3.SQLITE_BUSY), "Conversations are in use"),
        (sqlite_error(sqlite3.SQLITE_CORRUPT, sqlite3.DatabaseError), "Conversations are damaged"),
        (sqlite_error(sqlite3.SQLITE_IOERR_READ), "The disk did not answer"),
        (sqlite3.ProgrammingError("a wrong statement"), "This is a bug"),
        (MemoryError(), "Memory ran short"),
        (ZeroDivisionError("division by zero"), "This is a bug"),
        (PermissionError(errno.EACCES, "Permission denied", "/x/y"), "A file could not be used"),
        (FileNotFoundError(errno.ENOENT, "No such file", "/x/y"), "A file could not be used"),
        (OSError(errno.EIO, "Input/output error", "/x/y"), "A file could not be used"),
        (OSError("odd"), "A file could not be used"),
        (ModelRefused("a", "b"), "This model cannot be used"),
        (DrafterRefused("a", "b"), "This drafter cannot be used"),
        (TemplateRefused("a", "b"), "This model's chat template cannot be used"),
        (BadNumbers("a", "b"), "The model computed a wrong number"),
        (RequestRefused("a", "b"), "The engine refused"),
    ],
)
def test_that_every_failure_says_what_happened_what_is_safe_and_what_to_do(error, title):
    problem = Problem.from_exception(raised(error))
    assert problem.title == title
    assert problem.sentence.endswith((".", "b"))
    assert problem.safe
    assert problem.action


def test_that_the_engines_own_words_are_kept():
    error = EngineError("no_room", "It is too long.", safe="The chat is saved.", action="Make room")
    assert Problem.from_exception(error) == Problem(
        "The engine refused", "It is too long.", "The chat is saved.", "Make room", "no_room"
    )


def test_that_a_problem_raised_comes_out_as_itself():
    problem = Problem("a", "b", "c", "d")
    assert Problem.from_exception(ProblemError(problem)) is problem


def test_that_the_name_of_the_home_folder_is_not_told():
    path = str(Path.home() / "secret.txt")
    for error in (FileNotFoundError(errno.ENOENT, "No such file", path), ValueError(path)):
        problem = Problem.from_exception(raised(error))
        text = f"{problem.sentence}\n{problem.details}"
        assert "~/secret.txt" in text
        assert str(Path.home()) not in text.replace(str(Path(__file__).parent), "")


def test_that_the_details_of_a_bug_say_where_it_is():
    problem = Problem.from_exception(raised(KeyError("gone")))
    assert "KeyError: 'gone'" in problem.details
    assert "test_problem.py" in problem.details
