"""Block for block what z-lab's own dflash 0.1.0 proposes on the very same folders.

The golden file is written by tests/golden/zlab_peer.py.
"""

import json
import subprocess
from pathlib import Path

import pytest

from support.dspark_pairs import PROMPT, ROUNDS, ZLAB_PAIRS, replay, write_pair

ROOT = Path(__file__).parents[2]
TOOL = ROOT / "tests" / "golden" / "zlab_peer.py"
PEER = ROOT / ".bench" / "torch" / "bin" / "python"


@pytest.mark.parametrize("name", ZLAB_PAIRS)
def test_that_the_peer_proposes_the_same_blocks(name, tmp_path):
    rounds = json.loads(TOOL.with_suffix(".json").read_text())[name]
    assert len(rounds) == ROUNDS
    replay(*write_pair(tmp_path, name), rounds)


def test_that_the_rounds_differ_and_some_guesses_came_true():
    found = json.loads(TOOL.with_suffix(".json").read_text())
    blocks = {tuple(drafts) for rounds in found.values() for (_, *drafts), _ in rounds}
    assert len(blocks) > 40
    assert {len(committed) for rounds in found.values() for _, committed in rounds} == {1, 5}


@pytest.mark.slow
@pytest.mark.skipif(not PEER.exists(), reason="the peer's venv is not there: see the tool")
def test_that_the_peer_still_writes_the_same_file(tmp_path):
    folders = [str(x) for n in ZLAB_PAIRS for x in (n, *write_pair(tmp_path / n, n))]
    new = tmp_path / "new.json"
    asked = [json.dumps(PROMPT), str(ROUNDS), *folders]
    subprocess.run([PEER, TOOL, new, *asked], check=True, timeout=110)
    assert new.read_text() == TOOL.with_suffix(".json").read_text()
