import pytest
from PySide6.QtCore import QRectF
from PySide6.QtGui import QGuiApplication, QImage, QPainter

from ui.chat.body import Body
from ui.chat.code import CodeBlock
from ui.chat.code_lines import CodeLines
from ui.chat.colours import LONGEST, Colouring, lexer_for
from ui.chat.live_text import LiveText
from ui.chat.look import Look
from ui.chat.markdown import parse

PYTHON = 'def f(x):\n    """Text\n    over lines."""\n    return x + 1  # done\n'


@pytest.fixture
def look(themes):
    return Look(themes.current)


@pytest.fixture
def body(qtbot, themes):
    widget = Body(themes)
    qtbot.addWidget(widget)
    widget.resize(700, 600)
    widget.show()
    return widget


def painted(lines, clip):
    image = QImage(700, 400, QImage.Format.Format_ARGB32)
    painter = QPainter(image)
    lines.paint(painter, clip, (0, 0))
    painter.end()


def test_that_only_painted_lines_are_laid_out(look):
    lines = CodeLines("x = 1\n" * 5000, look)
    assert len(lines._laid) == 0
    painted(lines, QRectF(0, 2000 * lines.row, 700, 400))
    assert 10 < len(lines._laid) < 60


def test_that_growing_adds_the_same_as_beginning_anew(look):
    grown = CodeLines("", look)
    for at in range(0, len(PYTHON), 3):
        grown.grow(PYTHON[at : at + 3])
    whole = CodeLines(PYTHON, look)
    assert (grown.text, grown.count, grown.length, grown.height, grown.widest) == (
        whole.text, whole.count, whole.length, whole.height, whole.widest,
    )  # fmt: skip
    assert whole.count == 4


def test_that_wrapped_lines_are_higher_and_offsets_stay(look):
    lines = CodeLines("short\n" + "word " * 200 + "\nend", look)
    whole = lines.height
    lines.wrap(300)
    assert lines.height > 5 * whole / 3
    bottom = lines.offset_at(2, lines.height - 3)
    assert lines.copied(bottom, lines.length) == "end"
    lines.grow("ing\nmore")
    assert lines.copied(bottom, lines.length) == "ending\nmore"


def test_that_offsets_and_places_agree(look):
    lines = CodeLines("ab😀c\n\tx\n日本", look)
    for offset in range(lines.length):
        box = lines.box_of(offset, offset + 1)
        assert lines.offset_at(lines.x_of(offset) + 1, box.center().y()) == offset


def test_that_slices_of_colouring_give_what_one_piece_gives():
    lexer = lexer_for("python")
    whole, sliced = Colouring(PYTHON, lexer), Colouring(PYTHON, lexer)
    assert not whole.work(60)
    steps = 1
    while sliced.work(0):
        steps += 1
    assert steps > 3
    assert sliced.inks == whole.inks
    assert [ink.part for ink in whole.inks[0]] == ["keyword"]
    assert [ink.part for ink in whole.inks[1]] == ["string"]
    assert whole.inks[3][-1].part == "comment"


@pytest.mark.parametrize("language", ["", "text", "no-such-language", "<b>"])
def test_that_unknown_languages_stay_plain(language):
    assert lexer_for(language) is None


def test_that_huge_code_is_not_coloured(body):
    body.show_leaves(parse("```python\n" + "x = 1\n" * (LONGEST // 6 + 1) + "```").leaves)
    body.lay_out(700)
    body.grab()
    assert body.blocks[0]._colouring is None


def test_that_a_card_becomes_coloured_when_it_is_seen(body, qtbot):
    body.show_leaves(parse(f"```python\n{PYTHON}```").leaves)
    body.lay_out(700)
    assert body.blocks[0].lines._inks == {}
    body.repaint()
    qtbot.waitUntil(lambda: len(body.blocks[0].lines._inks) >= 4, timeout=30_000)


def test_that_growing_code_is_coloured_to_its_last_line_and_in_the_end_as_a_whole(body, qtbot):
    code = PYTHON * 6 + 'text = """open\nreturn is a word'
    whole = Colouring(code, lexer_for("python"))
    assert not whole.work(60)
    live = LiveText()
    body.lay_out(700)
    body.change(live.append("```python\n"))
    lines = body.blocks[0].lines

    def letters(inks):  # an open string may be told in more pieces than a closed one
        return [(n, ink.part) for ink in inks for n in range(ink.start, ink.start + ink.length)]

    def coloured():
        body.repaint()
        line = lines.count - 1
        return letters(lines._inks.get(line, ())) == letters(whole.inks[line])

    for line in code.splitlines(keepends=True):
        body.change(live.append(line))
        qtbot.waitUntil(coloured, timeout=30_000)
    for line in range(lines.count):
        assert letters(lines._inks[line]) == letters(whole.inks[line]), line
    assert {ink.part for ink in lines._inks[lines.count - 1]} == {"string"}
    body.change(live.append("\n```\nAfter.\n"))
    body.repaint()
    qtbot.waitUntil(
        lambda: body.blocks[0]._is_whole and body.blocks[0]._colouring is None, timeout=30_000
    )
    assert {n: row for n, row in lines._inks.items() if row} == {
        n: row for n, row in whole.inks.items() if row
    }


def test_that_the_card_stays_when_its_fence_is_closed(body):
    live = LiveText()
    body.lay_out(700)
    body.change(live.append("```py\nx = 1\n"))
    card = body.blocks[0]
    body.change(live.append("y = 2\n```\nAfter.\n"))
    assert body.blocks[0] is card
    assert card.lines.text == "x = 1\ny = 2\n"
    assert card.copied(0, card.length) == "x = 1\ny = 2"


def test_that_the_buttons_copy_and_wrap(body):
    body.show_leaves(parse("```py\n" + "word " * 300 + "\n```").leaves)
    height = body.lay_out(700)
    card = body.blocks[0]
    assert isinstance(card, CodeBlock)
    (copy, _), (wrap, _) = card.controls()
    copy.click()
    assert QGuiApplication.clipboard().text() == "word " * 300
    assert card.scroll_sideways(50)
    wrap.click()
    assert body.text_height > height
    assert not card.scroll_sideways(50)
