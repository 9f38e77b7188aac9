"""`slipstream bench --probe` with a real pair."""

import json

import pytest

from app.__main__ import main
from engine.engine import Engine
from support.laguna_folder import write_pair


@pytest.mark.parametrize("form", [("--json",), ()], ids=["json", "text"])
def test_that_a_probe_tells_counters_times_and_disagreements(form, tmp_path, capsys):
    pair = write_pair(tmp_path)
    words = ["bench", "--target", str(pair.target), "--drafter", str(pair.drafter)]
    words += ["--panel", "prose", "--repeats", "1", "--max-tokens", "12", "--probe", "Name a bird."]
    assert main([*words, *form], make_engine=Engine) == 0
    out = capsys.readouterr().out
    if not form:
        assert "replay of 12 tokens in blocks of 4 rows: 0 would be chosen otherwise" in out
        assert "drafter beside it, right by position: 0." in out
        assert "describe the guesses" in out
        return
    probe = json.loads(out)["probe"]
    assert (probe["tokens"], probe["width"], probe["disagreements"]) == (12, 4, [])
    shadow = probe["shadow"]
    assert shadow["asked_at"] == [12, 11, 10]
    assert shadow["proposed"] == 3 * sum(shadow["rounds"])
    for time in ("draft_build_ms", "verify_build_ms", "sync_ms"):
        assert 0 < shadow[time]["min"] <= shadow[time]["median"] <= shadow[time]["max"]
