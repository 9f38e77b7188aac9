"""Which files of a folder hold the model."""

import pytest

from engine.checkpoint import INDEX, survey
from engine.errors import ModelRefused
from support.model_folders import edit_json, write_json, write_shards, write_small

FIRST, SECOND = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"


@pytest.fixture
def whole(tmp_path):
    """A small model in one file."""
    write_small(tmp_path / "whole")
    return tmp_path / "whole"


@pytest.fixture
def shards(tmp_path, whole):
    """The same in two shards with an index."""
    folder = tmp_path / "shards"
    folder.mkdir()
    write_shards(folder, whole / "model.safetensors", cut=7)
    return folder


def refusal_of(folder):
    with pytest.raises(ModelRefused) as refusal:
        survey(folder)
    return refusal.value


def test_that_shards_hold_what_the_whole_file_held(whole, shards):
    one, two = survey(whole), survey(shards)
    assert [file.path.name for file in two.files] == [FIRST, SECOND]
    assert two.bytes == one.bytes
    shapes = {name: tensor.shape for name, tensor in one.tensors.items()}
    assert {name: tensor.shape for name, tensor in two.tensors.items()} == shapes
    assert two.file_of("model.norm.weight") == SECOND
    assert one.identity() != two.identity()
    (shards / INDEX).unlink()
    assert survey(shards).identity() == two.identity()


def test_that_all_missing_shards_are_counted(shards):
    (shards / FIRST).unlink()
    (shards / SECOND).unlink()
    assert f"{FIRST} and 1 more is missing" in refusal_of(shards).message


def test_that_a_broken_shard_is_named(shards):
    (shards / SECOND).write_bytes((shards / SECOND).read_bytes()[:-1])
    error = refusal_of(shards)
    assert error.code == "weights_incomplete"
    assert error.message.startswith(SECOND)


def test_that_a_tensor_in_two_shards_is_named(shards):
    (shards / SECOND).write_bytes((shards / FIRST).read_bytes())
    error = refusal_of(shards)
    assert error.code == "weights_twice"
    assert FIRST in error.message
    assert SECOND in error.message


@pytest.mark.parametrize(
    "name", ["../x.safetensors", "/tmp/x.safetensors", "a\\b.safetensors", "x.bin", 3, "", None]
)
def test_that_an_index_cannot_point_outside(shards, name):
    edit_json(shards / INDEX, lambda index: index["weight_map"].update(x=name))
    error = refusal_of(shards)
    assert error.code == "weights_index"
    assert "unsafe" in error.message


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"weight_map": []}', '{"weight_map": {}}'])
def test_that_a_broken_index_is_named_when_no_whole_file_is_there(shards, text):
    (shards / INDEX).write_text(text)
    error = refusal_of(shards)
    assert error.code == "weights_index"
    assert INDEX in error.message


def test_that_an_index_that_is_a_pointer_is_called_so(shards):
    (shards / INDEX).write_text("version https://git-lfs.github.com/spec/v1\n")
    assert "Git LFS pointer" in refusal_of(shards).message


def test_that_a_stale_index_beside_a_broken_whole_file_is_no_excuse(whole):
    write_json(whole / INDEX, {"weight_map": {"x": FIRST}})
    data = (whole / "model.safetensors").read_bytes()
    (whole / "model.safetensors").write_bytes(data[:-1])
    assert refusal_of(whole).code == "weights_incomplete"


OTHERS = {
    "nothing": ([], "there is none"),
    "PyTorch": (["pytorch_model.bin"], "there is only PyTorch files"),
    "GGUF": (["x.gguf"], "there is only GGUF files"),
    "a stray file": (["consolidated.safetensors"], "there is only consolidated.safetensors"),
    "shards of none": (["model-00001-of-00000.safetensors"], "there is only model-00001"),
}


@pytest.mark.parametrize("case", OTHERS)
def test_that_a_folder_without_weights_says_what_it_has(case, tmp_path):
    names, words = OTHERS[case]
    for name in names:
        (tmp_path / name).write_bytes(b"x")
    error = refusal_of(tmp_path)
    assert error.code == "weights_missing"
    assert words in error.message
