from hypothesis import given
from hypothesis import strategies as st

from ui.chat.utf16 import Units


@given(st.text(alphabet="aé\u202e😀👋🏽", max_size=30))
def test_that_units_are_those_of_utf_16(text):
    units = Units(text)
    for index in range(len(text) + 1):
        unit = len(text[:index].encode("utf-16-le")) // 2
        assert units.unit(index) == unit
        assert units.index(unit) == index


def test_that_the_middle_of_a_character_is_that_character():
    assert [Units("a😀b").index(unit) for unit in range(5)] == [0, 1, 1, 2, 3]
