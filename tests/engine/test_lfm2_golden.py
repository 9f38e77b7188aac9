"""LFM2 targets against transformers 5.24.0 with torch 2.13.0, float32.

The golden file is written by tests/golden/lfm2_transformers.py.
"""

import json
import subprocess
from pathlib import Path

import mlx.core as mx
import pytest

from engine.loading import load_target
from engine.target import Target
from support.lfm2_folder import FOLDERS, IDS, write_lfm2

ROOT = Path(__file__).parents[2]
TOOL = ROOT / "tests" / "golden" / "lfm2_transformers.py"
TORCH = ROOT / ".bench" / "torch" / "bin" / "python"


GOLDEN = TOOL.with_suffix(".json")


def golden(path=GOLDEN):
    return json.loads(path.read_text())


def written(folder, python, path):
    """The golden file made anew."""
    command = [python, TOOL, path]
    for name in FOLDERS:
        command += [name, write_lfm2(folder / name, name), json.dumps(IDS)]
    subprocess.run(command, check=True, timeout=110)


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
    wanted = mx.array(golden()[name])
    assert float(mx.abs(wanted).max().item()) > 1
    assert float(mx.abs(mx.concatenate(rows) - wanted).max().item()) <= 1e-4


@pytest.mark.slow
@pytest.mark.skipif(not TORCH.exists(), reason="transformers' venv is not there: see the tool")
def test_that_transformers_still_says_the_same(tmp_path):
    written(tmp_path, TORCH, tmp_path / "new.json")
    old, new = golden(), golden(tmp_path / "new.json")
    for name in FOLDERS:
        assert mx.allclose(mx.array(old[name]), mx.array(new[name]), atol=1e-5)
