"""Sampled text drafted for Laguna follows the law of the target: a chi-square test of two tokens.

The expected law is softmax by hand, in float64, on logits of the whole text fed without a cache.
"""

from dataclasses import replace

import mlx.core as mx
import numpy as np
import pytest

from engine import sampling as sampler
from engine import session as rounds
from engine.drafters import open_drafter
from engine.proposers import Context, Proposal
from engine.request import Sampling
from engine.session import Session
from engine.target import Target
from support.drafters import write_drafter
from support.tiny_dflash import DRAFTER, random_weights
from support.tiny_laguna import PROMPT, TARGET, tiny_laguna

PARTS, SEEDS = 4, range(1, 301)
SAMPLING = Sampling(temperature=2.0)
# 16 kinds of pairs, so 15 degrees of freedom: exceeded by chance once in a thousand tests
# (NIST/SEMATECH e-Handbook of Statistical Methods, table 1.3.6.7.4).
CRITICAL = 37.697


class Law:
    """What the target says after a text, its tokens parted into four of about equal weight.

    The likeliest come first, so a draw from another text's law falls into the parts unevenly.
    """

    def __init__(self, model, tokens):
        logits = model(mx.array([tokens]), cache=model.make_cache())[0, -1]
        self.logits = np.array(logits).astype(np.float64)
        self.probs = np.exp((self.logits - self.logits.max()) / SAMPLING.temperature)
        self.probs /= self.probs.sum()
        order = np.argsort(-self.probs)
        above = np.cumsum(self.probs[order]) - self.probs[order]
        self.part = np.empty(len(order), int)
        self.part[order] = np.minimum(PARTS * above, PARTS - 1).astype(int)
        self.weights = np.bincount(self.part, self.probs, PARTS)


@pytest.fixture(scope="module")
def target():
    return Target(tiny_laguna(), dict(TARGET), (1, 3, 4))


@pytest.fixture(scope="module")
def laws(target):
    """By the tokens after the prompt: none, or the first."""
    texts = [(), *((token,) for token in range(TARGET["vocab_size"]))]
    return {text: Law(target.model, [*PROMPT, *text]) for text in texts}


class Likeliest:
    """Guesses without chance: twice the likeliest token after the prompt."""

    def __init__(self, laws):
        self._ids = mx.array([int(laws[()].logits.argmax())] * 2, dtype=mx.uint32)

    def propose(self, context, k):
        return Proposal("drafter", self._ids[:k])

    def observe(self, tokens, taps):
        pass

    def forget(self, length):
        pass


@pytest.fixture(scope="module", params=["drawn", "likeliest"])
def drafter(request, target, laws, tmp_path_factory):
    """The pair's own drafter, and one that always guesses the same."""
    if request.param == "likeliest":
        return Likeliest(laws)
    folder = write_drafter(tmp_path_factory.mktemp("drafter"), DRAFTER, random_weights(DRAFTER))
    return open_drafter(folder, target).start()


def replies(target, drafter):
    """The first two tokens with every seed, and how many guesses of the first round were right."""
    session, found, right = Session(target), [], []
    for seed in SEEDS:
        sampling = replace(SAMPLING, seed=seed)
        at = session.resume(PROMPT)
        drafter.forget(at)
        if at < len(PROMPT) - 1:
            piece = PROMPT[at:-1]
            drafter.observe(piece, session.feed(piece).taps)
        session.begin(PROMPT[-1], sampling)
        first = len(right)
        while session.drawn < 2:
            proposal = drafter.propose(Context(session.tokens, session.drawn, sampling), 2)
            step = session.drafted(proposal, 0.0, 0.0)
            drafter.observe(step.fed, step.taps)
            right += [step.accepted] if len(right) == first else []
        found.append(tuple(session.tokens[len(PROMPT) :][:2]))
    return found, right


def statistic(found, laws):
    """Pearson's chi-square of pairs of tokens against the law of the target."""
    expected, seen = np.zeros((PARTS, PARTS)), np.zeros((PARTS, PARTS))
    for token, chance in enumerate(laws[()].probs):
        expected[laws[()].part[token]] += chance * laws[(token,)].weights
    for one, two in found:
        seen[laws[()].part[one], laws[(one,)].part[two]] += 1
    expected *= len(found)
    assert expected.min() >= 5
    return float(((seen - expected) ** 2 / expected).sum())


def test_that_two_drafted_tokens_follow_the_law_of_the_target(target, laws, drafter):
    found, right = replies(target, drafter)
    assert statistic(found, laws) <= CRITICAL
    assert {0, 1} <= set(right)  # the second token came from a first round and from a second one


def repeats_the_noise(monkeypatch):
    """Each token of a reply is drawn with the noise of the first."""
    whole = sampler.gumbel
    monkeypatch.setattr(sampler, "gumbel", lambda seed, index, vocab: whole(seed, 0, vocab))


def keeps_rows_after_a_wrong_guess(monkeypatch):
    whole = rounds._common_prefix

    def prefix(one, two):
        return len(one) if isinstance(one, tuple) else whole(one, two)

    monkeypatch.setattr(rounds, "_common_prefix", prefix)


@pytest.mark.slow
@pytest.mark.parametrize("fault", [repeats_the_noise, keeps_rows_after_a_wrong_guess])
def test_that_a_wrong_sampler_does_not_follow_it(fault, target, laws, drafter, monkeypatch):
    fault(monkeypatch)
    found, _ = replies(target, drafter)
    assert statistic(found, laws) > CRITICAL
