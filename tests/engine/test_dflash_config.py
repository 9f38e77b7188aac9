"""What a folder of Laguna's drafter may say, and the sentence for everything else."""

import json
from pathlib import Path

import numpy as np
import pytest

from engine.drafters import open_drafter, precision
from engine.drafters.dflash_config import check, is_dflash
from engine.drafters.dflash_weights import shapes
from engine.errors import DrafterRefused, ModelRefused
from engine.loading import check as check_model
from engine.request import DrafterOptions
from engine.target import Target
from support.drafters import changed, write_drafter
from support.published import XS, S
from support.tiny import tiny, tiny_config
from support.tiny_dflash import DRAFTER, random_weights
from support.tiny_dspark import DEEPSPEC, LIQUID
from support.tiny_laguna import TARGET, tiny_laguna


@pytest.fixture(scope="module")
def laguna():
    return Target(tiny_laguna(), dict(TARGET), (1, 3, 4))


@pytest.mark.parametrize(
    ("config", "tensors", "parameters"), [(XS, 58, 462_064_896), (S, 69, 1_114_977_792)]
)
def test_that_published_configs_have_the_published_sizes(config, tensors, parameters):
    checked = check(config)
    wanted = shapes(checked)
    assert len(wanted) == tensors
    assert sum(int(np.prod(shape)) for shape in wanted.values()) == parameters
    assert checked.windows == (512,) * config["num_hidden_layers"]
    assert (checked.block, checked.mask_id, checked.rope_theta) == (16, 12, 500000.0)
    assert list(checked.taps) == config["dflash_config"]["target_layer_ids"]


def test_that_fields_may_be_left_out_where_there_is_a_default():
    bare = changed(
        XS, head_dim=..., rms_norm_eps=..., rope_theta=..., sliding_window=..., num_experts=...,
        draft_vocab_size=..., dflash_config__block_size=..., dflash_config__causal=...,
        architectures=..., eagle_aux_hidden_state_layer_ids=..., attention_bias=..., gating=True,
    )  # fmt: skip
    checked = check(bare)
    assert checked.head_dim == 2048 // 64
    assert (checked.eps, checked.rope_theta, checked.block) == (1e-6, 500000.0, 16)
    assert checked.windows == (512,) * 5
    same = changed(XS, rope_parameters={"rope_type": "default", "rope_theta": 500000.0})
    assert check(same) == check(XS)


@pytest.mark.parametrize(
    ("config", "found"),
    [
        (DRAFTER, True),
        (changed(DRAFTER, model_type=...), True),
        (changed(DRAFTER, architectures=...), True),
        (changed(DRAFTER, architectures=..., model_type="qwen3"), False),
        (changed(DRAFTER, speculators_model_type="dflash"), False),
        (dict(TARGET), False),
        (dict(TARGET) | {"architectures": ["LagunaForCausalLM"]}, False),
        ({}, False),
    ],
)
def test_that_the_drafter_is_told_from_its_target(config, found):
    assert is_dflash(config) is found


@pytest.mark.parametrize("text", [None, "", "[1]", '{"model_type": "laguna", '])
def test_that_a_folder_without_a_readable_config_is_no_drafter(text, laguna, tmp_path):
    if text is not None:
        (tmp_path / "config.json").write_text(text)
    with pytest.raises(DrafterRefused, match=r"config\.json"):
        open_drafter(tmp_path, laguna)
    with pytest.raises(ModelRefused, match=r"config\.json") as refusal:
        check_model(tmp_path)
    assert "drafter" not in refusal.value.message


BAD = {
    "causal": ({"dflash_config__causal": False}, "causal is false; allowed is true"),
    "draft vocabulary": ({"draft_vocab_size": 32}, "draft_vocab_size is 32; allowed is 64"),
    "taps repeated": ({"dflash_config__target_layer_ids": [1, 3, 3]}, "3 increasing layers"),
    "taps descending": ({"dflash_config__target_layer_ids": [3, 1, 4]}, "target_layer_ids is [3, 1, 4]"),
    "tap beyond": ({"dflash_config__target_layer_ids": [1, 3, 5]}, "below 5, the num_target_layers"),
    "tap negative": ({"dflash_config__target_layer_ids": [-1, 3, 4]}, "from 0 to 511"),
    "two taps": ({"dflash_config__target_layer_ids": [1, 3]}, "as many as num_hidden_layers"),
    "no taps": ({"dflash_config__target_layer_ids": ...}, "target_layer_ids is missing"),
    "off by one": ({"eagle_aux_hidden_state_layer_ids": [1, 3, 4]}, "each one higher"),
    "per element": ({"gating": "per-element"}, 'gating is "per-element"; allowed is "per-head" or true'),
    "no gate": ({"gating": False}, "gating is false"),
    "gate missing": ({"gating": ...}, "gating is missing"),
    "full layer": ({"layer_types": ["sliding_attention", "full_attention", "sliding_attention"]}, "a list of sliding_attention"),
    "two layers": ({"layer_types": ["sliding_attention"] * 2}, "allowed is a list of 3"),
    "no layers": ({"layer_types": ...}, "layer_types is missing"),
    "mask outside": ({"dflash_config__mask_token_id": 64}, "mask_token_id is 64; allowed is an id below 64"),
    "mask missing": ({"dflash_config__mask_token_id": ...}, "mask_token_id is missing"),
    "no layer count": ({"dflash_config__num_target_layers": ...}, "num_target_layers is missing"),
    "windows": ({"sliding_windows": [6, 6]}, "sliding_windows is \"a list of 2\"; allowed is a list of 3"),
    "window in windows": ({"sliding_windows": [6, 1, 6]}, "sliding_windows is [6, 1, 6]"),
    "block 1": ({"dflash_config__block_size": 1}, "block_size is 1; allowed is an integer from 2 to 512"),
    "block 513": ({"dflash_config__block_size": 513}, "block_size is 513"),
    "block 65536": ({"dflash_config__block_size": 65536}, "block_size is 65536"),
    "block true": ({"dflash_config__block_size": True}, "block_size is true"),
    "window 1": ({"sliding_window": 1}, "sliding_window is 1"),
    "window 2^40": ({"sliding_window": 2**40}, f"sliding_window is {2**40}"),
    "bias": ({"attention_bias": True}, "attention_bias is true"),
    "qkv bias": ({"qkv_bias": True}, "qkv_bias is true"),
    "scaled": ({"rope_scaling": {"type": "yarn"}}, "rope_scaling is {'type': 'yarn'}"),
    "partial": ({"partial_rotary_factor": 0.5}, "partial_rotary_factor is 0.5"),
    "yarn": ({"rope_parameters": {"rope_type": "yarn", "factor": 4.0}}, "rope_parameters is {"),
    "other theta": ({"rope_parameters": {"rope_type": "default", "rope_theta": 1e4}}, "theta 500000"),
    "theta infinite": ({"rope_theta": float("inf")}, "rope_theta is inf"),
    "eps": ({"rms_norm_eps": 0.0}, "rms_norm_eps is 0.0"),
    "experts": ({"num_experts": 4}, "num_experts is 4"),
    "other type": ({"model_type": "qwen3"}, 'model_type is "qwen3"; allowed is laguna'),
    "other class": ({"architectures": ["LagunaForCausalLM"]}, "allowed is DFlashLagunaForCausalLM"),
    "kv heads": ({"num_key_value_heads": 3}, "a divisor of the 4 heads"),
    "odd head": ({"head_dim": 7}, "head_dim is 7; allowed is an even number"),
    "no hidden": ({"hidden_size": ...}, "hidden_size is missing"),
    "layers true": ({"num_hidden_layers": True}, "num_hidden_layers is true"),
    "dflash_config a list": ({"dflash_config": [1]}, "dflash_config is [1]; allowed is an object"),
    "quantization": ({"quantization": {"bits": 5}}, "quantization.group_size is missing"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_that_a_bad_field_is_named_with_its_bounds(name, laguna, tmp_path):
    fields, words = BAD[name]
    write_drafter(tmp_path, changed(DRAFTER, **fields), random_weights(DRAFTER))
    with pytest.raises(DrafterRefused) as refusal:
        open_drafter(tmp_path, laguna)
    assert words in refusal.value.message
    assert all((refusal.value.message, refusal.value.safe, refusal.value.action))


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"dflash_config__num_target_layers": 48}, "number of layers is 48, this one's is 5"),
        ({"vocab_size": 65, "draft_vocab_size": 65}, "vocabulary is 65, this one's is 64"),
        ({"hidden_size": 32}, "hidden size is 32, this one's is 16"),
    ],
)
def test_that_another_targets_drafter_is_refused_before_its_weights(
    fields, words, laguna, tmp_path
):
    (tmp_path / "config.json").write_text(json.dumps(changed(DRAFTER, **fields)))
    with pytest.raises(DrafterRefused, match=words):
        open_drafter(tmp_path, laguna)


def test_that_a_laguna_drafter_is_no_llamas(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(DRAFTER))
    with pytest.raises(DrafterRefused, match=r"made for Laguna models.*of the family llama"):
        open_drafter(tmp_path, Target(tiny(3), tiny_config(), (0, 1)))


@pytest.mark.parametrize("config", [LIQUID, DEEPSPEC], ids=["liquid", "deepspec"])
def test_that_a_dspark_drafter_is_no_lagunas(config, laguna, tmp_path):
    # Even where every shape would fit.
    taps = {"target_layer_ids": [1, 3], "num_target_layers": 5, "mask_token_id": 12}
    config = config | {"hidden_size": 16, "vocab_size": 64} | taps
    config |= {"dflash_config": taps} if "dflash_config" in config else {}
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(DrafterRefused, match="the target is of the family laguna"):
        open_drafter(tmp_path, laguna)


@pytest.mark.parametrize(
    ("options", "words"),
    [(DrafterOptions(bits=8), "not in 8 bits"), (DrafterOptions(confidence=0.5), "no confidence")],
)
def test_that_options_of_other_drafters_are_refused(options, words, laguna, tmp_path):
    write_drafter(tmp_path, DRAFTER, random_weights(DRAFTER))
    with pytest.raises(DrafterRefused, match=words):
        open_drafter(tmp_path, laguna, options)


@pytest.mark.parametrize(
    ("target", "drafter", "words"),
    [
        ("Laguna-S-2.1-INT4", "Laguna-S-2.1-DFlash", "says INT4, its drafter's none"),
        ("Laguna-S-2.1", "Laguna-S-2.1-DFlash-NVFP4", "says no precision, its drafter's NVFP4"),
        ("Laguna-XS-2.1-FP8", "Laguna-XS-2.1-DFlash-INT4", "says FP8, its drafter's INT4"),
        ("Laguna-XS-2.1-FP8", "Laguna-XS-2.1-DFlash-fp8", ""),
        ("Laguna-XS-2.1", "Laguna-XS-2.1-DFlash", ""),
        ("Laguna-XS-2.1-4bit", "Laguna-XS-2.1-DFlash", ""),  # converted from bfloat16
        ("models--poolside--Laguna-S-2.1-INT4/snapshots/int8", "x-DFlash", "says INT4"),
        ("models--poolside--Laguna-S-2.1/snapshots/fp8", "Laguna-S-2.1-DFlash", ""),
    ],
)
def test_that_names_of_different_precisions_are_warned_about(target, drafter, words):
    found = precision.note(Path("/models") / target, Path("/models") / drafter)
    assert words in found
    assert bool(found) == bool(words)


@pytest.mark.parametrize("config", [DRAFTER, changed(DRAFTER, architectures=...)])
def test_that_a_drafter_opened_as_a_model_explains_itself(config, tmp_path):
    write_drafter(tmp_path, config, random_weights(DRAFTER))
    with pytest.raises(ModelRefused, match="a drafter"):
        check_model(tmp_path)
