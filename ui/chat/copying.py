"""What goes on the clipboard: with formatting, as Markdown, or plain."""

from collections.abc import Sequence
from html import escape

from PySide6.QtCore import QMimeData
from PySide6.QtGui import QGuiApplication

from ui.chat import selection
from ui.chat.blocks import Block
from ui.chat.leaves import BREAK, Cell, Leaf, Run
from ui.chat.markdown import parse
from ui.chat.selection import Selection

RICH = "text/html"


def put_selection(blocks: Sequence[Block], chosen: Selection) -> None:
    """Put the selected text on the clipboard; whole blocks keep their formatting."""
    parts: list[str] = []
    for number, block in enumerate(blocks):
        start, end = chosen.inside(number, block.length)
        if start == 0 and end == block.length and end:
            parts.append(rich_leaf(block.leaf))
        elif start < end:
            parts.append(f"<p>{_lines(block.copied(start, end))}</p>")
    put(selection.copied(blocks, chosen), "".join(parts))


def put_rich(markdown: str, plain: str) -> None:
    """Put a whole answer on the clipboard, formatted for those who can read that."""
    put(plain, rich(markdown))


def put(plain: str, html: str = "") -> None:
    """Put plain text on the clipboard, and the same as HTML if there is any."""
    data = QMimeData()
    data.setText(plain)
    if html:
        data.setData(RICH, f'<meta charset="utf-8">{html}'.encode())
    QGuiApplication.clipboard().setMimeData(data)


def rich(markdown: str) -> str:
    """A text as HTML, everything in it escaped, for other programs to paste."""
    return "".join(rich_leaf(leaf) for leaf in parse(markdown).leaves)


def rich_leaf(leaf: Leaf) -> str:
    """One leaf as HTML. Items are paragraphs with their marker, so that nothing is renumbered."""
    inside = _inside(leaf)
    for container in reversed(leaf.containers):
        if container.kind == "quote":
            inside = f"<blockquote>{inside}</blockquote>"
        else:
            inside = f'<div style="margin-left:1.6em">{inside}</div>'
    return inside


def _inside(leaf: Leaf) -> str:
    match leaf.kind:
        case "heading":
            return f"<h{leaf.level}>{_runs(leaf.runs)}</h{leaf.level}>"
        case "code":
            return f"<pre><code>{escape(leaf.text)}</code></pre>"
        case "math":
            return f"<pre><code>$$\n{escape(leaf.text)}\n$$</code></pre>"
        case "rule":
            return "<hr>"
        case "table":
            rows = [
                f"<tr>{''.join(_cell(cell, 'td' if n else 'th') for cell in row)}</tr>"
                for n, row in enumerate(leaf.rows)
            ]
            return f"<table>{''.join(rows)}</table>"
        case "paragraph":
            return f"<p>{_marker(leaf)}{_runs(leaf.runs)}</p>"


def _marker(leaf: Leaf) -> str:
    marks = [
        {None: each.marker, True: "☑", False: "☐"}[each.ticked]
        for each in leaf.containers
        if each.marker
    ]
    return "".join(f"{escape(mark)} " for mark in marks)


def _cell(cell: Cell, tag: str) -> str:
    return f"<{tag}>{_runs(cell.runs)}</{tag}>"


def _runs(runs: Sequence[Run]) -> str:
    return "".join(_run(run) for run in runs)


def _run(run: Run) -> str:
    html, style = _lines(run.text), run.style
    for tag, holds in (
        ("code", style.code),
        ("b", style.bold),
        ("i", style.italic),
        ("s", style.struck),
    ):
        if holds:
            html = f"<{tag}>{html}</{tag}>"
    return f'<a href="{escape(style.link)}">{html}</a>' if style.link else html


def _lines(text: str) -> str:
    return escape(text).replace(BREAK, "<br>").replace("\n", "<br>")
