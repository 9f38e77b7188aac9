"""Laguna targets against transformers 5.24.0 with torch 2.13.0, float32.

The golden file is written by tests/golden/laguna_transformers.py.
"""

import json
import subprocess
from pathlib import Path

import mlx.core as mx
import pytest

from engine.loading import load_target
from engine.target import Target
from support.laguna_folder import GOLDEN, write_target

ROOT = Path(__file__).parents[2]
TOOL = ROOT / "tests" / "golden" / "laguna_transformers.py"
TORCH = ROOT / ".bench" / "torch" / "bin" / "python"
FILE = TOOL.with_suffix(".json")
IDS = [(7 * i * i + 3 * i) % 64 for i in range(24)]  # four windows


def read(path=FILE):
    return json.loads(path.read_text())


def written(folder, python, path):
    """The golden file made anew."""
    command = [python, TOOL, path]
    for name, config in GOLDEN.items():
        command += [name, write_target(folder / name, config, dtype=None), json.dumps(IDS)]
    subprocess.run(command, check=True, timeout=110)


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
    wanted = mx.array(read()[name])
    assert float(mx.abs(wanted).max().item()) > 1
    assert float(mx.abs(mx.concatenate(rows) - wanted).max().item()) <= 1e-4


@pytest.mark.slow
@pytest.mark.skipif(not TORCH.exists(), reason="transformers' venv is not there: see the tool")
def test_that_transformers_still_says_the_same(tmp_path):
    written(tmp_path, TORCH, tmp_path / "new.json")
    old, new = read(), read(tmp_path / "new.json")
    assert old.keys() == new.keys() == GOLDEN.keys()
    for name in GOLDEN:
        assert mx.allclose(mx.array(old[name]), mx.array(new[name]), atol=1e-5)
