"""Laguna targets against transformers 5.24.0 with torch 2.13.0, float32.

What transformers said is kept in tests/golden/laguna_transformers.json.
"""

import mlx.core as mx
import pytest

from engine.loading import load_target
from engine.target import Target
from support.golden import compare_transformers, read
from support.laguna_folder import GOLDEN, write_target

IDS = [(7 * i * i + 3 * i) % 64 for i in range(24)]  # four windows


@pytest.mark.parametrize("name", GOLDEN)
@pytest.mark.parametrize("pieces", [(24,), (10, 1, 13), (1,) * 24], ids=len)
def test_that_logits_are_those_of_transformers(name, pieces, tmp_path):
    folder = write_target(tmp_path, GOLDEN[name], dtype=None)
    loaded = load_target(folder, lambda done, total: None)
    target = Target(loaded.model, loaded.config, (1, 3, 4))
    assert target.plain_only_reason == ""
    cache, left, rows = target.new_cache(), list(IDS), []
    for size in pieces:
        rows.append(target.forward(left[:size], cache).logits)
        left = left[size:]
    wanted = mx.array(read("laguna_transformers")[name])
    assert float(mx.abs(wanted).max().item()) > 1
    assert float(mx.abs(mx.concatenate(rows) - wanted).max().item()) <= 1e-4


@pytest.mark.slow
def test_that_transformers_still_says_the_same(tmp_path):
    folders = {
        name: write_target(tmp_path / name, config, dtype=None) for name, config in GOLDEN.items()
    }
    compare_transformers("laguna_transformers", folders, IDS, tmp_path / "new.json")
