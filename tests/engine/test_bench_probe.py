"""Replaying a reply against what is known of it."""

import mlx.core as mx
import pytest

from engine.bench_probe import probe
from engine.engine import Engine
from engine.proposers import Proposal
from support.laguna_folder import VOCAB, write_pair

ASKED = "Name a bird."


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    return write_pair(tmp_path_factory.mktemp("laguna"))


@pytest.fixture(scope="module")
def engine():
    engine = Engine()
    yield engine
    engine.unload()


class Knowing:
    """Guesses the reference up to the third draft and something else from there on."""

    def __init__(self, drafter, text):
        self._drafter, self._text = drafter, text

    def __getattr__(self, name):
        return getattr(self._drafter, name)

    def propose(self, context, k):
        assert self._drafter.propose(context, k).ids.shape[0] == k
        at = len(context.tokens)
        assert list(context.tokens) == self._text[:at]
        truth = self._text[at : at + k]
        ids = [t if j < 2 else (t + 1) % VOCAB for j, t in enumerate(truth)]
        ids += [0] * (k - len(ids))
        return Proposal("drafter", mx.array(ids, dtype=mx.uint32))


def test_that_blocks_of_a_sound_model_choose_as_single_steps_do(engine, pair):
    found = probe(engine, pair, ASKED, tokens=40)
    assert (found.tokens, found.width) == (40, 4)
    assert found.disagreements == ()
    shadow = found.shadow
    assert shadow.asked_at == (40, 39, 38)
    assert shadow.accepted == sum(shadow.survival)
    assert shadow.proposed == 3 * sum(shadow.rounds)
    assert sum(shadow.rounds) + shadow.accepted == 40
    for spread in (shadow.draft_build_ms, shadow.verify_build_ms, shadow.sync_ms):
        assert spread.n == sum(shadow.rounds)
        assert spread.min > 0


def test_that_accuracy_is_told_by_position(engine, pair, monkeypatch):
    text = []
    probe(engine, pair, ASKED, tokens=1)
    model = engine.model.drafter
    start = type(model).start
    monkeypatch.setattr(model, "start", lambda: Knowing(start(model), text), raising=False)
    from engine import bench_probe

    whole = bench_probe._Replay.__init__

    def told(self, target, ids, at):
        text[:] = ids
        whole(self, target, ids, at)

    monkeypatch.setattr(bench_probe._Replay, "__init__", told)
    shadow = probe(engine, pair, ASKED, tokens=40).shadow
    assert shadow.right_at == (40, 39, 0)
    assert shadow.asked_at == (40, 39, 38)
    assert shadow.rounds[0] <= 1
    assert shadow.rounds[2] == 0
    assert shadow.survival[2] == 0


def test_that_a_block_that_is_wrong_is_told_with_its_margin(engine, pair, monkeypatch):
    probe(engine, pair, ASKED, tokens=1)
    target = engine.model.target
    forward = type(target).forward

    def turned(ids, cache):
        rows = forward(target, ids, cache)
        if rows.logits.shape[0] != 4:
            return rows
        worst = mx.argmin(rows.logits[2])
        change = mx.where(mx.arange(VOCAB) == worst, 1e3, 0.0)
        return type(rows)(rows.logits.at[2].add(change), rows.taps)

    monkeypatch.setattr(target, "forward", turned, raising=False)
    found = probe(engine, pair, ASKED, tokens=40)
    assert [d.row for d in found.disagreements] == [2] * 10
    assert [d.at for d in found.disagreements] == list(range(2, 40, 4))
    assert all(d.chain_id != d.block_id and d.margin > 0 for d in found.disagreements)
