"""Near-ties, by hand: what a small change of the logits can turn into another draw."""

import math

import mlx.core as mx
import numpy as np
import pytest

from engine.near_ties import draw_with_gaps, reach
from engine.request import Sampling
from engine.sampling import draw, gumbel

MARGIN = 0.01


def drawn(logits, sampling, margin=MARGIN, history=()):
    """The id drawn from one row, its gap, and whether it is a near-tie."""
    ids, gaps = draw_with_gaps(mx.array([logits]), 0, sampling, history, margin)
    assert ids.tolist() == draw(mx.array([logits]), 0, sampling, history)[0].tolist()
    return ids.item(), gaps.item(), gaps.item() < reach(margin, sampling)


def noise(sampling, vocab):
    return np.array(gumbel(sampling.seed, 0, vocab))


def seed_where(wanted, vocab, **fields):
    """A seed whose noise has what is wanted, and the settings with it."""
    for seed in range(10_000):
        sampling = Sampling(temperature=1.0, seed=seed, **fields)
        if wanted(noise(sampling, vocab)):
            return sampling
    raise AssertionError("no such seed")


def test_that_without_cuts_the_gap_is_that_of_the_two_best_scores():
    logits = [1.0, 0.2, -3.0]
    assert drawn(logits, Sampling())[1] == pytest.approx(0.8)
    sampling = Sampling(temperature=2.0, seed=4)
    best, second = sorted(np.array(logits) / 2 + noise(sampling, 3))[:-3:-1]
    assert drawn(logits, sampling)[1] == pytest.approx(best - second, rel=1e-4)


def test_that_a_low_temperature_and_a_penalty_widen_the_reach():
    # At temperature T a logit's change moves its score by 1/T of it; a penalty multiplies it.
    assert reach(0.01, Sampling()) == 0.01
    assert reach(0.01, Sampling(temperature=0.1)) == pytest.approx(0.1)
    assert reach(0.01, Sampling(temperature=0.5, repetition_penalty=2.0)) == pytest.approx(0.04)
    assert reach(0.01, Sampling(repetition_penalty=0.5)) == pytest.approx(0.02)


@pytest.mark.parametrize("temperature", [0.1, 0.7, 1.5])
def test_that_a_near_tie_is_one_of_logits_whatever_the_temperature(temperature):
    sampling = Sampling(temperature=temperature, seed=2)
    first, second = noise(sampling, 2).tolist()
    level = temperature * (first - second)  # the second logit with which both scores are equal
    for apart, is_near in ((0.009, True), (0.011, False)):
        token, gap, near = drawn([0.0, level + apart], sampling)
        assert (token, near) == (1, is_near)
        assert gap == pytest.approx(apart / temperature, abs=1e-5)


def edge_of_top_p(sampling_of, below):
    """Three tokens; the third stands at the edge of top-p 0.8, inside or outside of it."""
    # Kept is what has less than 0.8 above it: the third token has p0 + p1 = 0.8 -+ 0.001.
    share = 0.8 + (-0.001 if below else 0.001)
    probs = [0.5, share - 0.5, 1.0 - share]
    logits = [math.log(p) for p in probs]
    return logits, sampling_of(top_p=0.8)


def test_that_a_rival_just_outside_the_nucleus_counts_if_it_would_win():
    def wins(noise):  # the third token would win by far, were it kept
        return noise[2] - 3 > max(noise[:2])

    logits, sampling = edge_of_top_p(lambda **cut: seed_where(wins, 3, **cut), below=False)
    token, gap, near = drawn(logits, sampling)
    assert token in (0, 1)  # it is cut
    assert (gap, near) == (0.0, True)
    # The very change that is feared: the first two lose a little, and the third is drawn.
    moved = [logits[0] - MARGIN / 2, logits[1] - MARGIN / 2, logits[2] + MARGIN / 2]
    assert drawn(moved, sampling, 0.0)[0] == 2
    assert not drawn(logits, sampling, margin=1e-4)[2]  # log-odds of 0.8 and 0.801: 0.0062 apart


def test_that_a_rival_just_outside_the_nucleus_does_not_count_if_it_would_lose():
    def loses(noise):
        return noise[2] + 3 < max(noise[:2]) and abs(noise[0] - noise[1]) > 3

    logits, sampling = edge_of_top_p(lambda **cut: seed_where(loses, 3, **cut), below=False)
    token, gap, near = drawn(logits, sampling)
    scores = np.sort(np.array(logits) + noise(sampling, 3))
    assert token in (0, 1)
    assert gap == pytest.approx(scores[-1] - scores[-2], rel=1e-4)
    assert not near


def test_that_a_winner_just_inside_the_nucleus_is_a_near_tie():
    def wins(noise):
        return noise[2] - 3 > max(noise[:2])

    logits, sampling = edge_of_top_p(lambda **cut: seed_where(wins, 3, **cut), below=True)
    token, gap, near = drawn(logits, sampling)
    assert token == 2
    assert (gap, near) == (0.0, True)
    moved = [logits[0] + MARGIN / 2, logits[1] + MARGIN / 2, logits[2] - MARGIN / 2]
    assert drawn(moved, sampling, 0.0)[0] != 2
    assert not drawn(logits, sampling, margin=1e-4)[2]


@pytest.mark.parametrize(
    ("cut", "logits"),
    [
        # The second and third token are 0.004 apart, at the edge of the two best.
        ({"top_k": 2}, [1.0, 0.004, 0.0]),
        # The third has 0.1 of the best's probability, a little more or less.
        ({"min_p": 0.1}, [1.0, 0.5, 1.0 + math.log(0.1) - 0.004]),
        # All three: the nucleus is that of the two best alone.
        ({"top_k": 2, "top_p": 0.999, "min_p": 1e-6}, [1.0, 0.004, 0.0]),
    ],
    ids=["top-k", "min-p", "together"],
)
def test_that_the_edges_of_the_other_cuts_count_too(cut, logits):
    def wins(noise):
        return noise[2] - 4 > max(noise[:2])

    sampling = seed_where(wins, 3, **cut)
    token, _, near = drawn(logits, sampling)
    assert token != 2
    assert near
    assert not drawn(logits, sampling, margin=1e-4)[2]
    inside = [*logits[:2], logits[2] + 0.008]
    assert drawn(inside, sampling)[0] == 2
    assert drawn(inside, sampling)[2]
    assert not drawn(inside, sampling, margin=1e-4)[2]


def test_that_one_token_of_nearly_all_probability_is_no_near_tie():
    # Nothing else could be kept, however it is cut.
    for cut in ({"top_p": 0.5}, {"top_k": 1}, {"min_p": 0.5}, {"top_p": 1e-9}):
        token, gap, near = drawn([20.0, 0.0, 1.0], Sampling(temperature=1.0, **cut))
        assert (token, gap, near) == (0, math.inf, False)


def test_that_where_nothing_was_measured_no_gap_is_wide_enough():
    sampling = Sampling(temperature=1.0, top_k=1)
    ids, gaps = draw_with_gaps(mx.array([[3.0, 0.0]]), 0, sampling, (), math.inf)
    assert (ids.item(), gaps.item()) == (0, math.inf)


@pytest.mark.parametrize("dtype", [mx.float32, mx.bfloat16, mx.float16], ids=str)
@pytest.mark.parametrize(
    "cut",
    [{"top_p": 0.9}, {"top_k": 5}, {"min_p": 0.05}, {"top_k": 12, "top_p": 0.8, "min_p": 0.02}],
    ids=str,
)
def test_that_no_change_within_the_margin_turns_a_draw_that_is_not_near(cut, dtype):
    """Logits moved at random, and to the ends of what is allowed, as in two kinds of passes."""
    random, margin, rows = np.random.default_rng(5), 0.05, 400
    sampling = Sampling(temperature=0.7, seed=1, **cut)
    logits = mx.array(random.normal(size=(rows, 40)).astype(np.float32) * 2).astype(dtype)
    ids, gaps = draw_with_gaps(logits, 0, sampling, (), margin)
    near = np.array(gaps) < reach(margin, sampling)
    turned = np.zeros(rows, dtype=bool)
    for attempt in range(40):
        moves = random.choice([-1, 1], size=(rows, 40)) * margin / 2
        if attempt % 2:
            moves *= random.random((rows, 40))
        moved = logits.astype(mx.float32) + mx.array(moves.astype(np.float32))
        turned |= np.array(draw(moved, 0, sampling)[0]) != np.array(ids)
    assert not (turned & ~near).any()
    assert turned.sum() > 5  # the moves do turn draws
    assert near.mean() < 0.4  # and most draws are not near
