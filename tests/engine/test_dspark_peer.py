"""Block for block what mlx-dspark 0.20.3 proposes on the very same folders.

What it proposed is kept in tests/golden/dspark_peer.json.
"""

import os

import pytest

from support.dspark_pairs import PAIRS, ROUNDS, replay, write_pair
from support.golden import dspark_rounds, read
from support.venvs import Unavailable, dspark_python


@pytest.mark.parametrize("name", PAIRS)
def test_that_the_peer_proposes_the_same_blocks(name, tmp_path):
    rounds = read("dspark_peer")[name]
    assert len(rounds) == ROUNDS
    replay(*write_pair(tmp_path, name), rounds)


@pytest.mark.slow
def test_that_the_peer_still_proposes_the_same(tmp_path):
    new = dspark_rounds(tmp_path / "new.json")
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
