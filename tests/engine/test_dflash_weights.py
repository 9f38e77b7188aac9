"""The tensors of Laguna's drafter: one exact set, every misfit named, no memory left."""

import gc

import mlx.core as mx
import numpy as np
import pytest
from mlx.utils import tree_flatten

from engine.drafters import open_drafter, taps
from engine.errors import DrafterRefused
from engine.target import Target
from support.drafters import write_drafter
from support.tiny_dflash import DRAFTER, WIDE, random_weights
from support.tiny_laguna import TARGET, tiny_laguna


@pytest.fixture(scope="module")
def laguna():
    return Target(tiny_laguna(), dict(TARGET), (1, 3, 4))


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
    assert all((refusal.value.message, refusal.value.safe, refusal.value.action))
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
