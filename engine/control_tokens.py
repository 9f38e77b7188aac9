"""Control tokens: the template's own are obeyed, the same characters in a person's text are not."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import cast

from tokenizers import AddedToken
from tokenizers import Tokenizer as Vocabulary
from tokenizers.pre_tokenizers import Metaspace, PreTokenizer
from tokenizers.pre_tokenizers import Sequence as Several

from engine.thinking import TAGS

_PRIVATE = range(0xE000, 0xF900)  # Unicode's private use area


class ControlTokens:
    """The tokens that open and end turns, and text encoded with and without them.

    Beside the special tokens these are the added ones that the template writes: some models mark
    the tokens of their turns as ordinary. Thinking tags open and end no turn.
    """

    def __init__(self, vocabulary: Vocabulary, template: str) -> None:
        self._vocabulary = vocabulary
        added = vocabulary.get_added_tokens_decoder()
        self._found: dict[str, tuple[int, AddedToken]] = {
            str(token.content): (i, token)
            for i, token in added.items()
            if token.special or _is_written(str(token.content), template)
        }
        self._ids = {i for i, _ in self._found.values()}
        loose = [c for c, (_, token) in self._found.items() if not token.special]
        # Where to cut such a token's characters, so that the vocabulary does not see them whole.
        cuts = [f"(?<={re.escape(c[0])})(?={re.escape(c[1:])})" for c in loose]
        self._cuts = re.compile("|".join(cuts)) if cuts else None
        self._metaspaces = [(m, m.prepend_scheme) for m in _metaspaces(vocabulary.pre_tokenizer)]

    def hiding(self, texts: Iterable[str], template: str) -> "Shield":
        """What hides the control tokens in `texts` from `template` and from the vocabulary."""
        everything = "\n".join(texts)
        found = sorted((c for c in self._found if c in everything), key=len, reverse=True)
        used = {*everything, *template}
        free = (chr(p) for p in _PRIVATE if chr(p) not in used)
        return Shield(dict(zip(found, free, strict=False)))

    def encode(self, text: str, shield: "Shield") -> list[int]:
        """Ids of a rendered text: the template's control tokens, all else as it was written."""
        sections = list(self._sections(text))
        if not shield.used:
            self._set(obeyed=True)
            ids = self._vocabulary.encode(text, add_special_tokens=False).ids
            # The vocabulary may find more where it normalises: "<|IM_END|>", wide brackets.
            if sum(i in self._ids for i in ids) == sum(bool(control) for *_, control in sections):
                return ids
        ids: list[int] = []
        for start, end, control in sections:
            if control:
                ids.append(self._found[control][0])
            elif start < end:
                ids += self.encode_as_text(shield.reveal(text[start:end]), begins=start == 0)
        return ids

    def encode_as_text(self, text: str, *, begins: bool = True) -> list[int]:
        """Ids in which no control token is obeyed. `begins`: nothing stands before the text."""
        ids: list[int] = []
        cuts = [m.start() for m in self._cuts.finditer(text)] if self._cuts else []
        for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True):
            self._set(obeyed=False, begins=begins and not start, inside=start > 0)
            ids += self._vocabulary.encode(text[start:end], add_special_tokens=False).ids
        self._set(obeyed=True)
        return ids

    def last(self, text: str, limit: int) -> int:
        """Where the last control token of `text` begins that ends before `limit`; else 0."""
        at = 0
        for start, end, control in self._sections(text):
            if end > limit:
                break
            if control and not self._found[control][1].lstrip:
                at = start
        return at

    def _sections(self, text: str) -> Iterator[tuple[int, int, str]]:
        """(start, end, control token) and, between them, (start, end, "")."""
        present = sorted((c for c in self._found if c in text), key=len, reverse=True)
        forms = [_form(c, self._found[c][1]) for c in present]
        done = 0
        for match in re.finditer("|".join(forms), text) if forms else ():
            assert match.lastindex is not None
            yield done, match.start(), ""
            yield match.start(), match.end(), present[match.lastindex - 1]
            done = match.end()
        yield done, len(text), ""

    def _set(self, *, obeyed: bool, begins: bool = True, inside: bool = False) -> None:
        """How the vocabulary treats the next text: its control tokens, and a space before it."""
        self._vocabulary.encode_special_tokens = not obeyed
        for metaspace, scheme in self._metaspaces:
            joined = inside or (scheme == "first" and not begins)
            metaspace.prepend_scheme = "never" if joined else scheme


class Shield:
    """One private character for each control token in the texts of a conversation.

    The template sees the text as it is but for these; transforming it harms nothing.
    """

    def __init__(self, marks: Mapping[str, str]) -> None:
        self._marks = marks

    @property
    def used(self) -> bool:
        """Whether anything had to be hidden."""
        return bool(self._marks)

    def hide(self, text: str) -> str:
        """`text` with the private characters."""
        for control, mark in self._marks.items():
            text = text.replace(control, mark)
        return text

    def reveal(self, text: str) -> str:
        """`text` with the control tokens written out again."""
        for control, mark in self._marks.items():
            text = text.replace(mark, control)
        return text


def common(a: Sequence[object], b: Sequence[object]) -> int:
    """How many leading ids, or characters, two of them share."""
    for index, (x, y) in enumerate(zip(a, b, strict=False)):
        if x != y:
            return index
    return min(len(a), len(b))


def _is_written(content: str, template: str) -> bool:
    tag = any(content in pair for pair in TAGS)
    return len(content) > 1 and not content.isspace() and not tag and content in template


def _form(content: str, token: AddedToken) -> str:
    """The pattern of a control token; some take the white space beside them."""
    before, after = r"\s*" if token.lstrip else "", r"\s*" if token.rstrip else ""
    return f"{before}({re.escape(content)}){after}"


def _metaspaces(pre_tokenizer: PreTokenizer | None) -> list[Metaspace]:
    """The parts that put a space before a text."""
    if isinstance(pre_tokenizer, Several):
        parts = cast("Iterable[PreTokenizer]", pre_tokenizer)  # the stub knows only __getitem__
        return [part for part in parts if isinstance(part, Metaspace)]
    return [pre_tokenizer] if isinstance(pre_tokenizer, Metaspace) else []
