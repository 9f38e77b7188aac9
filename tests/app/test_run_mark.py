import subprocess
import sys

import pytest

from app.run_mark import NAME, RunMark

CRASHING = "import os, sys; from pathlib import Path; from app.run_mark import RunMark; RunMark(Path(sys.argv[1])); os._exit(1)"


def test_that_a_run_that_ended_in_order_leaves_no_mark(tmp_path):
    mark = RunMark(tmp_path)
    assert (mark.is_alone, mark.crashed) == (True, False)
    mark.clear()
    assert list(tmp_path.iterdir()) == []


def test_that_a_run_that_was_killed_is_noticed_by_the_next_only(tmp_path):
    subprocess.run([sys.executable, "-c", CRASHING, tmp_path], timeout=60, check=False)
    mark = RunMark(tmp_path)
    assert (mark.is_alone, mark.crashed) == (True, True)
    mark.clear()
    mark = RunMark(tmp_path)
    assert not mark.crashed
    mark.clear()


def test_that_a_second_run_beside_the_first_is_neither_alone_nor_a_crash(tmp_path):
    first = RunMark(tmp_path)
    second = RunMark(tmp_path)
    assert (second.is_alone, second.crashed) == (False, False)
    second.clear()
    assert (tmp_path / NAME).exists()
    first.clear()


def test_that_a_folder_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(OSError, match="nowhere"):
        RunMark(tmp_path / "nowhere")
