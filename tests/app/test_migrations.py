import sqlite3
from contextlib import closing

import pytest

from app.migrations import APPLICATION, MIGRATIONS, migrate
from app.problem import ProblemError


@pytest.fixture
def db(path):
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        yield db


def version(db):
    return db.execute("PRAGMA user_version").fetchone()[0]


def add_colour(db):
    db.execute("ALTER TABLE conversation ADD COLUMN colour TEXT")


def fail_half_way(db):
    db.execute("CREATE TABLE half(x)")
    raise sqlite3.OperationalError("the disk is full")


def test_that_a_new_file_gets_the_newest_shape_without_a_copy(db, path):
    migrate(db, path)
    assert version(db) == len(MIGRATIONS)
    assert db.execute("PRAGMA application_id").fetchone() == (APPLICATION,)
    assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_that_a_step_is_taken_once_and_the_file_before_it_is_kept(db, path):
    migrate(db, path)
    db.execute(
        "INSERT INTO conversation(title, created, updated, settings) VALUES ('a', 1, 2, '{}')"
    )
    steps = (*MIGRATIONS, add_colour)
    migrate(db, path, steps)
    migrate(db, path, steps)
    assert version(db) == len(steps)
    assert db.execute("SELECT title, colour FROM conversation").fetchall() == [("a", None)]
    (copy,) = path.parent.glob(f"*.before-{len(steps)}-*")
    with closing(sqlite3.connect(copy)) as before:
        assert version(before) == len(MIGRATIONS)
        assert before.execute("SELECT * FROM conversation").fetchone()[1] == "a"
        with pytest.raises(sqlite3.OperationalError):
            before.execute("SELECT colour FROM conversation")


def test_that_a_step_that_fails_leaves_the_file_as_it_was(db, path):
    migrate(db, path)
    with pytest.raises(sqlite3.OperationalError, match="full"):
        migrate(db, path, (*MIGRATIONS, fail_half_way))
    assert version(db) == len(MIGRATIONS)
    assert db.execute("SELECT 1 FROM sqlite_master WHERE name = 'half'").fetchone() is None


def end_and_fail(db):
    db.execute("ROLLBACK")  # as SQLite does by itself when the disk is full
    raise sqlite3.OperationalError("the disk is full")


def test_that_the_reason_of_a_failed_step_is_not_hidden_by_the_rollback(db, path):
    with pytest.raises(sqlite3.OperationalError, match="full"):
        migrate(db, path, (end_and_fail,))


@pytest.mark.parametrize("number", [len(MIGRATIONS) + 1, 9_999, -1])
def test_that_a_file_of_a_version_not_known_is_refused_and_left_alone(db, path, number):
    migrate(db, path)
    db.execute(f"PRAGMA user_version = {number}")
    before = path.read_bytes()
    with pytest.raises(ProblemError) as caught:
        migrate(db, path)
    problem = caught.value.problem
    assert str(number) in problem.sentence
    assert problem.action == "Update Slipstream"
    assert path.read_bytes() == before
    assert version(db) == number
