import os

import pytest

from app.files import aside_name, write_whole


def test_that_the_content_replaces_the_old_and_nothing_else_is_left(tmp_path):
    path = tmp_path / "file"
    write_whole(path, b"old")
    write_whole(path, b"new")
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_that_a_write_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "file"
    write_whole(path, b"old")

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_that_names_aside_are_never_taken_twice(tmp_path):
    names = set()
    for _ in range(4):
        name = aside_name(tmp_path / "file.db", "damaged")
        name.touch()
        names.add(name.name)
    assert len(names) == 4
    assert all(name.startswith("file.db.damaged-") for name in names)
