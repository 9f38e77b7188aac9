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
SUM_ERROR = 1e-5  # rounding of a sum of many probabilities


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
    return cut(scores, lowest_kept(highest(scores, sampling), sampling))


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


def highest(scores: mx.array, sampling: Sampling) -> mx.array:
    """The scores ascending, (n, m): as many of the highest as the cuts have to see."""
    if 0.0 < sampling.top_p < 1.0:
        return mx.sort(scores, axis=-1)
    if 0 < sampling.top_k < scores.shape[-1]:
        at = -sampling.top_k - 1
        return mx.sort(mx.partition(scores, at, axis=-1)[..., at:], axis=-1)
    return scores.max(axis=-1, keepdims=True)


def lowest_kept(ordered: mx.array, sampling: Sampling, reach: float = 0.0) -> mx.array:
    """The score (n, 1) below which tokens are cut by top-k, top-p and min-p, in this order.

    Args:
        ordered: what `highest` gave.
        sampling: says what is cut.
        reach: how far two scores may move against each other; the result is then the lowest score
            that may belong to a token which is kept.
    """
    best = ordered[..., -1:]
    edge = mx.full(best.shape, -mx.inf)
    if 0 < sampling.top_k < ordered.shape[-1]:
        edge = ordered[..., -sampling.top_k, None] - reach
    if 0.0 < sampling.top_p < 1.0:
        # Kept is what is needed for the sum to reach top_p: that from which on the sum of all that
        # lies below no longer fits outside.
        weights = mx.where(ordered < edge, 0.0, mx.exp(ordered - best))
        below = mx.cumsum(weights, axis=-1) / weights.sum(axis=-1, keepdims=True)
        inside = mx.where(below > 1.0 - _looser(sampling.top_p, reach), ordered, best)
        edge = mx.maximum(edge, inside.min(axis=-1, keepdims=True) - reach)
    if sampling.min_p > 0.0:
        edge = mx.maximum(edge, best + math.log(sampling.min_p) - reach)
    return mx.minimum(edge, best)  # the best is always kept


def cut(scores: mx.array, edge: mx.array) -> mx.array:
    """The scores (n, vocab) with minus infinity for those below the edge (n, 1)."""
    return mx.where(scores < edge, -mx.inf, scores)


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
    return odds / (1.0 + odds) + SUM_ERROR


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
