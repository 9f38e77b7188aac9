import math

import mlx.core as mx
import numpy as np
import pytest

from engine.request import Sampling
from engine.sampling import draw, finite, gumbel, scored, top_two_gap

LOGITS = [2.0, 1.0, 0.5, -1.0, 0.0]


def kept(sampling):
    scores = np.array(scored(mx.array([LOGITS]), sampling))[0]
    return [i for i, s in enumerate(scores) if s > -math.inf]


def test_that_greedy_ties_go_to_the_lowest_id():
    ids, _ = draw(mx.array([[0.0, 3.0, 3.0, 1.0]]), 0, Sampling())
    assert ids.tolist() == [1]


def test_that_the_noise_is_gumbel_and_depends_on_seed_and_index_alone():
    noise = np.array(gumbel(7, 3, 200_000))
    assert np.array_equal(noise, np.array(gumbel(7, 3, 200_000)))
    assert not np.array_equal(noise, np.array(gumbel(7, 4, 200_000)))
    assert not np.array_equal(noise, np.array(gumbel(8, 3, 200_000)))
    # Mean and variance of the standard Gumbel distribution: Euler's constant and pi^2 / 6.
    assert abs(noise.mean() - 0.5772156649) < 0.01
    assert abs(noise.var() - math.pi**2 / 6) < 0.02


def test_that_draws_follow_the_tempered_distribution():
    sampling = Sampling(temperature=0.5, seed=1)
    n = 4000
    ids, _ = draw(mx.array([LOGITS] * n), 0, sampling)
    counts = np.bincount(np.array(ids), minlength=5) / n
    weights = np.exp(np.array(LOGITS) / 0.5)
    assert np.abs(counts - weights / weights.sum()).max() < 0.02


def test_that_the_cuts_keep_what_they_name():
    probs = np.exp(LOGITS) / np.exp(LOGITS).sum()  # .563 .207 .126 .028 .076
    assert kept(Sampling(temperature=1.0, top_k=2)) == [0, 1]
    assert kept(Sampling(temperature=1.0, top_p=0.5)) == [0]
    assert kept(Sampling(temperature=1.0, top_p=0.6)) == [0, 1]
    assert kept(Sampling(temperature=1.0, top_p=0.8)) == [0, 1, 2]
    assert kept(Sampling(temperature=1.0, min_p=0.2)) == [
        i for i, p in enumerate(probs) if p >= 0.2 * probs.max()
    ]
    assert kept(Sampling(temperature=1.0)) == [0, 1, 2, 3, 4]


def nucleus(scores, sampling):
    """What is kept of one row, in float64 and by sorting all of it."""
    order = np.argsort(-scores)[: sampling.top_k or None]
    weights = np.exp(scores[order] - scores[order[0]])
    above = np.cumsum(weights) - weights
    return set(order[above < sampling.top_p * weights.sum()].tolist())


@pytest.mark.parametrize("spread", [0.05, 2.0, 6.0])
@pytest.mark.parametrize("top_p", [0.1, 0.5, 0.95, 0.9999])
@pytest.mark.parametrize("top_k", [0, 40])
def test_that_the_nucleus_of_a_large_vocabulary_is_that_of_a_whole_sort(spread, top_p, top_k):
    scores = np.random.default_rng(5).normal(0, spread, (3, 49_152)).astype(np.float32)
    sampling = Sampling(temperature=1.0, top_p=top_p, top_k=top_k)
    found = np.array(scored(mx.array(scores), sampling)) > -np.inf
    for row, is_kept in zip(scores.astype(np.float64), found, strict=True):
        right = nucleus(row, sampling)
        differing = right ^ set(np.flatnonzero(is_kept).tolist())
        weights = np.exp(row - row.max())
        # Sums of float32 may disagree about a token at the very edge.
        assert weights[list(differing)].sum() <= 2e-5 * weights.sum()


def test_that_a_row_is_drawn_alike_alone_and_among_others():
    mx.random.seed(0)
    logits = mx.random.normal((6, 1000))
    sampling = Sampling(temperature=0.9, top_p=0.9, seed=3)
    together, _ = draw(logits, 10, sampling)
    alone = [draw(logits[i : i + 1], 10 + i, sampling)[0].item() for i in range(6)]
    assert together.tolist() == alone


def test_that_penalties_are_those_of_the_formula():
    sampling = Sampling(
        repetition_penalty=2.0, presence_penalty=0.25, frequency_penalty=0.5, repetition_window=4
    )
    scores = np.array(scored(mx.array([LOGITS]), sampling, [4, 0, 3, 3, 1]))[0]
    expected = [2.0 / 2 - 0.25 - 0.5, 1.0 / 2 - 0.25 - 0.5, 0.5, -1.0 * 2 - 0.25 - 1.0, 0.0]
    assert np.allclose(scores, expected)


def test_that_the_gap_is_between_the_two_best():
    scores = mx.array([[1.0, 4.0, 2.5], [3.0, 3.0, -math.inf], [-math.inf, 1.0, -math.inf]])
    gaps = top_two_gap(scores, mx.argmax(scores, axis=-1))
    assert gaps.tolist() == [1.5, 0.0, math.inf]


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_that_a_row_with_a_bad_number_is_found(bad):
    rows = mx.array([[1.0, 2.0, 3.0], [1.0, bad, 3.0]])
    assert finite(rows).tolist() == [1.0, 0.0]
