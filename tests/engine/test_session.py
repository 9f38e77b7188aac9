"""Rounds of every shape. The oracle is uncached: the whole text is fed anew for each token."""

import mlx.core as mx
import pytest

from engine.errors import BadNumbers
from engine.proposers import Proposal
from engine.request import Sampling
from engine.sampling import draw
from engine.session import Session
from engine.target import Target
from support.tiny import P, tiny, tiny_config, uncached


class Scripted:
    """Proposes the true continuation with every `period`-th token wrong."""

    def __init__(self, truth, period):
        self.truth, self.period = truth, period

    def ids(self, at, k):
        own = self.truth[at : at + k]
        own += [0] * (k - len(own))
        return [
            (t + 1) % 64 if self.period and (at + i) % self.period == self.period - 1 else t
            for i, t in enumerate(own)
        ]


def target(seed=3, window=None):
    return Target(tiny(seed, window=window), tiny_config(window=window))


def started(model, prompt, sampling, chunk=512):
    session = Session(model)
    for at in range(0, len(prompt) - 1, chunk):
        session.feed(prompt[at : min(at + chunk, len(prompt) - 1)])
    session.begin(prompt[-1], sampling)
    return session


def write(session, n, proposer, widths, pipeline=False, margin=0.0):
    """`n` tokens in rounds of the given numbers of drafts, in turn; 0 is plain."""
    steps = []
    while session.drawn < n:
        k = min(widths[len(steps) % len(widths)], n - session.drawn - 1)
        if k <= 0 or session.is_ahead:
            steps.append(session.plain(pipeline=pipeline and session.drawn + 2 < n))
        else:
            ids = mx.array(proposer.ids(session.drawn, k), dtype=mx.uint32)
            steps.append(session.drafted(Proposal("copy", ids), 0.0, margin))
        ahead = 1 if session.is_ahead else 0
        assert session.cache.length == len(session.tokens) - 1 + ahead
    return steps


def sampled_uncached(model, prompt, n, sampling):
    tokens = list(prompt)
    for i in range(n):
        logits = model(mx.array([tokens]))[0, -1:]
        ids, _ = draw(logits, i, sampling, tokens)
        tokens.append(int(ids[0].item()))
    return tokens[len(prompt) :]


@pytest.mark.parametrize("period", [0, 1, 2, 3, 5], ids=lambda p: f"wrong-every-{p}")
@pytest.mark.parametrize("widths", [[0], [1], [4], [7], [0, 3, 5], [0, 0, 0, 6]], ids=str)
def test_that_the_text_does_not_depend_on_the_proposals(widths, period):
    truth = uncached(tiny(3), P, 40)
    session = started(target(), P, Sampling())
    write(session, 40, Scripted(truth, period), widths, pipeline=True)
    assert session.tokens[len(P) :] == truth


@pytest.mark.parametrize("window", [16, 32])
@pytest.mark.parametrize("times", [1, 4], ids=["short-prompt", "long-prompt"])
@pytest.mark.parametrize("period", [1, 3])
def test_that_a_sliding_window_takes_back_exactly(window, times, period):
    # Case O-01.
    truth = uncached(tiny(3, window=window), P * times, 40)
    if (window, times) == (16, 1):
        assert truth[:8] == [60, 16, 3, 40, 26, 27, 51, 60]
    for chunk in (512, 7):
        session = started(target(window=window), P * times, Sampling(), chunk)
        write(session, 40, Scripted(truth, period), [4, 0, 2], pipeline=True)
        assert session.tokens[len(P) * times :] == truth


@pytest.mark.parametrize("temperature", [0.7, 1.0])
@pytest.mark.parametrize("widths", [[1], [5], [0, 3]], ids=str)
def test_that_sampled_text_does_not_depend_on_the_proposals(temperature, widths):
    sampling = Sampling(temperature=temperature, top_p=0.9, top_k=40, min_p=0.01, seed=11)
    truth = sampled_uncached(tiny(3), P, 40, sampling)
    for period in (0, 1, 3):
        session = started(target(), P, sampling)
        write(session, 40, Scripted(truth, period), widths, pipeline=True)
        assert session.tokens[len(P) :] == truth


@pytest.mark.parametrize(
    "sampling",
    [
        Sampling(repetition_penalty=1.3, repetition_window=20),
        Sampling(presence_penalty=0.8, repetition_window=20),
        Sampling(frequency_penalty=0.8, repetition_window=20),
        Sampling(temperature=0.8, repetition_penalty=1.2, frequency_penalty=0.3, seed=5),
    ],
    ids=["repetition", "presence", "frequency", "sampled"],
)
def test_that_penalties_count_the_true_history(sampling):
    # Case O-03.
    truth = sampled_uncached(tiny(1), P, 12, sampling)
    if sampling == Sampling(repetition_penalty=1.3, repetition_window=20):
        assert truth == [41, 43, 6, 47, 58, 8, 47, 9, 32, 30, 60, 19]
    for widths in ([0], [1], [3], [5]):
        for period in (0, 1, 2):
            session = started(target(1), P, sampling)
            write(session, 12, Scripted(truth, period), widths)
            assert session.tokens[len(P) :] == truth


def test_that_right_guesses_are_all_accepted_and_wrong_ones_none():
    truth = uncached(tiny(3), P, 41)
    session = started(target(), P, Sampling())
    steps = write(session, 40, Scripted(truth, 0), [4])
    assert {s.accepted for s in steps} == {4}
    assert all(s.rejected_id is None for s in steps)
    session = started(target(), P, Sampling())
    steps = write(session, 40, Scripted(truth, 1), [4])
    assert {s.accepted for s in steps} == {0}
    assert [s.rejected_id for s in steps if s.proposed] == [
        (t + 1) % 64 for t, s in zip(truth, steps, strict=False) if s.proposed
    ]


def test_that_a_row_below_the_margin_is_drawn_again_by_a_single_step():
    truth = uncached(tiny(3), P, 40)
    session = started(target(), P, Sampling())
    steps = write(session, 40, Scripted(truth, 0), [4], margin=float("inf"))
    assert session.tokens[len(P) :] == truth
    assert all(s.recheck and len(s.committed) == 1 for s in steps if s.proposed)
    session = started(target(), P, Sampling())
    some = write(session, 40, Scripted(truth, 3), [4], margin=2.0)
    assert session.tokens[len(P) :] == truth
    assert {s.recheck for s in some if s.proposed} == {True, False}


def test_that_a_second_turn_reuses_the_first_and_equals_a_cold_start():
    truth = uncached(tiny(3), P, 20)
    session = started(target(), P, Sampling())
    write(session, 20, Scripted(truth, 3), [4, 0])
    session.settle()
    longer = [*P, *truth[:15], 1, 2, 4]  # an edit five tokens before the end
    assert session.resume(longer) == len(P) + 15
    session.feed(longer[session.cache.length : -1])
    session.begin(longer[-1], Sampling())
    cold = uncached(tiny(3), longer, 20)
    write(session, 20, Scripted(cold, 4), [3])
    assert session.tokens[len(longer) :] == cold


def test_that_a_window_that_forgot_too_much_is_read_again():
    session = started(target(window=16), P * 60, Sampling(), chunk=64)
    write(session, 10, Scripted([], 1), [0])
    session.settle()
    assert session.resume([*P, 1, 2]) == 0
    session.feed([*P, 1])
    session.begin(2, Sampling())
    truth = uncached(tiny(3, window=16), [*P, 1, 2], 12)
    write(session, 12, Scripted(truth, 2), [3])
    assert session.tokens[len(P) + 2 :] == truth


def test_that_numbers_which_are_not_finite_end_the_reply_and_keep_the_text():
    model = tiny(3)
    session = started(Target(model, tiny_config()), P, Sampling())
    session.plain(pipeline=False)
    good = list(session.tokens)
    model.model.norm.weight = model.model.norm.weight * float("nan")
    with pytest.raises(BadNumbers):
        session.plain(pipeline=True)
    assert session.tokens == good
    with pytest.raises(BadNumbers):
        session.drafted(Proposal("copy", mx.array([1, 2], dtype=mx.uint32)), 0.0, 0.0)
    assert session.tokens == good


def test_that_unsound_proposals_are_dropped():
    truth = uncached(tiny(3), P, 3)
    session = started(target(), P, Sampling())
    proposal = Proposal("drafter", mx.array(truth[:2], dtype=mx.uint32), mx.array(0.0))
    step = session.drafted(proposal, 0.0, 0.0)
    assert (step.sound, step.proposed, step.committed) == (False, (), (truth[0],))
    write(session, 3, Scripted(truth, 0), [0])
    assert session.tokens[len(P) :] == truth
