import pytest
from PySide6.QtCore import QPoint, Qt

from app.conversation import DraftMark
from ui.chat.strip_columns import LARGE, SMALL, Columns, Measures, scale_for

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support raise")


@pytest.fixture
def filled(strip, round_):
    rounds = [round_(n, 4, n % 5) for n in range(50)]
    marks = [DraftMark(10, "paused", "Slower."), DraftMark(12, "on", "")]
    strip.show_answer(rounds, marks, None)
    strip.resize(700, strip.lay_out(700))
    strip.show()
    return strip


def test_that_one_scale_holds_for_a_whole_strip(round_):
    assert scale_for([round_(0, 4, 1)]) == SMALL
    assert scale_for([round_(0, 4, 1), round_(1, 5, 1)]) == LARGE


def test_that_long_guesses_stand_side_by_side_and_none_is_hidden(round_):
    columns = Columns(Measures.of(LARGE, 1.0), 700)
    columns.add_round(round_(0, 8, 8))
    columns.add_round(round_(1, 31, 31))
    assert columns.columns[1].width == pytest.approx(4 * columns.columns[0].width + 3)


def test_that_columns_wrap_and_keep_their_order(round_):
    columns = Columns(Measures.of(SMALL, 1.0), 100)
    for n in range(25):
        columns.add_round(round_(n, 4, 1))
    assert columns.lines == 3
    assert columns.places == sorted(columns.places)
    assert all(x + 7 <= 100 for _, x in columns.places)
    for n in range(25):
        centre = columns.box_of_round(n).center()
        assert columns.at(centre.x(), centre.y()).round == n


def test_that_rounds_are_placed_the_same_one_by_one_and_at_once(strip, round_):
    rounds = [round_(n, 4, 2, recheck=n == 7) for n in range(30)]
    strip.lay_out(300)
    for round__ in rounds:
        strip.add([round__], [], None)
    one_by_one = list(strip.grid._columns.places)
    strip.show_answer(rounds, [], None)
    assert strip.grid._columns.places == one_by_one


def test_that_signs_stand_where_drafting_changed(filled):
    signs = [(c.round, c.sign) for c in filled.grid._columns.columns if c.sign]
    assert signs == [(10, "paused"), (12, "resumed")]


def test_that_the_pointer_is_told_the_round(filled):
    box = filled.grid._columns.box_of_round(3)
    assert filled.grid.tip_at(box.center().x(), box.center().y() + 4) == (
        "Round 4 · proposed 4 · accepted 3 · wrote 4 · 52 ms"
    )
    assert filled.grid.tip_at(690, 9999) == ""


def test_that_a_click_chooses_the_round_under_it(filled, qtbot):
    box = filled.grid._columns.box_of_round(20)
    with qtbot.waitSignal(filled.chosen) as chosen:
        qtbot.mouseClick(
            filled.grid, Qt.MouseButton.LeftButton, pos=box.center().toPoint() + QPoint(0, 4)
        )
    assert chosen.args == [20]


def test_that_arrow_keys_walk_through_the_rounds(filled, qtbot):
    keys = Qt.Key
    walked = []
    filled.chosen.connect(walked.append)
    for key in (keys.Key_Right, keys.Key_Right, keys.Key_Left, keys.Key_End, keys.Key_Right,
                keys.Key_Home, keys.Key_Escape):  # fmt: skip
        qtbot.keyClick(filled.grid, key)
    assert walked == [0, 1, 0, 49, 49, 0, -1]


def test_that_a_folded_strip_is_one_line(filled, qtbot):
    tall = filled.lay_out(700)
    with qtbot.waitSignal(filled.relaid):
        filled.head.click()
    assert filled.lay_out(700) < tall
    assert filled.head.text() == "Draft on · 3.0 tokens per round"


def test_that_a_long_strip_scrolls_and_shows_its_end(strip, round_):
    strip.show()
    for n in range(900):
        strip.add([round_(n, 4, 1)], [], None)
    height = strip.lay_out(700)
    assert height < 300
    bar = strip._area.verticalScrollBar()
    assert bar.value() == bar.maximum() > 0


def test_that_a_live_strip_shows_its_end_at_another_width_too(strip, round_):
    strip.show()
    bar = strip._area.verticalScrollBar()
    strip.add([round_(n, 3, 2) for n in range(60)], [], None)
    strip.lay_out(700)
    assert bar.maximum() == 0
    strip.lay_out(100)
    assert bar.value() == bar.maximum() > 0
    bar.setValue(0)  # a person looks at the beginning, and stays there
    strip.add([round_(60, 3, 2)], [], None)
    strip.lay_out(100)
    assert bar.value() == 0


def test_that_an_answer_without_guesses_has_no_columns_open(strip, round_):
    strip.show_answer([round_(n, 0, 0) for n in range(9)], [], None)
    assert not strip.is_open


def test_that_shapes_differ_without_colour(filled, strip, round_, qtbot):
    """A cell that was right is filled, one that was wrong is hollow, a copy is hatched."""

    def ink(proposed, accepted, mode="drafter"):
        strip.show_answer([round_(0, proposed, accepted, mode)], [], None)
        strip.resize(200, strip.lay_out(200))
        image = strip.grid._line(0).toImage()
        box = strip.grid._columns.box_of_round(0)
        cell = [
            image.pixelColor(x, y).alpha()
            for x in range(int(box.left()) + 2, int(box.left()) + 5)
            for y in range(int(box.bottom()) - 4, int(box.bottom()) - 2)
        ]
        return min(cell), max(cell)

    strip.show()
    assert ink(1, 1)[0] == 255
    assert ink(1, 0)[1] == 0
    low, high = ink(1, 1, "copy")
    assert 0 < low < 200 < high
