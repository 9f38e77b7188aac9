import sys

import pytest

from ui.__main__ import Root


class Shown:
    """Stands where the window stands, and remembers what it was told."""

    def __init__(self):
        self.reported, self.closed = [], 0

    def report(self, error):
        self.reported.append(error)

    def close(self):
        self.closed += 1


@pytest.fixture
def root():
    root = Root()
    root._window = Shown()
    return root


def test_that_what_no_one_caught_is_shown_and_printed(root, capsys):
    error = ValueError("odd")
    root.uncaught(ValueError, error, None)
    assert root._window.reported == [error]
    assert "ValueError: odd" in capsys.readouterr().err


def test_that_before_the_window_there_is_only_the_print(capsys):
    Root().uncaught(ValueError, ValueError("early"), None)
    assert "early" in capsys.readouterr().err
    assert sys.excepthook is not None


def test_that_a_signal_closes_the_window(root):
    root.ask_end(15, None)
    assert root._window.closed == 1
