"""Which token is drawn at a position.

Token t of a reply is drawn with noise keyed by (seed, t): y = argmax over v of (log p(v) + g(v)),
with g Gumbel noise of a counter-based generator and p the distribution after temperature, top-k,
top-p, min-p and penalties. The draw depends on the logits, the settings and t, and on nothing else,
so a text drawn in rounds of any width is the text drawn one token at a time, at any temperature.
Source of the argmax form: Gumbel-max trick (Maddison et al. 2014, "A* Sampling").
"""

import math
from collections import Counter
from collections.abc import Sequence
from typing import cast

import mlx.core as mx

from engine.request import Sampling

_MASK64 = (1 << 64) - 1
_FAR = 60.0  # a distance of scores so large that more makes no difference
_SUM_ERROR = 1e-5  # rounding of a sum of many probabilities


def draw(
    logits: mx.array, first: int, sampling: Sampling, history: Sequence[int] = ()
) -> tuple[mx.array, mx.array]:
    """Draw one token a row, row i being token `first + i` of the reply.

    Args:
        logits: (n, vocab) of consecutive positions.
        first: the reply's index of the token that row 0 draws.
        sampling: how to draw.
        history: tokens before row 0's draw, then the drafts that rows 1.. follow; read by
            penalties only, so its length is (tokens before row 0's draw) + n - 1.

    Returns:
        The ids (n,) uint32 and the scores (n, vocab) float32 that were compared. Ties go to the
        lowest id. Not evaluated.
    """
    scores = scored(logits, sampling, history)
    if sampling.temperature > 0.0:
        scores = scores + noise(first, scores.shape[0], scores.shape[1], sampling)
    return mx.argmax(scores, axis=-1), scores


def scored(logits: mx.array, sampling: Sampling, history: Sequence[int] = ()) -> mx.array:
    """Log-probabilities up to a constant, (n, vocab): penalties, temperature and cuts applied."""
    scores = tempered(logits, sampling, history)
    if not sampling.has_cuts:
        return scores
    return Cuts(scores, sampling).kept(scores)


def tempered(logits: mx.array, sampling: Sampling, history: Sequence[int] = ()) -> mx.array:
    """The scores (n, vocab) before any is cut: penalties and temperature applied."""
    if sampling.has_penalties:
        logits = _penalised(logits.astype(mx.float32), sampling, history)
    if sampling.temperature == 0.0:
        return logits
    return logits.astype(mx.float32) / sampling.temperature


def noise(first: int, n: int, vocab: int, sampling: Sampling) -> mx.array:
    """The noise (n, vocab) of `n` tokens of a reply from `first` on."""
    return mx.stack([gumbel(sampling.seed, first + i, vocab) for i in range(n)])


class Cuts:
    """What top-k, top-p and min-p keep, in this order, of rows of scores (n, vocab).

    `reach` says how far two scores may move against each other, `farthest` is the largest of them
    that will be asked for.
    """

    def __init__(self, scores: mx.array, sampling: Sampling, farthest: float = 0.0) -> None:
        self._scores, self._sampling = scores, sampling
        self._has_top_p = 0.0 < sampling.top_p < 1.0
        self._has_top_k = 0 < sampling.top_k < scores.shape[-1]
        self._best = scores.max(axis=-1, keepdims=True)
        self._weights = mx.exp(scores - self._best)
        self._total = self._weights.sum(axis=-1, keepdims=True)
        if self._has_top_k:
            at = -sampling.top_k - 1
            highest = mx.sort(mx.partition(scores, at, axis=-1)[..., at:], axis=-1)
            self._first_out, self._last_in = highest[..., :1], highest[..., 1:2]
        if self._has_top_p:
            # Tokens so light that all of them together are less than half of what stays outside
            # need no order, and a row that is mostly alike is sorted four times faster.
            outside = 1.0 - _looser(sampling.top_p, farthest)
            self._is_light = self._weights < 0.5 * outside / scores.shape[-1]
            self._ordered = mx.sort(mx.where(self._is_light, 0.0, self._weights), axis=-1)
            if not self._has_top_k:
                self._below = self._sums_below(self._weights, self._ordered)

    def kept(self, values: mx.array, reach: float = 0.0) -> mx.array:
        """`values` (n, vocab), -inf where a token is cut that no such move would bring in."""
        edges: list[mx.array] = []
        if self._has_top_k:
            edges.append(self._last_in - reach)
        if self._sampling.min_p > 0.0:
            edges.append(self._best + math.log(self._sampling.min_p) - reach)
        for edge in edges:
            values = mx.where(self._scores < edge, -mx.inf, values)
        if self._has_top_p:
            lightest = self._lightest(reach) * math.exp(-min(reach, _FAR))
            values = mx.where(self._weights < lightest, -mx.inf, values)
        return values

    def _lightest(self, reach: float) -> mx.array:
        """The least weight (n, 1) that top-p may keep, of those that top-k may."""
        ordered, total = self._ordered, self._total
        if self._has_top_k:
            least = mx.exp(self._last_in - reach - self._best)
            weights = mx.where(self._weights < least, 0.0, self._weights)
            ordered = mx.where(ordered < least, 0.0, ordered)
            total, below = weights.sum(axis=-1, keepdims=True), self._sums_below(weights, ordered)
        else:
            below = self._below
        # Kept is what is needed for the sum to reach top_p: that from which on the sum of all that
        # lies below no longer fits outside.
        is_inside = below > (1.0 - _looser(self._sampling.top_p, reach)) * total
        return mx.where(is_inside, ordered, 1.0).min(axis=-1, keepdims=True)

    def _sums_below(self, weights: mx.array, ordered: mx.array) -> mx.array:
        """The sum (n, vocab) of all weights up to each of the ordered ones, itself included."""
        light = mx.where(self._is_light, weights, 0.0).sum(axis=-1, keepdims=True)
        return light + mx.cumsum(ordered, axis=-1)

    def keeps_surely(self, own: mx.array, reach: float) -> mx.array:
        """Whether tokens of the scores `own` (n, 1) are kept however the scores move, (n,)."""
        sure = mx.ones(own.shape, dtype=mx.bool_)
        is_above = self._scores > own - reach
        if self._has_top_k:
            must = self._first_out + reach  # from here on a token is among the first k, surely
            sure = sure & (own >= must)
        if self._has_top_p:
            weight = mx.exp(own - self._best)
            above, rest = self._around(is_above, reach)
            above = above - weight  # which is among them
            share = above / (above + (rest + weight) * math.exp(-min(reach, _FAR)))
            is_inside = share < self._sampling.top_p - _SUM_ERROR
            sure = sure & (is_inside | (above <= _SUM_ERROR * weight))
        if self._sampling.min_p > 0.0:
            sure = sure & (own >= self._best + math.log(self._sampling.min_p) + reach)
        return sure[:, 0]

    def _around(self, is_above: mx.array, reach: float) -> tuple[mx.array, mx.array]:
        """The most weight that top-k may keep above a token, and the least below it, (n, 1)."""
        weights = mx.where(is_above, self._weights, 0.0)
        if not self._has_top_k:
            above = weights.sum(axis=-1, keepdims=True)
            return above, self._total - above
        above = mx.where(self._scores >= self._last_in - reach, weights, 0.0)
        is_below = mx.logical_not(is_above) & (self._scores >= self._first_out + reach)
        below = mx.where(is_below, self._weights, 0.0)
        return above.sum(axis=-1, keepdims=True), below.sum(axis=-1, keepdims=True)


def gumbel(seed: int, index: int, vocab: int) -> mx.array:
    """The noise (vocab,) float32 of token `index` of a reply; drafters draw with the same."""
    return mx.random.gumbel((vocab,), key=mx.random.key(_mixed(seed, index)))


def top_two_gap(scores: mx.array, best: mx.array) -> mx.array:
    """How far each row's best score is from its second: (n,), for scores (n, vocab)."""
    top = mx.take_along_axis(scores, best[:, None], axis=-1)
    ids = mx.arange(scores.shape[-1], dtype=best.dtype)
    second = mx.where(ids[None] == best[:, None], -mx.inf, scores).max(axis=-1)
    return (top[:, 0] - second).astype(mx.float32)


def finite(logits: mx.array) -> mx.array:
    """Whether each row (n, vocab) is free of NaN and infinities, as (n,) float32 of 0 and 1."""
    return mx.isfinite(logits.astype(mx.float32).sum(axis=-1)).astype(mx.float32)


def to_host(packed: mx.array) -> list[float]:
    """Wait for a float32 vector; the only place where a round's results leave the device.

    Ids below 2**24 survive the float exactly; no vocabulary is larger.
    """
    return cast("list[float]", packed.tolist())


def _looser(top_p: float, reach: float) -> float:
    """`top_p` with its odds multiplied by exp(reach): a sum of that share may reach it."""
    if reach == 0.0:
        return top_p
    odds = top_p / (1.0 - top_p) * math.exp(min(reach, _FAR))
    return odds / (1.0 + odds) + _SUM_ERROR


def _penalised(logits: mx.array, sampling: Sampling, history: Sequence[int]) -> mx.array:
    """Apply the penalties row by row, each over the tokens before its own draw."""
    n, vocab = logits.shape
    rows: list[mx.array] = []
    for i in range(n):
        seen = history[: len(history) - (n - 1 - i)][-sampling.repetition_window :]
        counts = Counter(token for token in seen if 0 <= token < vocab)
        row = logits[i]
        if counts:
            ids = mx.array(list(counts), dtype=mx.uint32)
            many = mx.array(list(counts.values()), dtype=mx.float32)
            old = row[ids]
            factor = sampling.repetition_penalty
            new = mx.where(old < 0, old * factor, old / factor)
            new = new - sampling.presence_penalty - sampling.frequency_penalty * many
            row = mx.put_along_axis(row, ids, new, axis=0)
        rows.append(row)
    return mx.stack(rows)


def _mixed(seed: int, index: int) -> int:
    """One 64-bit key a (seed, index), by the finaliser of SplitMix64 (Steele et al. 2014)."""
    z = (seed * 0x9E3779B97F4A7C15 + index + 1) * 0xBF58476D1CE4E5B9 & _MASK64
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & _MASK64
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & _MASK64
    return z ^ (z >> 31)
