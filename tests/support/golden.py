"""What other programs said, kept under tests/golden, and the same said anew.

A file that is meant to change is replaced by the one that the failed slow test has left.
"""

import json
import subprocess
from pathlib import Path

import mlx.core as mx
import pytest

from support.venvs import Unavailable, dspark_python, transformers_python

FOLDER = Path(__file__).parents[1] / "golden"


def read(name):
    """A file that is kept."""
    return json.loads((FOLDER / f"{name}.json").read_text())


def dspark_rounds(path):
    """Write at `path` what mlx-dspark proposes now; skips where it cannot be had."""
    _run(dspark_python, "dspark_peer.py", path)
    return json.loads(path.read_text())


def zlab_rounds(path, prompt, count, folders):
    """Write at `path` what z-lab's dflash proposes now; skips where it cannot be had.

    Args:
        folders: [name, target, drafter] of every pair, one after another.
    """
    _run(transformers_python, "zlab_peer.py", path, json.dumps(prompt), str(count), *folders)
    return json.loads(path.read_text())


def compare_transformers(name, folders, ids, path):
    """Write at `path` what transformers says now of the folders, by name, and compare it with what is kept."""
    asked = [part for each, folder in folders.items() for part in (each, folder, json.dumps(ids))]
    _run(transformers_python, "transformers_logits.py", path, *asked)
    kept, new = read(name), json.loads(path.read_text())
    assert kept.keys() == new.keys() == folders.keys()
    for each in kept:
        one, other = mx.array(kept[each]), mx.array(new[each])
        assert one.shape == other.shape
        assert mx.allclose(one, other, atol=1e-5), each


def _run(python_of, tool, *arguments):
    try:
        python = python_of()
    except Unavailable as error:
        pytest.skip(str(error))
    subprocess.run([python, FOLDER / tool, *arguments], check=True, timeout=300)
