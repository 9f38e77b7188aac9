import pytest

from ui.chat.spans import RoundMap


@pytest.fixture
def mapped(round_):
    """Rounds of 3, 1 and 2 tokens; the first two tokens became text together."""
    made = RoundMap()
    for index, hit in enumerate([2, 0, 1]):
        made.add_round(round_(index, 4, hit))
    for span in [(0, 4, 1), (4, 9, 2), (9, 12, 3), (12, 15, 4), (15, 20, 5)]:
        made.add_span(*span)
    return made


def test_that_a_round_finds_its_text(mapped):
    assert [mapped.text_of(n) for n in range(3)] == [(0, 9), (9, 12), (12, 20)]


@pytest.mark.parametrize(
    ("piece", "rounds"),
    [((0, 1), [0]), ((8, 10), [0, 1]), ((10, 11), [1]), ((0, 20), [0, 1, 2]), ((19, 20), [2]),
     ((5, 5), []), ((30, 40), [])],
)  # fmt: skip
def test_that_text_finds_its_rounds(mapped, piece, rounds):
    assert list(mapped.rounds_of(*piece)) == rounds


def test_that_thinking_has_no_text_in_the_answer(round_):
    made = RoundMap()
    for index in range(3):
        made.add_round(round_(index, 1, 0))
    made.add_span(0, 5, 2)  # tokens 0 and 1 were thinking
    assert made.text_of(0) == (0, 0)
    assert made.text_of(2) == (0, 5)
    assert list(made.rounds_of(0, 5)) == [2]
