"""Block for block what mlx-dspark 0.20.3 proposes on the very same folders.

The golden file is written by tests/golden/dspark_peer.py.
"""

import json
import subprocess
from pathlib import Path

import mlx.core as mx
import pytest

from engine.drafters import open_drafter, taps
from engine.loading import load_target
from engine.proposers import Context
from engine.request import Sampling
from engine.target import Target
from support.dspark_pairs import PAIRS, PROMPT, ROUNDS, write_pair

ROOT = Path(__file__).parents[2]
TOOL = ROOT / "tests" / "golden" / "dspark_peer.py"
PEER = ROOT / ".bench" / "dspark" / "bin" / "python"


@pytest.mark.parametrize("name", PAIRS)
def test_that_the_peer_proposes_the_same_blocks(name, tmp_path):
    folder, drafter_folder = write_pair(tmp_path, name)
    loaded = load_target(folder, lambda done, total: None)
    target = Target(loaded.model, loaded.config, taps(drafter_folder))
    drafter = open_drafter(drafter_folder, target).start()
    rounds = json.loads(TOOL.with_suffix(".json").read_text())[name]
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
@pytest.mark.skipif(not PEER.exists(), reason="the peer's venv is not there: see the tool")
def test_that_the_peer_still_writes_the_same_file(tmp_path):
    subprocess.run([PEER, TOOL, tmp_path / "new.json"], check=True, timeout=110)
    assert (tmp_path / "new.json").read_text() == TOOL.with_suffix(".json").read_text()
