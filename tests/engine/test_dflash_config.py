"""What a folder of Laguna's drafter may say, and the sentence for everything else."""

import copy
import gc
import json
import random

import mlx.core as mx
import numpy as np
import pytest
from mlx.utils import tree_flatten

from engine.drafters import open_drafter, taps
from engine.drafters.dflash_config import check, is_dflash
from engine.drafters.dflash_weights import shapes
from engine.errors import DrafterRefused, ModelRefused
from engine.loading import check as check_model
from engine.target import Target
from support.tiny import tiny, tiny_config
from support.tiny_dflash import DRAFTER, WIDE, random_weights, write_drafter
from support.tiny_laguna import TARGET, tiny_laguna

# The published values, in the words of the files.
XS = DRAFTER | {
    "hidden_size": 2048,
    "intermediate_size": 8192,
    "num_hidden_layers": 5,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "vocab_size": 100352,
    "draft_vocab_size": 100352,
    "rope_theta": 500000.0,
    "sliding_window": 512,
    "layer_types": ["sliding_attention"] * 5,
    "max_position_embeddings": 262144,
    "dflash_config": {
        "block_size": 16,
        "mask_token_id": 12,
        "causal": True,
        "num_target_layers": 40,
        "target_layer_ids": [1, 13, 25, 33, 39],
    },
    "eagle_aux_hidden_state_layer_ids": [2, 14, 26, 34, 40],
}
S = XS | {
    "hidden_size": 3072,
    "intermediate_size": 12288,
    "num_hidden_layers": 6,
    "num_attention_heads": 72,
    "sliding_windows": [512] * 6,
    "layer_types": ["sliding_attention"] * 6,
    "max_position_embeddings": 1048576,
    "dflash_config": {
        "block_size": 16,
        "mask_token_id": 12,
        "causal": True,
        "num_target_layers": 48,
        "target_layer_ids": [1, 10, 19, 29, 38, 47],
    },
    "eagle_aux_hidden_state_layer_ids": [2, 11, 20, 30, 39, 48],
}


@pytest.fixture(scope="module")
def laguna():
    return Target(tiny_laguna(), dict(TARGET), (1, 3, 4))


def changed(config, **fields):
    """The config with fields set, nested by a double underscore; `...` takes one away."""
    config = copy.deepcopy(config)
    for name, value in fields.items():
        *path, last = name.split("__")
        place = config
        for step in path:
            place = place[step]
        if value is ...:
            del place[last]
        else:
            place[last] = value
    return config


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
    assert all(_parts(refusal.value))


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


@pytest.mark.parametrize("config", [DRAFTER, changed(DRAFTER, architectures=...)])
def test_that_a_drafter_opened_as_a_model_explains_itself(config, tmp_path):
    write_drafter(tmp_path, config, random_weights(DRAFTER))
    with pytest.raises(ModelRefused, match="a drafter"):
        check_model(tmp_path)


QKV = "layers.0.self_attn.qkv_proj.weight"


def split(weights, prefix=""):
    """Every fused matrix as q, k and v."""
    found = {}
    for name, array in weights.items():
        if ".qkv_proj." not in name:
            found[prefix + name] = array
            continue
        for part, rows in zip("qkv", np.split(array, [32, 48]), strict=True):
            found[prefix + name.replace("qkv_proj", f"{part}_proj")] = rows
    return found


def _set(name, array):
    return lambda w: w | {name: array(w) if callable(array) else array}


def _without(name):
    return lambda w: {key: value for key, value in w.items() if key != name}


WEIGHTS = {
    "missing": (_without("aux_hidden_norms.1.weight"), "missing: aux_hidden_norms.1.weight"),
    "stray": (_set("embed_tokens.weight", np.zeros((64, 16), np.float32)), "unexpected: embed_tokens.weight"),
    "both spellings": (_set("model.norm.weight", lambda w: w["norm.weight"]), "norm.weight, which cannot be reconciled"),
    "fused and split": (_set("layers.0.self_attn.q_proj.weight", np.zeros((32, 16), np.float32)), f"both {QKV} and a separate"),
    "incomplete": (lambda w: _without("layers.1.self_attn.k_proj.weight")(split(w)), "incomplete trio: layers.1.self_attn.k_proj.weight is missing"),
    "trailing": (lambda w: split(w) | {"layers.0.self_attn.k_proj.weight": np.zeros((16, 8), np.float32)}, "cannot be joined along axis 0"),
    "qkv rows": (_set(QKV, lambda w: w[QKV][:60]), f"{QKV} as 60 x 16, expected is 64 x 16"),
    "fc rows": (_set("fc.weight", lambda w: w["fc.weight"][:8]), "fc.weight as 8 x 48, expected is 16 x 48"),
    "g rows": (_set("layers.0.self_attn.g_proj.weight", np.zeros((2, 16), np.float32)), "g_proj.weight as 2 x 16, expected is 4 x 16"),
    "o columns": (_set("layers.0.self_attn.o_proj.weight", np.zeros((16, 16), np.float32)), "o_proj.weight as 16 x 16, expected is 16 x 32"),
    "q_norm": (_set("layers.0.self_attn.q_norm.weight", np.ones(16, np.float32)), "q_norm.weight as 16, expected is 8"),
    "gate rows": (_set("layers.0.mlp.gate_proj.weight", np.zeros((8, 16), np.float32)), "gate_proj.weight as 8 x 16, expected is 24 x 16"),
    "integers": (_set("norm.weight", np.ones(16, np.int32)), "norm.weight as I32"),
    "nan": (_set("norm.weight", np.full(16, np.nan, np.float32)), "not finite"),
    "side-car of a norm": (_set("norm.scales", np.ones(16, np.float32)), "unexpected: norm.scales"),
    "side-car undeclared": (_set("fc.scales", np.ones((16, 1), np.float32)), "fc packed, and config.json has no quantization"),
    "biases alone": (_set("fc.biases", np.ones((16, 1), np.float32)), "fc.biases without fc.scales"),
}  # fmt: skip


@pytest.mark.parametrize("name", WEIGHTS)
def test_that_misfitting_weights_are_refused_and_leave_no_memory(name, laguna, tmp_path):
    change, words = WEIGHTS[name]
    write_drafter(tmp_path, DRAFTER, change(random_weights(DRAFTER)))
    gc.collect()
    mx.clear_cache()
    before = mx.get_active_memory()
    with pytest.raises(DrafterRefused) as refusal:
        open_drafter(tmp_path, laguna)
    assert words in refusal.value.message
    assert all(_parts(refusal.value))
    del refusal
    gc.collect()
    assert mx.get_active_memory() <= before


def test_that_split_and_prefixed_tensors_are_the_fused_ones(laguna, tmp_path):
    weights = random_weights(DRAFTER)
    write_drafter(tmp_path / "split", DRAFTER, split(weights, "model."))
    opened = open_drafter(tmp_path / "split", laguna)
    for i in range(3):
        name = f"layers.{i}.self_attn.qkv_proj.weight"
        assert mx.array_equal(
            opened.model.layers[i].self_attn.qkv_proj.weight, mx.array(weights[name])
        )
    assert (opened.name, opened.tapped, opened.block) == ("split", (1, 3, 4), 3)
    assert opened.nbytes == 4 * sum(array.size for array in weights.values())
    assert taps(tmp_path / "split") == (1, 3, 4)


def test_that_half_precision_is_cast_to_the_targets(laguna, tmp_path):
    weights = {name: array.astype(np.float16) for name, array in random_weights(DRAFTER).items()}
    opened = open_drafter(write_drafter(tmp_path, DRAFTER, weights), laguna)
    assert opened.model.fc.weight.dtype == mx.float32


@pytest.mark.parametrize("apart", [False, True], ids=["fused", "split"])
def test_that_packed_projections_are_unpacked_on_a_cpu(apart, tmp_path):
    config = DRAFTER | WIDE | {"quantization": {"group_size": 32, "bits": 4}}
    target = Target(tiny_laguna(TARGET | WIDE), dict(TARGET | WIDE), (1, 3, 4))
    plain, packed = random_weights(config), {}
    for name, array in plain.items():
        path = name.removesuffix(".weight")
        if "norm" in name:
            packed[name] = array
            continue
        parts = {path: array}
        if apart and "qkv" in name:
            rows = np.split(array, [128, 192])
            parts = {path.replace("qkv", p): r for p, r in zip("qkv", rows, strict=True)}
        for part, rows in parts.items():
            found = mx.quantize(mx.array(rows), 32, 4)
            packed |= {
                f"{part}.{leaf}": a
                for leaf, a in zip(("weight", "scales", "biases"), found, strict=True)
            }
            plain[name] = mx.dequantize(*mx.quantize(mx.array(array), 32, 4), 32, 4)
    opened = open_drafter(write_drafter(tmp_path, config, packed), target)
    own = dict(tree_flatten(opened.model.parameters()))
    assert own.keys() == plain.keys()
    assert all(mx.array_equal(own[name], mx.array(plain[name])) for name in plain)


def test_that_packings_that_disagree_with_the_config_are_refused(tmp_path):
    config = DRAFTER | WIDE
    config |= {"quantization": {"group_size": 32, "bits": 4, "fc": {"group_size": 64, "bits": 8}}}
    target = Target(tiny_laguna(TARGET | WIDE), dict(TARGET | WIDE), (1, 3, 4))
    weights = random_weights(config)
    found = mx.quantize(mx.array(weights.pop("fc.weight")), 32, 4)
    weights |= {
        f"fc.{leaf}": a for leaf, a in zip(("weight", "scales", "biases"), found, strict=True)
    }
    write_drafter(tmp_path, config, weights)
    with pytest.raises(
        DrafterRefused, match="fc with 4 bits in groups of 32, and quantization says 8"
    ):
        open_drafter(tmp_path, target)
    weights["fc.scales"] = weights["fc.scales"][:8]
    write_drafter(tmp_path, config, weights)
    with pytest.raises(DrafterRefused, match=r"fc\.weight packed as"):
        open_drafter(tmp_path, target)


def _parts(error):
    return error.message, error.safe, error.action


def _refusal(folder, target):
    """The refusal of a folder, None if it opened; any other exception is a failure."""
    try:
        open_drafter(folder, target)
    except DrafterRefused as error:
        return error
    return None


ODD = (
    None, True, False, 0, -1, 1, 2, 7, 10**30, 2**31, 1.5, float("inf"), float("nan"), "", "x",
    "silu", "per-head", [], [0], [1, 0], ["sliding_attention"], {}, {"rope_type": "yarn"}, [[[]]],
)  # fmt: skip


def _mutated(rng):
    config = copy.deepcopy(DRAFTER)
    for _ in range(rng.randint(1, 3)):
        nested = isinstance(config.get("dflash_config"), dict) and rng.random() < 0.4
        place = config["dflash_config"] if nested else config
        name = rng.choice([*place, "sliding_windows", "quantization", "rope_parameters"])
        if rng.random() < 0.2:
            place.pop(name, None)
        else:
            place[name] = copy.deepcopy(rng.choice(ODD))
    return config


def test_that_mutated_configs_give_named_refusals_only(laguna, tmp_path):
    rng = random.Random(5)
    write_drafter(tmp_path, DRAFTER, random_weights(DRAFTER))
    opened = refused = 0
    for _ in range(700):
        (tmp_path / "config.json").write_text(json.dumps(_mutated(rng)))
        refusal = _refusal(tmp_path, laguna)
        opened, refused = opened + (refusal is None), refused + (refusal is not None)
        assert refusal is None or all(_parts(refusal))
    assert opened > 20
    assert refused > 200


def test_that_mutated_files_give_named_refusals_only(laguna, tmp_path):
    rng = random.Random(6)
    write_drafter(tmp_path, DRAFTER, random_weights(DRAFTER))
    file = tmp_path / "model.safetensors"
    whole = file.read_bytes()
    header = 8 + int.from_bytes(whole[:8], "little")
    gc.collect()
    mx.clear_cache()
    before = mx.get_active_memory()
    for _ in range(300):
        data = bytearray(whole)
        for _ in range(rng.randint(1, 4)):
            data[rng.randrange(header)] = rng.randrange(256)
        if rng.random() < 0.2:
            data = data[: rng.randrange(len(data))]
        file.write_bytes(data)
        refusal = _refusal(tmp_path, laguna)
        assert refusal is None or all(_parts(refusal))
    gc.collect()
    assert mx.get_active_memory() <= before + (1 << 20)
