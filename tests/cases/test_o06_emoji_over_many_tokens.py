"""O-06: a character of several code points is split over many tokens."""

import pytest

from engine.detokenizer import TextStream

TEXTS = {
    "woman scientist": ([10813, 235, 119, 321, 231, 10813, 238, 122], 3),
    "llama": ([10813, 116, 243], 1),
    "french flag": ([10813, 225, 121, 10813, 225, 132], 2),
    "rare han": ([187, 250, 123, 132], 1),
    "korean": ([33085, 246], 1),
}


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("around", [False, True], ids=["alone", "between"])
def test_that_no_half_character_is_shown_and_none_is_held(smol, name, around):
    ids, points = TEXTS[name]
    whole = smol.decode(ids)
    assert len(whole) == points
    if around:
        ids = [*smol.encode("ok "), *ids, *smol.encode("!")]
    stream, shown, complete = TextStream(smol), "", []
    for n, token in enumerate(ids, start=1):
        for delta in stream.push([token]).deltas:
            assert "\ufffd" not in delta.text
            shown += delta.text
        complete.append(shown == smol.decode(ids[:n]).rstrip("\ufffd"))
    assert all(complete)
    assert stream.finish() == ()
    assert shown == smol.decode(ids) == stream.answer
