"""The `check` command on tiny models; for both BLAS libraries see `process/test_two_blas.py`."""

import json

import mlx.core as mx
import pytest
from mlx.utils import tree_flatten

from app.__main__ import main
from app.gates import Gates
from engine.exactness import Gate, Width
from support.tiny import tiny, tiny_config

GATE = Gate((Width(2, True), Width(3, False, 5e-5, 0, "kernels")), 4.5, 20.0, "float32", (8, 48))


@pytest.fixture
def model(tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    weights = dict(tree_flatten(tiny(1).parameters()))
    mx.save_safetensors(str(folder / "model.safetensors"), weights, {"format": "mlx"})
    (folder / "config.json").write_text(json.dumps(tiny_config()))
    return folder


@pytest.fixture
def check(capsys, model):
    """Run it in this process: the exit code and the report."""

    def run(*words):
        code = main(["check", "--target", str(model), "--json", *words])
        return code, json.loads(capsys.readouterr().out)

    return run


def test_that_every_width_is_reported(check):
    code, report = check()
    assert code == 0
    assert [seen["width"] for seen in report["widths"]] == [2, 3, 4, 5, 6, 7, 8]
    assert {"equal", "max_difference", "first_row"} <= report["widths"][0].keys()
    equal = [seen["width"] for seen in report["widths"] if seen["equal"]]
    assert report["exact_width"] in (1, *equal)
    assert report["mode"] == "guarded"
    assert 0 < report["margin"] < 1e-3
    assert len(report["key"]) == 64
    assert report["fault"] is None


def test_that_what_was_measured_is_remembered_under_its_key(check, home):
    _, report = check("--widest", "3")
    [file] = (home / "cache" / "exactness").iterdir()
    assert file.stem == report["key"]
    # What the file says is what the next run says; only measuring again corrects it.
    told = json.loads(file.read_text())
    told["widths"][0] |= {
        "equal": False,
        "max_difference": 1e-5,
        "first_row": 1,
        "suspect": "cache",
    }
    file.write_text(json.dumps(told))
    assert check("--widest", "3")[1]["exact_width"] == 1
    assert check("--widest", "3")[1]["widths"][0]["suspect"] == "cache"
    assert check("--widest", "3", "--again")[1] == report


def test_that_a_wider_check_measures_only_what_is_missing(check, home):
    _, narrow = check("--widest", "3")
    _, wide = check("--widest", "5")
    assert narrow["key"] == wide["key"]
    assert wide["widths"][:2] == narrow["widths"]
    assert [seen["width"] for seen in wide["widths"]] == [2, 3, 4, 5]


def test_that_other_weights_have_another_key(check, model):
    _, report = check("--widest", "2")
    weights = dict(tree_flatten(tiny(2).parameters()))
    mx.save_safetensors(str(model / "model.safetensors"), weights, {"format": "mlx"})
    assert check("--widest", "2")[1]["key"] != report["key"]


def test_that_fast_mode_has_no_margin(check):
    assert check("--mode", "fast", "--widest", "2")[1]["margin"] == 0


def test_that_a_folder_without_a_model_is_refused_in_one_sentence(capsys, tmp_path):
    assert main(["check", "--target", str(tmp_path)]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("slipstream check: ")
    assert err.count("\n") == 1


def test_that_a_gate_comes_back_from_the_disk_as_it_was(tmp_path):
    gates = Gates(tmp_path / "new")
    assert gates.recall("k") is None
    gates.remember("k", GATE)
    assert gates.recall("k") == GATE
    assert gates.recall("other") is None
    assert [file.name for file in (tmp_path / "new").iterdir()] == ["k.json"]


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"widths": [{}], "prompts": []}', "\x00"])
def test_that_a_file_that_cannot_be_read_is_no_gate(tmp_path, text):
    (tmp_path / "k.json").write_text(text)
    assert Gates(tmp_path).recall("k") is None


def test_that_a_folder_that_cannot_be_written_only_forgets(tmp_path):
    (tmp_path / "file").write_text("")
    gates = Gates(tmp_path / "file")
    gates.remember("k", GATE)
    assert gates.recall("k") is None
