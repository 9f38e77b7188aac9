"""`slipstream ask` with the folders of an LFM2 model and of its DSpark drafter."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from support.lfm2_folder import FOLDERS, write_chatting, write_knowing

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lfm2")
    for name in FOLDERS:
        write_chatting(folder / name, name)
    write_knowing(folder / "drafter")
    return folder


def ask(target, *words):
    command = [sys.executable, "-m", "app", "ask", "Name a bird.", "--max-tokens", "40"]
    command += ["--seed", "6", "--copies", "off", "--json", "--target", target, *words]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.stderr == ""
    return run.returncode, [json.loads(line) for line in run.stdout.splitlines()]


@pytest.mark.parametrize(
    ("name", "temperature", "options"),
    [
        ("lfm2_moe", "0.7", ()),
        ("lfm2", "0", ("--drafter-bits", "8", "--drafter-confidence", "0.3", "--max-drafts", "9")),
    ],
)
def test_that_the_pair_answers_as_the_target_alone_does(folders, name, temperature, options):
    words = ("--temperature", temperature)
    _, plain = ask(folders / name, *words)
    pair = ("--drafter", folders / "drafter", "--draft", "on")
    code, events = ask(folders / name, *words, *pair, *options)
    [loaded] = [event for event in events if event["event"] == "loaded"]
    assert (code, loaded["drafter"], loaded["drafting_refused"]) == (0, "drafter", "")
    assert "drafter" in {event["mode"] for event in events if event["event"] == "round"}
    assert events[-1]["token_ids"] == plain[-1]["token_ids"]
    assert events[-1]["text"] == plain[-1]["text"] != ""
