"""`slipstream ask` with the folders of a Laguna model and of its drafter."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from support.laguna_folder import write_pair

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    return write_pair(tmp_path_factory.mktemp("laguna"))


def ask(target, drafter, *words):
    command = [sys.executable, "-m", "app", "ask", "Name a bird.", "--max-tokens", "40"]
    command += ["--seed", "6", "--target", target, "--drafter", drafter, *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("temperature", ["0", "0.7"])
def test_that_the_pair_answers_as_the_target_alone_does(pair, temperature):
    replies = []
    for wish in ("on", "off"):
        words = ("--json", "--temperature", temperature, "--draft", wish, "--copies", "off")
        run = ask(pair.target, pair.drafter, *words)
        assert (run.returncode, run.stderr) == (0, "")
        replies.append([json.loads(line) for line in run.stdout.splitlines()])
    on, off = replies
    [loaded] = [event for event in on if event["event"] == "loaded"]
    assert loaded["drafter"] == "Laguna-tiny-DFlash"
    assert "drafter" in {event["mode"] for event in on if event["event"] == "round"}
    assert on[-1]["proposed"] > 0
    assert on[-1]["token_ids"] == off[-1]["token_ids"]
    assert len(on[-1]["token_ids"]) == 40
    assert on[-1]["text"] == off[-1]["text"] != ""


def test_that_a_drafter_for_another_precision_is_warned_about_and_drafts(pair, tmp_path):
    (tmp_path / "Laguna-tiny-INT4").symlink_to(pair.target)
    run = ask(tmp_path / "Laguna-tiny-INT4", pair.drafter)
    assert run.returncode == 0
    [said] = run.stderr.splitlines()
    assert said.startswith("The model's name says INT4, its drafter's none.")


def test_that_a_drafter_opened_as_the_model_is_told_what_it_is(pair):
    run = ask(pair.drafter, pair.drafter)
    assert run.returncode == 1
    assert run.stdout == ""
    [said] = run.stderr.splitlines()
    assert "DFlashLagunaForCausalLM, a drafter" in said
    assert "choose this folder as the drafter" in said
