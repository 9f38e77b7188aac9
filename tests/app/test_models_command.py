"""The `models` command: the known pairs, their licences, and what is chosen on this machine."""

import json
from pathlib import Path

import pytest

from app import catalogue, models_command
from app.__main__ import main
from app.catalogue import Catalogue
from app.conversation import Settings
from app.opening import NAME
from app.problem import Problem
from app.store import ConversationStore
from support.published_dspark import CONFIGS

TARGET = {"model_type": "lfm2", "hidden_size": 2048, "num_hidden_layers": 30, "vocab_size": 128000}


@pytest.fixture
def models(capsys):
    """Run it in this process: the exit code, what was printed, and the notes."""

    def run(*words):
        code = main(["models", *map(str, words)], make_engine=None)
        out, err = capsys.readouterr()
        return code, out, err

    return run


def folder(path, config, **files):
    path.mkdir()
    (path / "config.json").write_text(json.dumps(config))
    for name, text in files.items():
        (path / name).write_text(text)
    return path


def keep(home, *settings):
    """A store with a conversation for each of `settings`."""
    (home / "data").mkdir(parents=True)
    store = ConversationStore(home / "data" / NAME)
    for one in settings:
        store.add_conversation(one)
    store.close()


def test_that_every_half_is_a_line_with_its_licence(models, starter):
    code, out, err = models()
    assert (code, err) == (0, "")
    lines = {line.removeprefix("  ← ").split("  ")[0]: line for line in out.splitlines()}
    for pair in catalogue.read().pairs:
        for half in (pair.target, *pair.drafters):
            name = half.licence.name if half.licence else "see the model's page"
            assert name in lines[half.repositories[0]]
    assert "2.7 B" in lines["LiquidAI/LFM2.5-2.6B"]
    assert "328 M" in lines["LiquidAI/LFM2.5-2.6B-DSpark"]
    assert "2.2 to 3.7 ×" in lines["LiquidAI/LFM2.5-2.6B-DSpark"]
    assert lines["HuggingFaceTB/SmolLM2-135M-Instruct"].endswith("yes")
    assert "below 10 million US dollars of yearly revenue" in out
    assert "None of it was measured here" in out
    assert "little or nothing for mixtures of experts (LFM2.5-8B-A1B, " in out
    assert f"{starter}: like HuggingFaceTB/SmolLM2-135M-Instruct; Apache License 2.0" in out


def test_that_folders_of_conversations_and_named_ones_are_told(models, home, tmp_path):
    drafter = folder(tmp_path / "b", CONFIGS["LFM2.5-2.6B-DSpark"])
    target = folder(tmp_path / "a", TARGET)
    other = folder(tmp_path / "c", TARGET | {"hidden_size": 8}, LICENSE="MIT License")
    keep(home, Settings(), Settings(target=target, drafter=drafter), Settings(target=target))
    code, out, _ = models(other)
    assert code == 0
    lines = out.splitlines()
    assert f"  model    {target}: like LiquidAI/LFM2.5-2.6B; LFM Open License v1.0" in lines
    assert f"  drafter  {drafter}: like LiquidAI/LFM2.5-2.6B-DSpark; LFM Open License v1.0" in lines
    assert f"  model    {other}: not in this list; MIT License, says its folder" in lines
    assert out.count(str(target)) == 1
    assert sum(line.endswith("  yes") for line in lines) == 3  # the starter and the pair


def test_that_json_has_all_of_it(models, home, tmp_path):
    target = folder(tmp_path / "a", TARGET)
    keep(home, Settings(target=target))
    code, out, _ = models("--json")
    assert code == 0
    report = json.loads(out)
    pair = next(one for one in report["pairs"] if one["name"] == "LFM2.5-2.6B")
    assert pair["drafters"][0]["licence"]["name"] == "LFM Open License v1.0"
    assert (pair["gain"]["low"], pair["gain"]["high"]) == (2.24, 3.72)
    assert pair["gain"]["source"]
    assert pair["here"] == [str(target)]
    assert report["folders"][-1] == {
        "folder": str(target), "is_drafter": False, "name": "LFM2.5-2.6B",
        "repository": "LiquidAI/LFM2.5-2.6B", "licence": pair["target"]["licence"],
        "says_its_folder": False,
    }  # fmt: skip
    assert report["problem"] is None


def test_that_a_folder_without_a_model_is_named_and_is_a_failure(models, tmp_path):
    code, out, err = models(tmp_path / "none")
    assert code == 1
    assert err == f"slipstream models: there is no model and no drafter in {tmp_path / 'none'}.\n"
    assert "LiquidAI/LFM2.5-2.6B" in out


def test_that_hostile_names_stay_one_line_of_plain_letters(models, tmp_path):
    evil = folder(
        tmp_path / "a\x1b[31m<b>\nb",
        CONFIGS["LFM2.5-2.6B-DSpark"],
        LICENSE="\x07<i>mine</i>\x1b[0m",
    )
    code, out, _ = models(evil)
    assert code == 0
    line = next(line for line in out.splitlines() if "<b>" in line)
    assert line.isprintable()
    assert "<i>mine</i>" in line
    assert "\x1b" not in out
    assert "\x07" not in out
    assert "\x1b" not in models(Path("\x1b[31m"))[2]


def test_that_a_store_that_cannot_be_read_is_no_obstacle(models, home):
    (home / "data").mkdir(parents=True)
    (home / "data" / NAME).write_bytes(b"no database" * 1000)
    assert models()[0] == 0
    assert (home / "data" / NAME).read_bytes().startswith(b"no database")


def test_that_a_damaged_catalogue_is_said_and_folders_still_are(models, monkeypatch, starter):
    damaged = Catalogue(problem=Problem("t", "It is damaged.", "All is safe.", "Install it again"))
    monkeypatch.setattr(models_command.catalogue, "read", lambda: damaged)
    code, out, err = models()
    assert code == 1
    assert err == "slipstream models: It is damaged. All is safe. Install it again.\n"
    assert f"{starter}: not in this list; Apache License" in out
    assert json.loads(models("--json")[1])["problem"] == "It is damaged."
