"""How far a drawn token is from being another one, were the logits a little different.

Two passes of different widths may round their logits differently. A draw stands if no such
difference can change it: no rival comes near, and neither the token itself nor a rival that would
win stands near the edge of what top-k, top-p or min-p keep.
"""

import math
from collections.abc import Sequence

import mlx.core as mx

from engine.request import Sampling
from engine.sampling import Cuts, draw, noise, tempered, top_two_gap


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
    noisy = scores + noise(first, scores.shape[0], scores.shape[1], sampling)
    far = reach(margin, sampling)
    cuts = Cuts(scores, sampling, far)
    ids = mx.argmax(cuts.kept(noisy), axis=-1)
    gaps = top_two_gap(cuts.kept(noisy, far), ids)
    own = mx.take_along_axis(scores, ids[:, None], axis=-1)
    return ids, mx.where(cuts.keeps_surely(own, far), mx.maximum(gaps, 0.0), 0.0)
