import itertools

import pytest

from engine.thinking import ThinkingSplitter, held_back


def split(chunks, *, inside=False):
    splitter = ThinkingSplitter(inside=inside)
    parts = [p for chunk in chunks for p in splitter.push(chunk)] + splitter.finish()
    return (
        "".join(p.text for p in parts if p.channel == "thinking"),
        "".join(p.text for p in parts if p.channel == "answer"),
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<think>plan</think>Answer 42", ("plan", "Answer 42")),
        ("\n<think>a <b> </thin> c</think>\n\nd", ("a <b> </thin> c", "\n\nd")),
        ("no tags at all", ("", "no tags at all")),
        ("say `<think>` and </think>", ("", "say `<think>` and </think>")),
        ("<thin", ("", "<thin")),
        ("<think>open", ("open", "")),
    ],
)
def test_that_every_way_of_cutting_gives_the_same_split(text, expected):
    for cut in itertools.chain([(1,) * len(text)], ((n, len(text) - n) for n in range(len(text)))):
        chunks, at = [], 0
        for size in cut:
            chunks.append(text[at : at + size])
            at += size
        assert split(chunks) == expected


def test_that_a_prefilled_opener_needs_none():
    assert split(["plan</thi", "nk>Answer"], inside=True) == ("plan", "Answer")


def test_that_only_what_could_begin_a_match_is_held():
    assert held_back("abcab", ("abd", "zz")) == 2
    assert held_back("abc", ("x",)) == 0
    assert held_back("ab", ("ab",)) == 0
