"""Which round wrote which text."""

from bisect import bisect_left, bisect_right

from engine.events import Round


class RoundMap:
    """Text spans and rounds of one answer, both by the reply's tokens.

    A span (start, end, last token) is a piece of the answer; what comes before the first span, as
    thinking, has no text here.
    """

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._tokens: list[int] = []  # the last token of each span
        self._rounds: list[int] = []  # the tokens written up to the end of each round

    def add_span(self, start: int, end: int, last_token: int) -> None:
        """Take in the next piece of text."""
        self._starts.append(start)
        self._ends.append(end)
        self._tokens.append(last_token)

    def add_round(self, round_: Round) -> None:
        """Take in the next round."""
        before = self._rounds[-1] if self._rounds else 0
        self._rounds.append(before + len(round_.committed_ids))

    def text_of(self, number: int) -> tuple[int, int]:
        """Start and end of the text that round `number` wrote; (0, 0) when it wrote none."""
        first = self._rounds[number - 1] if number else 0
        end = self._rounds[number]
        begin, finish = bisect_left(self._tokens, first), bisect_left(self._tokens, end)
        if begin == finish:  # its tokens became text together with a later one
            is_late = 0 < begin < len(self._tokens)
            return (self._starts[begin], self._ends[begin]) if is_late else (0, 0)
        return self._starts[begin], self._ends[finish - 1]

    def rounds_of(self, start: int, end: int) -> range:
        """The rounds that wrote the text from `start` to `end`."""
        begin, finish = bisect_right(self._ends, start), bisect_left(self._starts, end)
        if start >= end or begin >= finish:
            return range(0)
        first_token = self._tokens[begin - 1] + 1 if begin else self._tokens[begin]
        first = bisect_right(self._rounds, first_token)
        last = bisect_right(self._rounds, self._tokens[finish - 1])
        return range(first, min(last + 1, len(self._rounds)))
