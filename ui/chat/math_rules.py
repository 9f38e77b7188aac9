r"""Rules for markdown-it: formulas between \( and \), and between \[ and \]."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_inline import StateInline

_CLOSING = {"\\(": "\\)", "\\[": "\\]"}


def bracket_math(md: "MarkdownIt") -> None:
    """Let `md` read formulas in brackets, as tokens `math_inline` and `math_block`."""
    md.inline.ruler.before("escape", "bracket_math", _inline)
    md.block.ruler.before(
        "fence", "bracket_math", _block, {"alt": ["paragraph", "reference", "blockquote", "list"]}
    )


def _inline(state: "StateInline", silent: bool) -> bool:
    opening = state.src[state.pos : state.pos + 2]
    if opening not in _CLOSING:
        return False
    end = state.src.find(_CLOSING[opening], state.pos + 2, state.posMax)
    content = state.src[state.pos + 2 : end]
    if end < 0 or not content.strip():
        return False
    if not silent:
        token = state.push("math_inline", "math", 0)
        token.content, token.markup = content, opening
    state.pos = end + 2
    return True


def _block(state: "StateBlock", first: int, last: int, silent: bool) -> bool:
    if state.is_code_block(first):
        return False
    begin = state.bMarks[first] + state.tShift[first]
    if not state.src.startswith("\\[", begin):
        return False
    lines: list[str] = []
    for line in range(first, last):
        if state.isEmpty(line) or (line > first and state.sCount[line] < state.blkIndent):
            return False
        text = state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]]
        lines.append(text[2:] if line == first else text)
        if "\\]" in lines[-1]:
            content, _, rest = "\n".join(lines).partition("\\]")
            if rest.strip() or not content.strip():
                return False
            if not silent:
                state.line = line + 1
                token = state.push("math_block", "math", 0)
                token.block, token.content, token.markup = True, content, "\\["
                token.map = [first, state.line]
            return True
    return False
