import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ui.chat.live_text import Change, LiveText
from ui.chat.markdown import parse

PIECES = [
    "A paragraph with **bold**, `code` and $x^2$.\n\n",
    "Two lines\nof one\n\n",
    "# Heading\n",
    "Heading below\n---\n",
    "text\n#hashtag\n",
    "- a\n- b\n  - c\n",
    "1. one\n2. two\n\n   more\n3. three\n",
    "1. all\n1. ones\n",
    "- [x] done\n- [ ] open\n",
    "1. run\n   ```sh\n   ls -l\n\n     indented\n   ```\n2. done\n",
    "- x\n  ```\n  a\nout of the item\n",
    "> quote\n> - item\n>\n> ```\n> code\n> ```\nlazy\n",
    "```python\nif a < b:\n    pass\n```\n",
    "````\n```\nnot the end\n````\n",
    "~~~ js\nlet `a` = 1\n~~~\n",
    "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n\n",
    "    indented code\n\n    more\n\n",
    "$$\nx = y\n$$\n",
    "\\[ a \\]\n",
    "***\n",
    "\n",
    "* ",
    "`",
    "``",
    "1",
    "-",
    "  ",
    "\r\n",
    "😀 מילה\n",
    "```\nnever closed\n\n# no heading\n",
]


def grown(source, cuts):
    live, leaves = LiveText(), []

    def take(changes):
        for change in changes:
            if isinstance(change, Change):
                leaves[change.keep :] = change.leaves
            else:
                leaves[-1] = replace(leaves[-1], text=leaves[-1].text + change.text)

    for start, end in zip([0, *cuts], [*cuts, len(source)], strict=True):
        take(live.append(source[start:end]))
    take(live.finish())
    return leaves, live


@given(st.lists(st.sampled_from(PIECES), max_size=9), st.randoms(use_true_random=False))
@settings(max_examples=300, deadline=None)
def test_that_text_grown_in_pieces_reads_like_the_whole(pieces, draw):
    source = "".join(pieces)
    count = draw.randint(0, len(source))
    cuts = sorted(draw.randint(0, len(source)) for _ in range(count))
    leaves, _ = grown(source, cuts)
    assert leaves == list(parse(source.replace("\r\n", "\n").replace("\r", "\n")).leaves)


def test_that_settled_text_is_not_read_again():
    source = "".join(f"Paragraph {n} with **bold** text.\n\n" for n in range(500))
    _, live = grown(source, range(10, len(source), 10))
    assert live.parsed < 8 * len(source)


def test_that_the_items_of_a_long_list_settle_too():
    source = "".join(f"{n}. item with `code`\n" for n in range(1, 500))
    leaves, live = grown(source, range(10, len(source), 10))
    assert [leaf.containers[0].marker for leaf in leaves] == [f"{n}." for n in range(1, 500)]
    assert live.parsed < 8 * len(source)


@pytest.mark.parametrize("indent", ["", "   "])
def test_that_an_open_fence_is_not_read_at_all(indent):
    opening = f"1. Do this:\n{indent}```py\n" if indent else "```py\n"
    source = opening + "".join(f"{indent}line_{n} = {n}\n" for n in range(3000))
    cuts = range(10, len(source), 10)
    leaves, live = grown(source, cuts)
    assert leaves[-1].text == "".join(f"line_{n} = {n}\n" for n in range(3000))
    assert live.parsed < 2 * len(source)  # once at its end; before, only its first lines


def test_that_a_fence_shows_unfinished_lines_but_not_its_end():
    live = LiveText()
    live.append("```\nab")
    assert [change.text for change in live.append("c")] == ["c"]
    assert [change.text for change in live.append("\n``")] == ["\n"]
    (change,) = live.append("`\nafter")
    assert [leaf.kind for leaf in change.leaves] == ["code", "paragraph"]
    assert change.leaves[0].text == "abc\n"


def test_that_a_link_defined_below_asks_for_reading_all():
    live = LiveText()
    live.append("See [a].\n\n")
    assert not live.needs_all
    live.append("[a]: https://example.org\n")
    assert live.needs_all


def test_that_any_bytes_grow_without_an_error():
    draw = random.Random(5)
    letters = "`~*_-+#>|$\\[]()! \n\t1.:<&a\u202e\0é😀"
    for _ in range(60):
        source = "".join(draw.choice(letters) for _ in range(200))
        cuts = sorted(draw.randint(0, 200) for _ in range(40))
        grown(source, cuts)
