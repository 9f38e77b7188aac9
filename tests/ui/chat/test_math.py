import pytest

from ui.chat.math import DEEPEST, LONGEST, drawing, latex_of

INK = "#1d1d1b"


@pytest.mark.parametrize("latex", [r"\frac{a}{b}", r"\sqrt{x^2}", r"\sum_{i=0}^n i", "x"])
def test_that_formulas_are_drawn(qapp, latex):
    drawn = drawing(latex, 14.0, INK, in_line=True)
    assert drawn is not None
    assert 3 < drawn.width < 200
    assert 0 < drawn.ascent <= drawn.height + 1


@pytest.mark.parametrize(
    "latex",
    [
        "",
        r"\frac{a}",
        r"\left( x",
        r"\nosuchcommand{x}",
        "x" * (LONGEST + 1),
        "{" * (DEEPEST + 1) + "x" + "}" * (DEEPEST + 1),
        r"\href{file:///etc/passwd}{x}",
        r"\includegraphics{a.png}",
        r'\text{<image href="file:///etc/hostname"/>}',
        "}}}{{{",
        "&#0;",
    ],
)
def test_that_what_cannot_or_must_not_be_drawn_is_not(qapp, latex):
    drawn = drawing(latex, 14.0, INK, in_line=True)
    assert drawn is None or r"\nosuch" in latex  # an unknown name may be drawn as that name


@pytest.mark.parametrize(
    ("written", "latex"),
    [("$x$", "x"), ("$$x$$", "x"), (r"\(x\)", "x"), (r"\[ x \]", "x"), ("x", "x")],
)
def test_that_delimiters_are_not_drawn(written, latex):
    assert latex_of(written) == latex
