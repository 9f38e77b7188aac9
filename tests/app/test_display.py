import socket
import sys

import pytest

from app import display
from app.display import no_window


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
