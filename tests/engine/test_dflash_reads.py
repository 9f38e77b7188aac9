"""A drafted round of Laguna waits for the device once."""

import mlx.core as mx
import pytest

from engine import session as sessions
from engine.drafters import open_drafter
from engine.proposers import Context
from engine.request import Sampling
from engine.session import Session
from engine.target import Target
from support.drafters import write_drafter
from support.tiny_dflash import PAIRS, random_weights
from support.tiny_laguna import PROMPT, tiny_laguna


@pytest.mark.parametrize("name", ["pair", "block-16"])
@pytest.mark.parametrize("sampling", [Sampling(), Sampling(temperature=0.7, seed=5)], ids=str)
def test_that_a_round_reads_the_device_once(name, sampling, tmp_path, monkeypatch):
    config, drafts = PAIRS[name]
    target = Target(tiny_laguna(config), dict(config), (1, 3, 4))
    drafter = open_drafter(write_drafter(tmp_path, drafts, random_weights(drafts)), target).start()
    session = Session(target)
    drafter.observe(PROMPT[:-1], session.feed(PROMPT[:-1]).taps)
    session.begin(PROMPT[-1], sampling)
    waits = []
    for place, function in ((mx, "eval"), (mx.array, "item"), (mx.array, "tolist")):
        whole = getattr(place, function)

        def counted(*args, whole=whole, function=function):
            waits.append(function)
            return whole(*args)

        monkeypatch.setattr(place, function, counted)
    reads = sessions.to_host
    monkeypatch.setattr(sessions, "to_host", lambda packed: waits.append("read") or reads(packed))
    for _ in range(12):
        proposal = drafter.propose(Context(session.tokens, session.drawn, sampling), 15)
        step = session.drafted(proposal, 0.0, 0.0)
        drafter.observe(step.fed, step.taps)
        assert waits == ["read", "tolist"]
        waits.clear()
