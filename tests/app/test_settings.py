import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from app.conversation import Pair, Settings
from app.settings import AppSettings, SettingsFile, WindowState, complaints_about
from engine.request import DrafterOptions, Drafting, Sampling

OTHER = AppSettings(
    "dark",
    1.25,
    "mod+enter",
    Settings(Path("/models/ü"), Path("/d"), "Be kind.", Sampling(0.1, seed=3), Drafting("off", True, 9), 9, ("a",), False, False, DrafterOptions(8, 0.25)),
    WindowState(-20, 30, 800, 600, True, 200, 7),
    plain_pairs=(Pair(None, Path("/d")), Pair(Path("/models/ü"), None)),
)  # fmt: skip


@pytest.fixture
def path(tmp_path):
    return tmp_path / "settings.json"


def test_that_a_missing_file_gives_the_usual_settings_without_a_problem(path):
    file = SettingsFile(path)
    assert (file.current, file.problem) == (AppSettings(), None)
    assert not path.exists()


def test_that_settings_come_back_equal(path):
    SettingsFile(path).write(OTHER)
    file = SettingsFile(path)
    assert (file.current, file.problem) == (OTHER, None)
    assert [p.name for p in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize(
    "content", [b"", b"{", b"\xff\xfe", b"null", b"[]", b"[" * 100_000, b'"text"']
)
def test_that_a_broken_file_is_kept_aside_and_named(path, content):
    path.write_bytes(content)
    file = SettingsFile(path)
    assert file.current == AppSettings()
    (kept,) = path.parent.glob("settings.json.damaged-*")
    assert kept.read_bytes() == content
    assert kept.name in file.problem.safe
    assert path.name in file.problem.sentence
    file.write(OTHER)
    assert SettingsFile(path).current == OTHER


@pytest.mark.parametrize(
    ("where", "value"),
    [
        ("appearance", "pink"), ("appearance", 5), ("appearance", []), ("text_size", 0.1), ("text_size", True),
        ("text_size", math.nan), ("text_size", "1"), ("send_key", None), ("defaults", []), ("window", 3),
        ("defaults.sampling.temperature", -0.1), ("defaults.sampling.temperature", math.inf),
        ("defaults.sampling.top_p", 1.5), ("defaults.sampling.top_k", 1.5), ("defaults.sampling.top_k", -1),
        ("defaults.sampling.seed", 2**64), ("defaults.sampling.repetition_penalty", 0),
        ("defaults.drafting.wish", "maybe"), ("defaults.drafting.copies", 1), ("defaults.drafting.max_drafts", 0),
        ("defaults.drafter_options.bits", 8.5), ("defaults.drafter_options.bits", -1), ("defaults.drafter_options", 8),
        ("defaults.drafter_options.confidence", 1.5), ("defaults.drafter_options.confidence", math.nan),
        ("defaults.max_tokens", 0), ("defaults.max_tokens", True), ("defaults.stop", "END"),
        ("defaults.stop", ["", "a"]), ("defaults.stop", [1]), ("defaults.system", 4), ("defaults.target", 4),
        ("defaults.thinking", "yes"), ("window.width", 10), ("window.x", "left"), ("window.conversation", 0),
    ],
)  # fmt: skip
def test_that_a_value_out_of_bounds_is_named_and_only_it_becomes_the_usual_one(path, where, value):
    SettingsFile(path).write(OTHER)
    plain = json.loads(path.read_bytes())
    *way, last = where.split(".")
    inner = plain
    for step in way:
        inner = inner[step]
    inner[last] = value
    path.write_text(json.dumps(plain))
    file = SettingsFile(path)
    assert where in file.problem.sentence
    assert list(path.parent.glob("settings.json.damaged-*"))
    if "." in where:
        assert (file.current.appearance, file.current.text_size) == ("dark", 1.25)
    usual, found = AppSettings(), file.current
    for step in where.split("."):
        usual, found = getattr(usual, step), getattr(found, step)
    assert found == usual


def test_that_a_file_that_cannot_be_read_is_a_problem_and_not_the_end(path):
    path.mkdir()
    file = SettingsFile(path)
    assert file.current == AppSettings()
    assert file.problem is not None


def test_that_settings_that_cannot_be_written_hold_for_this_run(tmp_path):
    file = SettingsFile(tmp_path / "nowhere" / "settings.json")
    with pytest.raises(OSError, match="nowhere"):
        file.write(OTHER)
    assert file.current == OTHER


def test_that_a_broken_file_that_cannot_be_copied_says_so(path, monkeypatch):
    path.write_bytes(b"{")
    path.parent.chmod(0o500)
    monkeypatch.setattr("app.settings.write_whole", refuse)
    file = SettingsFile(path)
    path.parent.chmod(0o700)
    assert "could not be copied" in file.problem.safe
    assert path.read_bytes() == b"{"


def refuse(path, content):
    raise OSError(30, "Read-only file system", str(path))


def test_that_settings_of_a_conversation_within_bounds_have_no_complaints():
    assert complaints_about(OTHER.defaults) == []
    assert complaints_about(Settings()) == []


def test_that_each_value_out_of_bounds_of_a_conversation_is_named():
    wrong = replace(Settings(), max_tokens=0, sampling=Sampling(temperature=9.0))
    assert complaints_about(wrong) == [
        "sampling.temperature is not between 0 and 5.",
        "max_tokens is not between 1 and 1000000.",
    ]
