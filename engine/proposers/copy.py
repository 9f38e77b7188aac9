"""PromptCopy: guesses that the text goes on as it did after the same tokens before.

No weights. Source of the idea: prompt lookup decoding (Saxena 2023); here the longest match wins
and the number of drafts follows the length of the match.
"""

from collections.abc import Sequence
from dataclasses import dataclass

SHORTEST = 2  # tokens that must match; one less than a copy needs tells when none can come next
_LONGEST = 64  # tokens that are compared
_PLACES = 32  # earlier places remembered for one n-gram


@dataclass(frozen=True, slots=True)
class Match:
    """The last `length` tokens also stand before position `at`; `length` stops at 64."""

    length: int
    at: int


class PromptCopy:
    """An index of the n-grams of one text that follows it as it grows and shrinks."""

    def __init__(self) -> None:
        self._tokens: list[int] = []
        self._places: dict[tuple[int, ...], list[int]] = {}

    def follow(self, tokens: Sequence[int]) -> None:
        """Bring the index up to `tokens`, which begins with what was followed before."""
        for token in tokens[len(self._tokens) :]:
            self._append(token)

    def forget(self, length: int) -> None:
        """Drop the tokens from position `length` on."""
        while len(self._tokens) > length:
            self._tokens.pop()
            gram = tuple(self._tokens[-SHORTEST:])
            places = self._places.get(gram)
            if places and places[-1] == len(self._tokens):
                places.pop()

    def match(self) -> Match | None:
        """The longest earlier occurrence of the newest tokens, the most recent of equals."""
        best: Match | None = None
        for at in reversed(self._places.get(tuple(self._tokens[-SHORTEST:]), ())):
            length = self._common(at)
            if best is None or length > best.length:
                best = Match(length, at)
            if length >= _LONGEST:
                break
        return best

    def continuation(self, match: Match, k: int) -> list[int]:
        """Up to `k` tokens that followed the match; a run that repeats itself is unrolled."""
        period = len(self._tokens) - match.at
        return [self._tokens[match.at + i % period] for i in range(k)]

    def _append(self, token: int) -> None:
        at = len(self._tokens)
        if at >= SHORTEST:
            places = self._places.setdefault(tuple(self._tokens[-SHORTEST:]), [])
            places.append(at)
            if len(places) > _PLACES:
                del places[0]
        self._tokens.append(token)

    def _common(self, at: int) -> int:
        """How many tokens before `at` equal the newest ones."""
        tokens, end = self._tokens, len(self._tokens)
        length = SHORTEST
        while length < min(at, _LONGEST) and tokens[at - 1 - length] == tokens[end - 1 - length]:
            length += 1
        return length
