"""A transcript in a window, and messages to put into it."""

from dataclasses import replace

import pytest

from app.conversation import Message
from engine.events import Round
from ui.chat.strip import Strip
from ui.chat.transcript import Transcript
from ui.theme import Themes


@pytest.fixture
def themes(qapp):
    return Themes("light")


@pytest.fixture
def opened():
    """The addresses that were opened."""
    return []


@pytest.fixture
def strip(qtbot, themes):
    widget = Strip(themes)
    qtbot.addWidget(widget)
    return widget


@pytest.fixture
def transcript(qtbot, themes, opened):
    widget = Transcript(themes, opened.append)
    qtbot.addWidget(widget)
    widget.resize(900, 600)
    widget.show()
    return widget


@pytest.fixture
def message():
    """`message(id, role, text, **more)`: a message that ended in order."""

    def make(id_, role, text, **more):
        made = Message(id_, 1, id_ - 1 or None, role, text, "stop", 0.0)
        return replace(made, **more)

    return make


@pytest.fixture
def round_():
    """`round_(index, proposed, accepted)`: a round of the drafter; nothing proposed is plain."""

    def make(index, proposed, accepted, mode="drafter", **more):
        made = Round(
            index,
            mode if proposed else "plain",
            tuple(range(proposed)),
            accepted,
            tuple(range(accepted + 1)),
            None,
            None,
            None,
            4.0,
            48.0,
            proposed + 1,
        )
        return replace(made, **more)

    return make
