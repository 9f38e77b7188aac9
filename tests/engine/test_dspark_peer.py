"""Block for block what mlx-dspark 0.20.3 proposes on the very same folders.

What it proposed is kept in tests/golden/dspark_peer.json.
"""

import json
import os

import mlx.core as mx
import pytest

from engine.drafters import open_drafter, taps
from engine.loading import load_target
from engine.proposers import Context
from engine.request import Sampling
from engine.target import Target
from support.dspark_pairs import PAIRS, PROMPT, ROUNDS, write_pair
from support.golden import dspark_rounds, read
from support.venvs import Unavailable, dspark_python


@pytest.mark.parametrize("name", PAIRS)
def test_that_the_peer_proposes_the_same_blocks(name, tmp_path):
    folder, drafter_folder = write_pair(tmp_path, name)
    loaded = load_target(folder, lambda done, total: None)
    target = Target(loaded.model, loaded.config, taps(drafter_folder))
    drafter = open_drafter(drafter_folder, target).start()
    rounds = read("dspark_peer")[name]
    assert len(rounds) == ROUNDS
    cache, tokens = target.new_cache(), list(PROMPT)
    rows = target.forward(tokens, cache)
    drafter.observe(tokens, rows.taps)
    tokens.append(int(mx.argmax(rows.logits[-1]).item()))
    for (pending, *drafts), committed in rounds:
        assert tokens[-1] == pending
        proposal = drafter.propose(Context(tokens, 0, Sampling()), 99)
        assert proposal.ids.tolist() == drafts
        rows = target.forward([pending, *drafts], cache)
        assert mx.argmax(rows.logits[: len(committed)], axis=-1).tolist() == committed
        cache.rollback(len(tokens) - 1 + len(committed))
        drafter.observe([pending, *committed[:-1]], rows.taps[: len(committed)])
        tokens += committed


@pytest.mark.slow
def test_that_the_peer_still_proposes_the_same(tmp_path):
    dspark_rounds(tmp_path / "new.json")
    new = json.loads((tmp_path / "new.json").read_text())
    assert new == read("dspark_peer")
    assert new.keys() == set(PAIRS)


@pytest.mark.slow
def test_that_a_peer_that_cannot_be_had_is_told_in_one_sentence(tmp_path, monkeypatch):
    for name, value in {
        "NO_INDEX": "1", "FIND_LINKS": str(tmp_path), "CONFIG_FILE": os.devnull,
    }.items():  # fmt: skip
        monkeypatch.setenv(f"PIP_{name}", value)
    with pytest.raises(Unavailable, match=r"^pip cannot get mlx-dspark==\S+, .* here, so [^\n]+$"):
        dspark_python(tmp_path / "bench")
    assert not any((tmp_path / "bench").iterdir())
