"""LFM2 targets against transformers 5.24.0 with torch 2.13.0, float32.

What transformers said is kept in tests/golden/lfm2_transformers.json.
"""

import mlx.core as mx
import pytest

from engine.loading import load_target
from engine.target import Target
from support.golden import compare_transformers, read
from support.lfm2_folder import FOLDERS, IDS, write_lfm2


@pytest.mark.parametrize("name", FOLDERS)
@pytest.mark.parametrize("pieces", [(24,), (10, 1, 13)], ids=str)
def test_that_logits_are_those_of_transformers(name, pieces, tmp_path):
    loaded = load_target(write_lfm2(tmp_path, name), lambda done, total: None)
    target = Target(loaded.model, loaded.config, (0, 2))
    assert target.plain_only_reason == ""
    cache, left, rows = target.new_cache(), list(IDS), []
    for size in pieces:
        rows.append(target.forward(left[:size], cache).logits)
        left = left[size:]
    wanted = mx.array(read("lfm2_transformers")[name])
    assert float(mx.abs(wanted).max().item()) > 1
    assert float(mx.abs(mx.concatenate(rows) - wanted).max().item()) <= 1e-4


@pytest.mark.slow
def test_that_transformers_still_says_the_same(tmp_path):
    folders = {name: write_lfm2(tmp_path / name, name) for name in FOLDERS}
    compare_transformers("lfm2_transformers", folders, IDS, tmp_path / "new.json")
