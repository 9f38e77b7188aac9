import pytest

from ui.chat.leaves import BREAK
from ui.chat.markdown import is_safe, parse, plain


def shown(leaf):
    return "".join(run.text for run in leaf.runs)


def leaves(source):
    return parse(source).leaves


def links(source):
    return [run.style.link for leaf in leaves(source) for run in leaf.runs if run.style.link]


@pytest.mark.parametrize(
    "source",
    [
        "use vector<int> and <channel> ok",
        "a < b && c > d",
        "<img src='file:///etc/hostname'>",
        "<!-- no comment -->",
        "<script>alert(1)</script>",
        "<b>bold?</b>",
    ],
)
def test_that_markup_of_html_is_text(source):
    assert [shown(leaf) for leaf in leaves(source)] == [source]


@pytest.mark.parametrize(
    "address",
    ["javascript:alert(1)", "file:///etc/passwd", "data:text/html,x", "vbscript:x", "/etc/passwd"],
)
def test_that_only_web_and_mail_become_links(address):
    assert not is_safe(address)
    assert links(f"[a]({address}) <{address}> ![b]({address})") == []
    assert shown(leaves(f"[a]({address})")[0]) == f"[a]({address})"


def test_that_links_keep_their_address():
    assert links("[c](https://example.org/x) and www.example.org, mail a@example.org") == [
        "https://example.org/x",
        "http://www.example.org",
        "mailto:a@example.org",
    ]


def test_that_an_image_is_its_name_and_its_address():
    assert shown(leaves("![a cat](http://127.0.0.1:1/a.png?q=s)")[0]) == (
        "a cat http://127.0.0.1:1/a.png?q=s"
    )


def test_that_every_run_knows_the_source_that_wrote_it():
    source = (
        "# A **bold** word\n\n> - with `code` and [a link](https://example.org)\n>   next *line*"
    )
    pieces = [
        (run.text, source[run.start : run.end])
        for leaf in leaves(source)
        for run in leaf.runs
        if run.text != BREAK
    ]
    assert pieces
    assert all(text.replace(BREAK, "\n")[-4:] == piece[-4:] for text, piece in pieces), pieces


def test_that_line_ends_in_a_paragraph_are_kept():
    assert shown(leaves("Roses are red,\nviolets are blue.")[0]) == (
        f"Roses are red,{BREAK}violets are blue."
    )


def test_that_items_carry_their_own_markers():
    found = [
        [(c.marker, c.ticked) for c in leaf.containers]
        for leaf in leaves("3. a\n4. b\n\n   more\n   - [x] done\n   - [ ] open\n- \n")
    ]
    assert found == [
        [("3.", None)],
        [("4.", None)],
        [("", None)],
        [("", None), ("◦", True)],
        [("", None), ("◦", False)],
        [("•", None)],
    ]


def test_that_a_table_has_rows_of_cells_with_sides():
    table = leaves("| a | b |\n|:--|--:|\n| `1` | **2** |\n")[0]
    assert table.kind == "table"
    assert [["".join(r.text for r in cell.runs) for cell in row] for row in table.rows] == [
        ["a", "b"],
        ["1", "2"],
    ]
    assert [cell.side for cell in table.rows[1]] == ["left", "right"]


@pytest.mark.parametrize(
    ("source", "latex"),
    [("$$\nx^2\n$$", "x^2"), ("\\[\nx^2\n\\]", "x^2"), ("\\[ a \\]", "a"), ("$$x$$", "x")],
)
def test_that_formulas_on_their_own_are_found(source, latex):
    assert [(leaf.kind, leaf.text) for leaf in leaves(source)] == [("math", latex)]


def test_that_formulas_in_a_line_are_found_and_prices_are_not():
    runs = leaves(r"so $x^2$ and \(y\) cost $5 and $6, \$7")[0].runs
    assert [run.text for run in runs if run.style.math] == ["$x^2$", r"\(y\)"]
    assert "cost $5 and $6, $7" in "".join(run.text for run in runs)


def test_that_code_in_a_fence_is_taken_as_it_is():
    leaf = leaves("```py\nif a < b:\n\tpass  \n```")[0]
    assert (leaf.kind, leaf.language, leaf.text) == ("code", "py", "if a < b:\n\tpass  \n")
    assert not leaf.is_open
    assert leaves("```py\nif a")[0].is_open


def test_that_verbatim_text_keeps_every_line():
    text = "  *a*\n\n<b>\t#x"
    assert "\n".join(shown(leaf) for leaf in plain(text)) == text
