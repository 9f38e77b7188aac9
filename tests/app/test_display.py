import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from app import display
from app.display import no_window

ROOT = Path(__file__).parents[2]


def test_that_without_a_screen_the_terminal_is_offered():
    sentence = no_window({}, "linux")
    assert "no window can open" in sentence
    assert sentence.endswith('slipstream ask "Why is the sea salt?"')


def test_that_a_screen_that_does_not_answer_is_named():
    assert "(:4711)" in no_window({"DISPLAY": ":4711"}, "linux")


@pytest.mark.parametrize(
    "environment",
    [
        {"WAYLAND_DISPLAY": "wayland-0"},
        {"DISPLAY": "elsewhere:0"},
        {"QT_QPA_PLATFORM": "offscreen"},
        {"QT_QPA_PLATFORM": "vnc:size=800x600"},
    ],
    ids=str,
)
def test_that_a_window_is_tried_where_it_may_open(environment):
    assert no_window(environment, "linux") == ""


@pytest.mark.skipif(sys.platform != "linux", reason="abstract sockets are Linux's")
def test_that_a_screen_that_answers_is_used():
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("\0/tmp/.X11-unix/X4712")
        server.listen()
        assert no_window({"DISPLAY": ":4712.0"}, "linux") == ""


def test_that_a_mac_always_has_a_screen():
    assert no_window({}, "darwin") == ""


def test_that_the_line_to_type_starts_a_program_that_is_there(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin" / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert display._ask().startswith("bin/slipstream ask ")


def opened_with(tmp_path, ui_main):
    """Run the program with a `ui` that is only this, on a screen that draws nowhere."""
    (tmp_path / "ui").mkdir()
    (tmp_path / "ui" / "__init__.py").touch()
    (tmp_path / "ui" / "__main__.py").write_text(ui_main)
    return subprocess.run(
        [sys.executable, "-c", "import app.__main__, sys; sys.exit(app.__main__.main([]))"],
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen", "PYTHONPATH": f"{tmp_path}:{ROOT}"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )


def test_that_a_missing_library_is_named_with_what_to_do(tmp_path):
    run = opened_with(tmp_path, "raise ImportError('libEGL.so.1: cannot open shared object file')")
    assert run.returncode == 1
    assert "libEGL.so.1" in run.stderr
    assert "run make setup" in run.stderr
    assert "Traceback" not in run.stderr


def test_that_a_bug_in_the_window_is_not_called_a_missing_library(tmp_path):
    run = opened_with(tmp_path, "import there_is_no_such_module")
    assert "Traceback" in run.stderr
    assert "make setup" not in run.stderr
