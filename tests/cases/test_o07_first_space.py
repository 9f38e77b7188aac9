"""O-07: the first space of a reply disappears."""

from engine.detokenizer import TextStream
from engine.request import Turn


def joined(smol, ids, **options):
    stream = TextStream(smol, **options)
    return "".join(d.text for d in (*stream.push(ids).deltas, *stream.finish()))


def test_that_leading_spaces_are_kept(smol):
    assert joined(smol, [33662]) == " hello"
    assert joined(smol, [216, 216, 28120]) == "  hello"


def test_that_a_continued_message_keeps_the_space_between(smol):
    prompt = smol.prompt([Turn("user", "go"), Turn("assistant", "x =")], continue_last=True)
    assert smol.decode(prompt.ids).endswith("<|im_start|>assistant\nx =")
    assert "x =" + joined(smol, [33662], prefix_ids=prompt.ids[-8:]) == "x = hello"
