import stat

import pytest

from app.folders import Folders


def test_that_one_variable_moves_all_four_folders(monkeypatch, tmp_path):
    monkeypatch.setenv("SLIPSTREAM_HOME", str(tmp_path))
    found = Folders.standard()
    assert found == Folders.below(tmp_path)
    assert len({found.data, found.config, found.cache, found.logs}) == 4


def test_that_without_it_they_are_where_the_system_keeps_such_things(monkeypatch, tmp_path):
    monkeypatch.delenv("SLIPSTREAM_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    found = Folders.standard()
    for folder in (found.data, found.config, found.cache, found.logs):
        assert folder.is_relative_to(tmp_path)
        assert "slipstream" in str(folder).lower()


def test_that_the_folders_are_for_this_person_only(folders):
    folders.make()
    folders.make()
    for folder in (folders.data, folders.config, folders.cache, folders.logs):
        assert stat.S_IMODE(folder.stat().st_mode) & 0o077 == 0


def test_that_a_folder_that_cannot_be_made_is_refused(folders):
    folders.data.parent.write_text("a file where a folder should be")
    with pytest.raises(OSError, match="home"):
        folders.make()
