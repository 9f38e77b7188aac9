"""Block for block what z-lab's own dflash 0.1.0 proposes on the very same folders.

What it proposed is kept in tests/golden/zlab_peer.json.
"""

import pytest

from support.dspark_pairs import PROMPT, ROUNDS, ZLAB_PAIRS, replay, write_pair
from support.golden import read, zlab_rounds


@pytest.mark.parametrize("name", ZLAB_PAIRS)
def test_that_the_peer_proposes_the_same_blocks(name, tmp_path):
    rounds = read("zlab_peer")[name]
    assert len(rounds) == ROUNDS
    replay(*write_pair(tmp_path, name), rounds)


def test_that_the_rounds_differ_and_some_guesses_came_true():
    found = read("zlab_peer")
    blocks = {tuple(drafts) for rounds in found.values() for (_, *drafts), _ in rounds}
    assert len(blocks) > 40
    assert {len(committed) for rounds in found.values() for _, committed in rounds} == {1, 5}


@pytest.mark.slow
def test_that_the_peer_still_proposes_the_same(tmp_path):
    folders = [x for name in ZLAB_PAIRS for x in (name, *write_pair(tmp_path / name, name))]
    new = zlab_rounds(tmp_path / "new.json", PROMPT, ROUNDS, folders)
    assert new == read("zlab_peer")
    assert new.keys() == set(ZLAB_PAIRS)
