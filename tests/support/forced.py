"""The uncached truth of a Laguna target, and a drafter that is right as often as it is told."""

import mlx.core as mx

from engine.proposers import Proposal
from engine.request import Sampling
from engine.sampling import draw


def uncached(model, prompt, n, sampling=None):
    """The oracle: `prompt` and `n` tokens after it, the whole text fed anew for each."""
    tokens, sampling = list(prompt), sampling or Sampling()
    for i in range(n):
        logits = model(mx.array([tokens]), cache=model.make_cache())[0, -1:]
        ids, _ = draw(logits, i, sampling, tokens)
        tokens.append(int(ids[0].item()))
    return tokens


class Scheduled:
    """The real drafter's context under the truth as proposals, wrong from the scheduled one on."""

    def __init__(self, drafter, truth, schedule, vocab=64):
        self._drafter, self._truth, self._schedule, self._rounds = drafter, truth, schedule, 0
        self._vocab = vocab

    def __getattr__(self, name):
        return getattr(self._drafter, name)

    def propose(self, context, k):
        k = self._drafter.propose(context, k).ids.shape[0]
        right = self._schedule[self._rounds % len(self._schedule)]
        self._rounds += 1
        at = len(context.tokens)
        truth = self._truth[at : at + k]
        ids = [t if i < right else (t + 1) % self._vocab for i, t in enumerate(truth)]
        return Proposal("drafter", mx.array(ids, dtype=mx.uint32))
