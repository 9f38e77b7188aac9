"""The rounds of a reply as one line of text."""

from collections.abc import Sequence

from engine.events import Finished, Round

_HEIGHTS = "▁▂▃▄▅▆▇█"
_PLAIN, _MISSED = "·", "○"
_TIMES = "\N{MULTIPLICATION SIGN}"


class Strip:
    """One sign a round: a dot is plain, a bar is as high as the guesses that were right."""

    def __init__(self) -> None:
        self._signs: list[str] = []
        self._tokens = 0

    def add(self, shown: Round) -> None:
        """Take in the next round."""
        self._signs.append(sign(shown))
        self._tokens += len(shown.committed_ids)

    def line(self, width: int) -> str:
        """The newest rounds that fit into `width` columns, with the tokens so far."""
        count = f" {self._tokens} tokens"
        room = max(1, width - len(count) - 1)
        return "".join(self._signs[-room:]) + count


def sign(shown: Round) -> str:
    """One character for one round."""
    if not shown.proposed_ids:
        return _PLAIN
    if not shown.accepted:
        return _MISSED
    return _HEIGHTS[min(shown.accepted, len(_HEIGHTS)) - 1]


def summary(finished: Finished) -> str:
    """The collapsed line: drafting, tokens per round, rate, time saved. Never rounded up."""
    parts = [f"Draft {finished.drafting}"]
    if finished.rounds:
        parts.append(f"{_down(len(finished.token_ids) / finished.rounds)} tokens per round")
    if finished.proposed:
        parts.append(f"{finished.accepted} of {finished.proposed} guesses right")
    if finished.tokens_per_s is not None:
        parts.append(f"{_down(finished.tokens_per_s)} tok/s")
    if finished.saved_s is not None:
        parts.append(_saved(finished.saved_s, finished.speedup))
    return " · ".join(parts)


def _saved(saved: Sequence[float], speedup: float | None) -> str:
    low, high = (_down(s) for s in saved)
    text = f"saved {low} s" if low == high else f"saved {low} to {high} s"
    return f"{text} ({_down(speedup)}{_TIMES})" if speedup is not None else text


def _down(value: float) -> str:
    """One decimal, rounded towards minus infinity."""
    return f"{value * 10 // 1 / 10:.1f}"
