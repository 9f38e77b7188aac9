"""O-13: index and shards disagree (Blaizzy/mlx-vlm 1464 and 1827, Neph0s/CoSER 3)."""

import mlx.core as mx
import pytest

from engine.checkpoint import INDEX, survey
from engine.errors import ModelRefused
from engine.loading import load_target
from support.model_folders import edit_json, linked, write_shards
from support.tiny import uncached

FIRST, SECOND = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"
PROMPT = [504, 3575, 282, 4649, 314]  # The capital of France is


@pytest.fixture(scope="module")
def reply(starter):
    """What the starter goes on with."""
    return reply_of(starter)


def reply_of(folder):
    return uncached(load_target(folder, lambda done, total: None).model, PROMPT, 4)


@pytest.fixture
def halves(tmp_path, starter):
    """The starter in two shards."""
    folder = linked(tmp_path / "halves", starter)
    (folder / "model.safetensors").unlink()
    write_shards(folder, starter / "model.safetensors", cut=300)
    return folder


def test_that_two_shards_answer_as_the_whole_file(halves, reply):
    assert reply_of(halves) == reply


@pytest.mark.parametrize("indexed", [True, False])
def test_that_a_missing_shard_is_named(halves, indexed):
    (halves / SECOND).unlink()
    if not indexed:
        (halves / INDEX).unlink()
    with pytest.raises(ModelRefused, match=SECOND) as refusal:
        load_target(halves, lambda done, total: None)
    assert refusal.value.code == "weights_missing"


@pytest.mark.parametrize("indexed", [True, False])
def test_that_a_stray_file_is_left_alone(halves, reply, indexed):
    stray = {"model.norm.weight": mx.zeros((576,)), "model.embed_tokens.weight": mx.zeros((8, 8))}
    mx.save_safetensors(str(halves / "consolidated.safetensors"), stray)
    if not indexed:
        (halves / INDEX).unlink()
    assert reply_of(halves) == reply


@pytest.mark.parametrize(
    "stale", ['{"weight_map": {"x": "model-00001-of-00009.safetensors"}}', "{"]
)
def test_that_one_whole_file_counts_more_than_a_stale_index(tmp_path, starter, reply, stale):
    folder = linked(tmp_path / "stale", starter)
    (folder / INDEX).write_text(stale)
    assert reply_of(folder) == reply


def test_that_a_tensor_in_the_wrong_shard_is_named(halves):
    edit_json(
        halves / INDEX,
        lambda index: index["weight_map"].update({"model.norm.weight": FIRST}),
    )
    assert "model.norm.weight" not in survey_of(halves, FIRST).tensors
    with pytest.raises(ModelRefused) as refusal:
        load_target(halves, lambda done, total: None)
    assert refusal.value.code == "weights_index"
    assert "model.norm.weight" in refusal.value.message
    assert FIRST in refusal.value.message


def survey_of(folder, name):
    """One file of the folder, its index put aside."""
    index = folder / INDEX
    text = index.read_text()
    index.unlink()
    files = {file.path.name: file for file in survey(folder).files}
    index.write_text(text)
    return files[name]
