"""O-08: a stop string spans two chunks."""

import pytest

from engine.detokenizer import TextStream

IDS = [504, 2365, 6354, 16438]  # The quick brown fox


@pytest.mark.parametrize(
    ("stop", "expected", "stopped"),
    [
        (("own fox",), "The quick br", True),
        (("own cat",), "The quick brown fox", False),
        (("fox", "own fox"), "The quick br", True),
        (("fox",), "The quick brown ", True),
    ],
    ids=["spans", "never", "earliest", "at-the-end"],
)
def test_that_nothing_of_a_stop_string_is_shown(smol, stop, expected, stopped):
    stream, shown = TextStream(smol, stop), ""
    for token in IDS:
        pushed = stream.push([token])
        for delta in pushed.deltas:
            shown += delta.text
            assert expected.startswith(shown)
        if pushed.stopped:
            break
    assert pushed.stopped is stopped
    shown += "".join(d.text for d in stream.finish())
    assert shown == expected == stream.answer
