"""Markdown to leaves. HTML stays text, nothing is fetched, only web and mail links are links."""

from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.gfm_autolink import gfm_autolink_plugin

from ui.chat.leaves import Leaf, Run, Style
from ui.chat.math_rules import bracket_math
from ui.chat.walk import Cut, Walk

SCHEMES = ("http", "https", "mailto")


@dataclass(frozen=True, slots=True)
class Parsed:
    """Leaves, the last safe cut among them, and whether links were defined."""

    leaves: tuple[Leaf, ...]
    cut: Cut
    defines_links: bool


def parse(source: str, *, number: int | None = None, after_blank: bool = True) -> Parsed:
    """Read `source`, whose lines end with a line feed.

    `number` is the number of the first item if an ordered list goes on at the beginning, and
    `after_blank` says that nothing or a blank line comes before.
    """
    env: dict[str, object] = {}
    walk = Walk(source, number, after_blank)
    walk.take(_reader().parse(source, env))
    return Parsed(tuple(walk.leaves), walk.cut, bool(env.get("references")))


def plain(text: str) -> tuple[Leaf, ...]:
    """`text` as it stands, one leaf a line."""
    leaves: list[Leaf] = []
    start = 0
    for line in text.split("\n"):
        runs = (Run(line, Style(), start, start + len(line)),) if line else ()
        leaves.append(Leaf("paragraph", start, start + len(line), apart=False, runs=runs))
        start += len(line) + 1
    return tuple(leaves)


def is_safe(address: str) -> bool:
    """Whether an address may become a link: the web or mail, nothing of this machine."""
    try:
        return urlsplit(address.strip()).scheme.lower() in SCHEMES
    except ValueError:
        return False


class _Reader(MarkdownIt):
    def validateLink(self, url: str) -> bool:  # noqa: N802  markdown-it's name
        return is_safe(url)


@lru_cache(maxsize=1)
def _reader() -> MarkdownIt:
    md = _Reader("commonmark", {"html": False, "maxNesting": 40})
    md.enable(["table", "strikethrough"])
    md.disable(["html_block", "html_inline", "text_join"])
    dollarmath_plugin(
        md,
        allow_labels=False,
        allow_space=False,
        allow_digits=False,
        allow_blank_lines=False,
        double_inline=True,
    )
    bracket_math(md)
    gfm_autolink_plugin(md)
    return md
