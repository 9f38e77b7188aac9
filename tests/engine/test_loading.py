"""From a folder to a model."""

import gc

import mlx.core as mx
import numpy as np
import pytest
from mlx import nn
from mlx.utils import tree_flatten

from engine.errors import ModelRefused
from engine.families import FAMILIES
from engine.loading import build, check, load, load_target
from support.model_folders import (
    config_of,
    edit_json,
    resident,
    write_json,
    write_shards,
    write_small,
)

TOKENS = mx.array([[1, 2, 3, 40]])


def unseen(done, total):
    """No progress wanted."""


def quantise(folder, model, group=32, bits=8):
    """Write the model of a folder again with its layers packed."""

    def fits(_, module):
        return hasattr(module, "to_quantized") and module.weight.shape[-1] % group == 0

    nn.quantize(model, group, bits, class_predicate=fits)
    mx.save_safetensors(str(folder / "model.safetensors"), dict(tree_flatten(model.parameters())))
    edit_json(
        folder / "config.json",
        lambda config: config.update(quantization={"group_size": group, "bits": bits}),
    )


@pytest.mark.parametrize("family", FAMILIES)
def test_that_a_loaded_model_says_what_the_written_one_said(family, tmp_path):
    model = write_small(tmp_path, family)
    loaded = load_target(tmp_path, unseen)
    assert mx.array_equal(loaded.model(TOKENS), model(TOKENS))
    assert loaded.config["model_type"] == family
    assert (loaded.dtype, loaded.quantised) == ("float32", False)
    assert loaded.bytes == sum(array.nbytes for _, array in tree_flatten(model.parameters()))


@pytest.mark.parametrize("family", FAMILIES)
def test_that_packed_layers_stay_packed_or_are_unpacked_as_asked(family, tmp_path):
    model = write_small(tmp_path, family)
    quantise(tmp_path, model)
    kept, unpacked = (load_target(tmp_path, unseen, packed=packed) for packed in (True, False))
    assert mx.array_equal(kept.model(TOKENS), model(TOKENS))
    assert (kept.quantised, unpacked.quantised) == (True, False)
    assert kept.bytes < unpacked.bytes
    difference = mx.abs(kept.model(TOKENS) - unpacked.model(TOKENS)).max().item()
    assert difference < 1e-3


def test_that_a_cpu_unpacks_into_float32_without_rounding(tmp_path):
    model = write_small(tmp_path)
    model.set_dtype(mx.float16)
    quantise(tmp_path, model, bits=4)
    layer = model.model.layers[0].mlp.up_proj
    loaded = load_target(tmp_path, unseen)
    found = np.array(loaded.model.model.layers[0].mlp.up_proj.weight)
    # By hand: eight numbers of 4 bits in a word, lowest first; one scale and bias for 32 numbers.
    words = np.array(layer.weight)
    numbers = (words[..., None] >> np.arange(0, 32, 4, dtype=np.uint32)) & 15
    groups = numbers.reshape(*words.shape[:1], -1, 32).astype(np.float64)
    scales, biases = (
        np.array(a).astype(np.float64)[..., None] for a in (layer.scales, layer.biases)
    )
    wanted = (groups * scales + biases).reshape(found.shape)
    assert found.dtype == np.float32
    assert np.abs(found - wanted).max() < 1e-7


def test_that_scales_narrower_than_the_norms_are_widened_once(starter):
    loaded = load_target(starter, unseen, packed=True)
    layer = loaded.model.model.layers[0].self_attn.q_proj
    assert layer.scales.dtype == layer.biases.dtype == mx.float32
    assert (layer.weight.dtype, layer.bits) == (mx.uint32, 4)
    assert loaded.model.model.embed_tokens.bits == 8
    assert loaded.quantised
    assert loaded.dtype == "float32"


def test_that_a_layer_may_differ_from_the_others(tmp_path):
    model = write_small(tmp_path)
    nn.quantize(
        model,
        class_predicate=lambda path, module: (
            {"group_size": 32, "bits": 8 if path.endswith("embed_tokens") else 4}
            if hasattr(module, "to_quantized") and not path.endswith("o_proj")
            else False
        ),
    )
    arrays = dict(tree_flatten(model.parameters()))
    mx.save_safetensors(str(tmp_path / "model.safetensors"), arrays)
    quantization = {
        "group_size": 32,
        "bits": 4,
        "model.embed_tokens": {"group_size": 32, "bits": 8},
        "model.layers.0.self_attn.o_proj": False,
    }
    write_json(tmp_path / "config.json", config_of("llama") | {"quantization": quantization})
    loaded = load_target(tmp_path, unseen, packed=True)
    assert mx.array_equal(loaded.model(TOKENS), model(TOKENS))


QUANTISATIONS = {
    "no object": (3, "quantization is 3"),
    "no bits": ({"group_size": 32}, "quantization.bits is missing"),
    "seven bits": ({"group_size": 32, "bits": 7}, "quantization.bits is 7; allowed is 2 or 3"),
    "a group of 30": ({"group_size": 30, "bits": 8}, "quantization.group_size is 30"),
    "an unknown mode": (
        {"group_size": 32, "bits": 8, "mode": "odd"},
        'quantization.mode is "odd"; allowed is affine',
    ),
    "a layer of text": ({"group_size": 32, "bits": 8, "lm_head": "x"}, "quantization.lm_head is"),
    "a layer said to be plain": (
        {"group_size": 32, "bits": 8, "model.layers.0.mlp.up_proj": False},
        "up_proj is not packed, but model.safetensors holds it with 8 bits",
    ),
}


@pytest.mark.parametrize("case", QUANTISATIONS)
def test_that_a_wrong_quantisation_is_named(case, tmp_path):
    value, words = QUANTISATIONS[case]
    quantise(tmp_path, write_small(tmp_path))
    edit_json(tmp_path / "config.json", lambda config: config.update(quantization=value))
    with pytest.raises(ModelRefused) as refusal:
        check(tmp_path)
    assert words in refusal.value.message


@pytest.mark.parametrize("method", ["gptq", "awq", "bitsandbytes", "compressed-tensors"])
def test_that_a_foreign_quantisation_is_refused_by_name(method, tmp_path):
    write_small(tmp_path)
    edit_json(
        tmp_path / "config.json",
        lambda config: config.update(quantization_config={"quant_method": method, "bits": 4}),
    )
    with pytest.raises(ModelRefused, match=method):
        check(tmp_path)


def change_arrays(folder, change):
    """Change the tensors of a folder; `change` edits a dict of arrays."""
    path = str(folder / "model.safetensors")
    arrays = dict(mx.load(path))
    mx.eval(arrays)
    change(arrays)
    mx.save_safetensors(path, arrays)


MISFITS = {
    "a tensor too few": (lambda a: a.pop("model.norm.weight"), "asks for model.norm.weight"),
    "a tensor too many": (
        lambda a: a.update({"model.extra": mx.zeros(3)}),
        "model.safetensors holds model.extra",
    ),
    "another shape": (
        lambda a: a.update({"model.norm.weight": mx.ones(31)}),
        "model.norm.weight in model.safetensors is 31, expected is 32",
    ),
    "integers": (
        lambda a: a.update({"model.norm.weight": mx.ones(32, mx.int32)}),
        "model.norm.weight in model.safetensors is int32",
    ),
    "no layer": (
        lambda a: [a.pop(name) for name in list(a) if "layers.1" in name],
        "num_hidden_layers is 2; allowed is 1",
    ),
}


@pytest.mark.parametrize("case", MISFITS)
def test_that_tensors_of_another_model_are_named(case, tmp_path):
    change, words = MISFITS[case]
    write_small(tmp_path)
    check(tmp_path)
    change_arrays(tmp_path, change)
    with pytest.raises(ModelRefused) as refusal:
        check(tmp_path)
    assert words in refusal.value.message


def test_that_a_head_that_is_said_to_be_there_is_missed(tmp_path):
    write_small(tmp_path)
    edit_json(tmp_path / "config.json", lambda config: config.update(tie_word_embeddings=False))
    with pytest.raises(ModelRefused, match=r"lm_head.weight.*tie_word_embeddings false"):
        check(tmp_path)


def test_that_a_config_mlx_lm_cannot_use_is_refused_in_words(tmp_path):
    settings = config_of("ministral3")
    settings["rope_parameters"] |= {"beta_fast": 1.0, "beta_slow": 1.0, "rope_theta": 1.0}
    with pytest.raises(
        ModelRefused, match=r"config\.json: it does not describe a ministral3 model"
    ):
        build(settings)


def test_that_a_large_structure_takes_no_memory():
    settings = config_of("llama") | {
        "hidden_size": 8192, "intermediate_size": 28672, "num_hidden_layers": 80,
        "num_attention_heads": 64, "num_key_value_heads": 8, "vocab_size": 128256,
    }  # fmt: skip
    gc.collect()
    before = resident(), mx.get_active_memory()
    model = build(settings)
    assert sum(array.size for _, array in tree_flatten(model.parameters())) > 69e9
    assert mx.get_active_memory() - before[1] < 1e6
    assert resident() - before[0] < 50e6


def test_that_progress_counts_the_bytes_in_memory_to_the_end(starter):
    steps = []
    loaded = load_target(starter, lambda done, total: steps.append((done, total)))
    done, totals = zip(*steps, strict=True)
    assert set(totals) == {loaded.bytes}
    assert (done[0], done[-1]) == (0, loaded.bytes)
    assert list(done) == sorted(set(done))
    assert len(done) > 4


class Stopped(Exception):
    """The user's wish, in a test."""


def test_that_a_stopped_load_gives_its_memory_back(starter):
    gc.collect()
    mx.clear_cache()
    before = mx.get_active_memory()
    seen = []

    def stop(done, total):
        seen.append(mx.get_active_memory() - before)
        if done > total / 2:
            raise Stopped

    with pytest.raises(Stopped):
        load_target(starter, stop)
    assert max(seen) > 200e6
    assert mx.get_active_memory() - before < 1e6
    assert mx.get_cache_memory() < 1e6


def test_that_a_closed_load_gives_its_memory_back(starter):
    gc.collect()
    mx.clear_cache()
    before = mx.get_active_memory()
    steps = load(starter)
    while next(steps).done == 0:
        pass
    assert mx.get_active_memory() - before > 50e6
    steps.close()
    assert mx.get_active_memory() - before < 1e6
    assert mx.get_cache_memory() < 1e6


def test_that_a_file_that_shrinks_while_it_is_read_is_named(tmp_path):
    write_small(tmp_path)
    before = mx.get_active_memory()
    steps = load(tmp_path)
    next(steps)
    with (tmp_path / "model.safetensors").open("r+b") as file:
        file.truncate(4096)
    with pytest.raises(ModelRefused) as refusal:
        next(steps)
    assert refusal.value.code == "weights_unreadable"
    assert tmp_path.name in refusal.value.message
    assert mx.get_active_memory() <= before


def test_that_dropping_a_model_gives_its_memory_back(starter):
    gc.collect()
    mx.clear_cache()
    before = mx.get_active_memory()
    loaded = load_target(starter, unseen)
    assert mx.get_active_memory() - before >= loaded.bytes
    del loaded
    gc.collect()
    mx.clear_cache()
    assert mx.get_active_memory() - before < 1e6
    assert mx.get_cache_memory() < 1e6


def test_that_identity_tells_models_apart_and_copies_do_not_differ(tmp_path):
    first, again, other, retold = (tmp_path / name for name in ("1", "2", "3", "4"))
    for folder, seed in ((first, 1), (again, 1), (other, 2), (retold, 1)):
        write_small(folder, seed=seed)
    edit_json(retold / "config.json", lambda config: config.update(rope_theta=5000.0))
    identities = [load_target(folder, unseen).identity for folder in (first, again, other, retold)]
    assert identities[0] == identities[1]
    assert len(set(identities)) == 3


def test_that_shards_and_whole_file_load_the_same_numbers(tmp_path):
    model = write_small(tmp_path / "whole")
    (tmp_path / "shards").mkdir()
    write_shards(tmp_path / "shards", tmp_path / "whole" / "model.safetensors", cut=5)
    write_json(tmp_path / "shards" / "config.json", config_of("llama"))
    assert mx.array_equal(load_target(tmp_path / "shards", unseen).model(TOKENS), model(TOKENS))
