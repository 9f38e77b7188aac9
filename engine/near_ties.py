"""How far a drawn token is from being another one, were the logits a little different.

Two passes of different widths may round their logits differently. A draw stands if no such
difference can change it: no rival comes near, and neither the token itself nor a rival that would
win stands near the edge of what top-k, top-p or min-p keep.
"""

import math
from collections.abc import Sequence

import mlx.core as mx

from engine.request import Sampling
from engine.sampling import (
    SUM_ERROR,
    draw,
    highest,
    lowest_kept,
    noise,
    tempered,
    top_two_gap,
)


def reach(margin: float, sampling: Sampling) -> float:
    """How far two scores move against each other when two logits do so by `margin`.

    Scores are logits over temperature; a repetition penalty multiplies or divides them.
    """
    factor = max(sampling.repetition_penalty, 1.0 / sampling.repetition_penalty)
    return margin * factor / (sampling.temperature or 1.0)


def draw_with_gaps(
    logits: mx.array, first: int, sampling: Sampling, history: Sequence[int], margin: float
) -> tuple[mx.array, mx.array]:
    """Draw as `sampling.draw` does, and say how far each draw is from another one.

    Returns:
        The ids (n,) and the gaps (n,) float32, distances of scores: to the best rival that may be
        kept, 0 where it is not sure that the token itself is. Compare them with `reach`.
    """
    if not sampling.has_cuts or margin == 0.0 or math.isinf(margin):
        ids, scores = draw(logits, first, sampling, history)
        return ids, top_two_gap(scores, ids)
    scores = tempered(logits, sampling, history)
    ordered = highest(scores, sampling)
    noisy = scores + noise(first, scores.shape[0], scores.shape[1], sampling)
    kept = scores >= lowest_kept(ordered, sampling)
    ids = mx.argmax(mx.where(kept, noisy, -mx.inf), axis=-1)
    far = reach(margin, sampling)
    may_be_kept = scores >= lowest_kept(ordered, sampling, far)
    gaps = top_two_gap(mx.where(may_be_kept, noisy, -mx.inf), ids)
    own = mx.take_along_axis(scores, ids[:, None], axis=-1)
    sure = _is_surely_kept(own, ordered, sampling, far)
    return ids, mx.where(sure, mx.maximum(gaps, 0.0), 0.0)


def _is_surely_kept(own: mx.array, ordered: mx.array, sampling: Sampling, far: float) -> mx.array:
    """Whether tokens of the scores `own` (n, 1) are kept wherever the logits may move, (n,)."""
    best = ordered[..., -1:]
    sure = mx.ones(own.shape, dtype=mx.bool_)
    may, must = mx.full(own.shape, -mx.inf), mx.full(own.shape, -mx.inf)
    if 0 < sampling.top_k < ordered.shape[-1]:
        # May and must be among the first k: from these scores on.
        may = ordered[..., -sampling.top_k, None] - far
        must = ordered[..., -sampling.top_k - 1, None] + far
        sure = sure & (own >= must)
    if 0.0 < sampling.top_p < 1.0:
        weights, weight = mx.exp(ordered - best), mx.exp(own - best)
        is_above = ordered > own - far
        above = mx.where(is_above & (ordered >= may), weights, 0.0).sum(axis=-1, keepdims=True)
        above = above - weight  # which is among them
        rest = mx.where(is_above | (ordered < must), 0.0, weights).sum(axis=-1, keepdims=True)
        share = above / (above + (rest + weight) * math.exp(-min(far, 60.0)))
        sure = sure & ((share < sampling.top_p - SUM_ERROR) | (above <= SUM_ERROR * weight))
    if sampling.min_p > 0.0:
        sure = sure & (own >= best + math.log(sampling.min_p) + far)
    return sure[:, 0]
