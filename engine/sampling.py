"""Which token is drawn at a position.

Token t of a reply is drawn with noise keyed by (seed, t): y = argmax over v of (log p(v) + g(v)),
with g Gumbel noise of a counter-based generator and p the distribution after temperature, top-k,
top-p, min-p and penalties. The draw depends on the logits, the settings and t, and on nothing else,
so a text drawn in rounds of any width is the text drawn one token at a time, at any temperature.
Source of the argmax form: Gumbel-max trick (Maddison et al. 2014, "A* Sampling").
"""

from collections import Counter
from collections.abc import Sequence
from typing import cast

import mlx.core as mx

from engine.request import Sampling

_MASK64 = (1 << 64) - 1


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
        noise = [gumbel(sampling.seed, first + i, logits.shape[-1]) for i in range(logits.shape[0])]
        scores = scores + mx.stack(noise)
    return mx.argmax(scores, axis=-1), scores


def scored(logits: mx.array, sampling: Sampling, history: Sequence[int] = ()) -> mx.array:
    """Log-probabilities up to a constant, (n, vocab): penalties, temperature and cuts applied."""
    if sampling.has_penalties:
        logits = _penalised(logits.astype(mx.float32), sampling, history)
    if sampling.temperature == 0.0:
        return logits
    scores = logits.astype(mx.float32) / sampling.temperature
    if 0 < sampling.top_k < scores.shape[-1]:
        kth = mx.partition(scores, -sampling.top_k, axis=-1)[..., -sampling.top_k, None]
        scores = mx.where(scores < kth, -mx.inf, scores)
    if 0.0 < sampling.top_p < 1.0:
        scores = _nucleus(scores, sampling.top_p)
    if sampling.min_p > 0.0:
        best = scores.max(axis=-1, keepdims=True)
        scores = mx.where(scores < best + mx.log(mx.array(sampling.min_p)), -mx.inf, scores)
    return scores


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


def _nucleus(scores: mx.array, top_p: float) -> mx.array:
    """Cut all but the smallest set of tokens whose probability reaches `top_p`."""
    probs = mx.softmax(scores, axis=-1)
    ordered = mx.sort(probs, axis=-1)  # ascending
    below = mx.cumsum(ordered, axis=-1)
    # The smallest kept probability is the first at which what lies below no longer fits outside.
    kept = mx.where(below > 1.0 - top_p, ordered, mx.inf)
    return mx.where(probs < kept.min(axis=-1, keepdims=True), -mx.inf, scores)


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
