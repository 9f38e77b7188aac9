"""O-20: the window is closed while a reply is loading, reading or being written.

borgbase/vorta #684, JeanExtreme002/PyMemoryEditor #45, jfisteus/eyegrade #167, qasync #39.
"""

import pytest

from support.scripted import words
from support.window_process import SECONDS_TO_END, driven, end_of, started_again


@pytest.mark.parametrize(
    ("moment", "pace", "least"),
    [
        ("loading", ("8000", "1", "20"), 0),
        ("reading", ("1", "400", "20"), 0),
        ("writing", ("1", "1", "20"), 10),
    ],
)
def test_that_closing_at_any_moment_ends_soon_and_saves(home, moment, pace, least):
    with driven(home, moment, "close", *pace) as child:
        assert child.stdout.readline() == "ready\n"
        code, said, seconds = end_of(child)
    problems, (question, answer) = started_again(home)
    assert (code, said, problems) == (0, [], ())
    assert seconds < SECONDS_TO_END
    assert (question.text, answer.state) == ("Why?", "cancelled")
    assert answer.text.startswith("".join(words(n) for n in range(least)))
