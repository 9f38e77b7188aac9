"""Whole replies of LFM2 folders with drafter folders that know them by heart."""

import mlx.core as mx

from engine.controls import Controls
from engine.engine import Engine
from engine.events import Round, TextDelta
from engine.request import Drafting, ModelChoice, Request, Sampling, Turn
from engine.sampling import draw
from support.lfm2_folder import write_chatting, write_knowing

SAMPLINGS = {
    "greedy": Sampling(),
    "0.7": Sampling(temperature=0.7, top_p=0.95, seed=5),
    "1.0": Sampling(temperature=1.0, seed=8),
}
QUESTION = "Why is the sea salt?"
ON, OFF = Drafting("on", copies=False), Drafting("off")
LENGTH = 40


class Folders:
    """Targets, and drafters that know given texts by heart, each written once."""

    def __init__(self, folder):
        self.folder, self.engine, self._written = folder, Engine(), {}

    def target(self, name):
        if name not in self._written:
            self._written[name] = write_chatting(self.folder / name, name)
        return self._written[name]

    def pair(self, name, taps=(0, 2), sampling=None, share=0.8):
        """A pair whose drafter is right about a share of the plain reply to the question."""
        key = (name, taps, sampling, share)
        if key not in self._written:
            target = self.target(name)
            plain = self.reply(ModelChoice(target), sampling=sampling, drafting=OFF)[-1]
            truth = [*plain.prompt_ids[-1:], *plain.token_ids]
            place = self.folder / f"drafter-{len(self._written)}"
            self._written[key] = write_knowing(place, taps, [truth], share)
        return ModelChoice(self.target(name), self._written[key])

    def reply(self, choice, *texts, controls=None, **fields):
        """All events; `texts` are turns, the user's first."""
        roles = ("user", "assistant")
        texts = texts or (QUESTION,)
        turns = tuple(Turn(roles[i % 2], text) for i, text in enumerate(texts))
        fields["sampling"] = fields.get("sampling") or Sampling()
        request = Request(choice, turns, **{"max_tokens": LENGTH, "drafting": ON, **fields})
        return list(self.engine.reply(request, controls or Controls()))

    def uncached(self, prompt, n, sampling):
        """The reply that keeps nothing between tokens, ended by nothing."""
        tokens, model = list(prompt), self.engine.model.target.model
        for i in range(n):
            ids, _ = draw(model(mx.array([tokens]))[0, -1:], i, sampling, tokens)
            tokens.append(int(ids[0].item()))
        return tuple(tokens[len(prompt) :])


def rounds(events, mode="drafter"):
    return [e for e in events if isinstance(e, Round) and e.mode == mode]


def text_of(events):
    return "".join(e.text for e in events if isinstance(e, TextDelta))
