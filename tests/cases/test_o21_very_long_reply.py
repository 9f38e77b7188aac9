"""O-21: a very long reply makes the view slower and slower.

Times are measured by `make bench`; here the work is counted, which does not depend on the machine.
"""

import pytest

from app.conversation import Message
from engine.events import TextDelta
from ui.chat.transcript import Transcript
from ui.theme import Themes

CHUNKS, PART = 3000, 500


def prose(n):
    return f"\n\nA **bold** word and `code_{n}` here.\n\n" if n % 10 == 9 else "word "


def one_fence(n):
    if n < 100:
        return prose(n)
    return "```python\n" if n == 100 else "word \n" if n % 7 == 0 else "word "


@pytest.fixture
def transcript(qtbot):
    widget = Transcript(Themes("light"))
    qtbot.addWidget(widget)
    widget.resize(900, 600)
    widget.show()
    widget.show_messages(
        [
            Message(1, 1, None, "user", "Go on", "stop", 0.0),
            Message(2, 1, 1, "assistant", "", "streaming", 0.0),
        ]
    )
    return widget


@pytest.mark.parametrize("chunk", [prose, one_fence])
def test_that_the_last_chunks_cost_no_more_work_than_the_first(transcript, chunk):
    view, text, work = transcript.view_of(2), [], []
    for first in range(0, CHUNKS, PART):
        parsed, laid_out = view.parsed, view.body.laid_out
        for n in range(first, first + PART):
            text.append(chunk(n))
            transcript.apply(2, [TextDelta("answer", text[-1], n, n)])
        work.append((view.parsed - parsed, view.body.laid_out - laid_out))
    assert work[-1][0] <= 2 * work[0][0]
    assert work[-1][1] <= 2 * work[0][1]
    assert view.text == "".join(text)


@pytest.mark.parametrize("chunk", [prose, one_fence])
def test_that_the_view_stays_where_it_was_scrolled_to(transcript, chunk):
    for n in range(0, 600):
        transcript.apply(2, [TextDelta("answer", chunk(n), n, n)])
    bar = transcript.verticalScrollBar()
    bar.setValue(bar.maximum() // 3)
    before, top = bar.value(), transcript.view_of(2).y()
    for n in range(600, 1200):
        transcript.apply(2, [TextDelta("answer", chunk(n), n, n)])
    assert (bar.value(), transcript.view_of(2).y()) == (before, top)


@pytest.mark.parametrize("chunk", [prose, one_fence])
def test_that_the_final_text_is_exact(transcript, chunk):
    text = "".join(chunk(n) for n in range(1500))
    for n in range(1500):
        transcript.apply(2, [TextDelta("answer", chunk(n), n, n)])
    transcript.settle(Message(2, 1, 1, "assistant", text, "stop", 0.0))
    shown = transcript.view_of(2).body.plain_text
    whole = Transcript(Themes("light"))
    whole.show_messages([Message(2, 1, 1, "assistant", text, "stop", 0.0)])
    assert shown == whole.view_of(2).body.plain_text
    assert shown.count("word") == text.count("word")
    whole.deleteLater()
