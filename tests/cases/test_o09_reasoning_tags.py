"""O-09: reasoning tags that are split, not closed, or not opened."""

import pytest

from engine.detokenizer import TextStream


def streamed(smol, chunks, **options):
    """What was shown at any time, and the stream at its end."""
    stream, shown = TextStream(smol, **options), []
    for chunk in chunks:
        shown += [d.text for d in stream.push(smol.encode(chunk)).deltas]
    shown += [d.text for d in stream.finish()]
    return shown, stream


def test_that_no_fragment_of_a_split_tag_is_shown(smol):
    shown, stream = streamed(smol, ["<th", "ink>plan", "</thi", "nk>Answer 42"])
    assert (stream.thinking, stream.answer) == ("plan", "Answer 42")
    assert not any("<" in text or "th" in text for text in shown)


def test_that_thinking_which_is_never_closed_is_readable(smol):
    _, stream = streamed(smol, ["<think>Hello there"])
    assert stream.answer == "Hello there"


def test_that_an_opener_in_the_prompt_counts(smol):
    _, stream = streamed(smol, ["plan</think>Answer"], opens_thinking=True)
    assert (stream.thinking, stream.answer) == ("plan", "Answer")


@pytest.mark.parametrize("cut", range(1, 40, 3))
def test_that_a_tag_in_the_middle_is_text(smol, cut):
    text = "Write <think> in a code span: `<think>` done"
    _, stream = streamed(smol, [text[:cut], text[cut:]])
    assert stream.answer == text
