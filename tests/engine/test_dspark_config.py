"""What a drafter folder may say, and the sentence for everything else."""

import gc
import json

import mlx.core as mx
import pytest

from engine.drafters import open_drafter, taps
from engine.drafters.dspark_config import DEEPSPEC as FLAT
from engine.drafters.dspark_config import LIQUID as NESTED
from engine.drafters.dspark_config import ZLAB as THIRD
from engine.drafters.dspark_config import check, packaging
from engine.drafters.dspark_weights import shapes
from engine.errors import DrafterRefused
from engine.request import DrafterOptions
from engine.target import Target
from support.drafters import changed, write_drafter
from support.published_dspark import CONFIGS, PARAMETERS
from support.tiny import tiny, tiny_config
from support.tiny_dspark import DEEPSPEC, LIQUID, random_weights
from support.tiny_lfm2 import DENSE, tiny_lfm2


@pytest.fixture(scope="module")
def lfm2():
    return Target(tiny_lfm2(DENSE), dict(DENSE), (0, 2))


@pytest.fixture(scope="module")
def llama():
    return Target(tiny(3), tiny_config(), (0, 1))


@pytest.mark.parametrize(
    ("config", "parameters"), [(CONFIGS[name], PARAMETERS[name]) for name in CONFIGS], ids=CONFIGS
)
def test_that_published_configs_have_the_published_sizes(config, parameters):
    checked = check(config)
    wanted = shapes(checked)
    sizes = [shape[0] * (shape[1] if len(shape) > 1 else 1) for shape in wanted.values()]
    assert len(wanted) == 62
    assert sum(sizes) == parameters
    assert (checked.block, checked.traditional) == (9, True)
    assert checked.mask_id == config["dflash_config"]["mask_token_id"]
    assert list(checked.taps) == config["dflash_config"]["target_layer_ids"]


def test_that_deepspecs_published_config_rotates_halves():
    checked = check(changed(DEEPSPEC, rope_theta=..., rope_parameters__rope_theta=1e6))
    assert (checked.packaging, checked.traditional, checked.block) == (FLAT, False, 4)
    assert checked.rope_theta == 1e6


@pytest.mark.parametrize(
    ("config", "kind"),
    [
        (LIQUID, NESTED),
        (changed(LIQUID, architectures=...), NESTED),
        (DEEPSPEC, FLAT),
        (changed(DEEPSPEC, architectures=...), FLAT),
        (dict(DENSE), ""),
        (dict(tiny_config()), ""),
        (changed(LIQUID, dflash_config__projector_type="dspark"), ""),
        (changed(LIQUID, speculators_model_type="dspark"), ""),
        (changed(DEEPSPEC, architectures=["Gemma4DSparkModel"]), ""),
        (changed(LIQUID, architectures=["DFlashDraftModel"], markov_rank=...), THIRD),
    ],
)
def test_that_packagings_are_told_apart(config, kind):
    assert packaging(config) == kind


BAD = {
    "no dflash_config": ({"dflash_config": ...}, "dflash_config is missing; allowed is an object"),
    "dflash_config a list": ({"dflash_config": [1]}, "dflash_config is [1]"),
    "taps unordered": ({"dflash_config__target_layer_ids": [2, 0]}, "1 to 32 increasing layers below 4"),
    "taps repeated": ({"dflash_config__target_layer_ids": [2, 2]}, "increasing"),
    "taps empty": ({"dflash_config__target_layer_ids": []}, "target_layer_ids is []"),
    "tap beyond": ({"dflash_config__target_layer_ids": [0, 4]}, "below 4, the num_target_layers"),
    "tap of the embedding": ({"dflash_config__target_layer_ids": [-1, 2]}, "from 0 to 511"),
    "mask outside": ({"dflash_config__mask_token_id": 96}, "mask_token_id is 96; allowed is an id below 96"),
    "mask negative": ({"dflash_config__mask_token_id": -1}, "mask_token_id is -1"),
    "no mask": ({"dflash_config__mask_token_id": ...}, "mask_token_id is missing"),
    "no layer count": ({"dflash_config__num_target_layers": ...}, "num_target_layers is missing"),
    "block 0": ({"block_size": 0}, "block_size is 0; allowed is an integer from 1 to 31"),
    "block 32": ({"block_size": 32}, "block_size is 32"),
    "gelu": ({"hidden_act": "gelu"}, 'hidden_act is "gelu"; allowed is silu'),
    "no rank": ({"markov_rank": ...}, "markov_rank is missing"),
    "rank 0": ({"markov_rank": 0}, "markov_rank is 0"),
    "gated head": ({"markov_head_type": "gated"}, 'markov_head_type is "gated"; allowed is vanilla'),
    "kv heads": ({"num_key_value_heads": 3}, "a divisor of the 4 heads"),
    "odd head": ({"head_dim": 15}, "head_dim is 15; allowed is an even number"),
    "65 layers": ({"num_hidden_layers": 65}, "num_hidden_layers is 65"),
    "reduced": ({"draft_vocab_size": 40}, "draft_vocab_size is 40; allowed is 96"),
    "no eps": ({"rms_norm_eps": ...}, "rms_norm_eps is missing"),
    "no theta": ({"rope_theta": ...}, "rope_theta is missing"),
    "theta infinite": ({"rope_theta": float("inf")}, "rope_theta is inf"),
    "no style": ({"rope_is_neox_style": ...}, "rope_is_neox_style is missing"),
    "style 1": ({"rope_is_neox_style": 1}, "rope_is_neox_style is 1"),
    "scaled": ({"rope_scaling": {"type": "yarn"}}, "rope_scaling is {'type': 'yarn'}"),
    "yarn": ({"rope_parameters": {"rope_type": "yarn"}}, 'rope_type is "yarn"; allowed is default'),
    "sliding": ({"layer_types": ["full_attention", "sliding_attention"]}, "a list of full_attention"),
    "three kinds": ({"layer_types": ["full_attention"] * 3}, "allowed is a list of 2"),
    "causal": ({"is_causal": True}, "is_causal is true"),
    "window": ({"sliding_window": 512}, "sliding_window is 512"),
    "bias": ({"attention_bias": True}, "attention_bias is true"),
    "softcap": ({"final_logit_softcapping": 30.0}, "final_logit_softcapping is 30.0"),
    "noise": ({"log_snr_conditioning": True}, "log_snr_conditioning is true"),
    "anchor": ({"sample_from_anchor": False}, "sample_from_anchor is false; allowed is true"),
    "confidence bare": ({"confidence_head_with_markov": False}, "confidence_head_with_markov is false"),
    "confidence text": ({"enable_confidence_head": "yes"}, 'enable_confidence_head is "yes"'),
    "packed": ({"quantization": {"bits": 4}}, "quantization is {'bits': 4}"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_that_a_bad_field_is_named_with_its_bounds(name, lfm2, tmp_path):
    fields, words = BAD[name]
    write_drafter(tmp_path, changed(LIQUID, **fields), {"x": random_weights(LIQUID)["norm.weight"]})
    with pytest.raises(DrafterRefused) as refusal:
        open_drafter(tmp_path, lfm2)
    assert words in refusal.value.message
    assert all(_parts(refusal.value))


def test_that_a_missing_folder_is_a_refused_drafter(lfm2, tmp_path):
    with pytest.raises(DrafterRefused, match="no folder"):
        open_drafter(tmp_path / "gone", lfm2)


@pytest.mark.parametrize(
    ("config", "words"),
    [
        (DEEPSPEC, "made for dense models, and the target is of the family lfm2"),
        (changed(LIQUID, hidden_size=128), "hidden size is 128, this one's is 64"),
        (changed(LIQUID, dflash_config__num_target_layers=5), "number of layers is 5"),
        (changed(LIQUID, vocab_size=128), "vocabulary is 128, this one's is 96"),
    ],
)
def test_that_another_targets_drafter_is_refused_before_its_weights(config, words, lfm2, tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(DrafterRefused, match=words):
        open_drafter(tmp_path, lfm2)


def test_that_a_liquid_drafter_is_no_dense_models(llama, tmp_path):
    config = changed(LIQUID, vocab_size=64, dflash_config__mask_token_id=3)
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(DrafterRefused, match="made for LFM2 models"):
        open_drafter(tmp_path, llama)


def _weights(change):
    weights = random_weights(LIQUID)
    change(weights)
    return weights


WEIGHTS = {
    "missing": (lambda w: w.pop("fc.weight"), "has no tensor fc.weight"),
    "no W1": (lambda w: w.pop("markov_head.markov_w1.weight"), "no tensor markov_head.markov_w1"),
    "no W2": (lambda w: w.pop("markov_head.markov_w2.weight"), "no tensor markov_head.markov_w2"),
    "extra": (lambda w: w.update({"layers.2.x": w["norm.weight"]}), "holds layers.2.x"),
    "embedding": (
        lambda w: w.update({"embed_tokens.weight": w["markov_head.markov_w1.weight"]}),
        "holds embed_tokens.weight",
    ),
    "short table": (
        lambda w: w.update(
            {"markov_head.markov_w1.weight": w["markov_head.markov_w1.weight"][:90]}
        ),
        "markov_w1.weight as 90 x 64, expected is 96 x 64",
    ),
    "rank": (
        lambda w: w.update(
            {"markov_head.markov_w2.weight": w["markov_head.markov_w2.weight"][:, :32]}
        ),
        "markov_w2.weight as 96 x 32",
    ),
    "fc width": (
        lambda w: w.update({"fc.weight": w["fc.weight"][:, :64]}),
        "fc.weight as 64 x 64, expected is 64 x 128",
    ),
    "confidence": (
        lambda w: w.pop("confidence_head.proj.bias"),
        "enable_confidence_head says that it is there",
    ),
    "packed": (
        lambda w: w.update({"fc.weight": w["fc.weight"].astype("uint32")}),
        "holds fc.weight as U32",
    ),
    "nan": (lambda w: w["norm.weight"].__setitem__(3, float("nan")), "not finite"),
    "inf": (lambda w: w["fc.weight"].__setitem__((1, 3), float("inf")), "not finite"),
    "twice": (lambda w: w.update({"model.norm.weight": w["norm.weight"]}), "norm.weight twice"),
}


@pytest.mark.parametrize("name", WEIGHTS)
def test_that_misfitting_weights_are_refused_and_leave_no_memory(name, lfm2, tmp_path):
    change, words = WEIGHTS[name]
    write_drafter(tmp_path, LIQUID, _weights(change))
    gc.collect()
    mx.clear_cache()
    before = mx.get_active_memory()
    with pytest.raises(DrafterRefused) as refusal:
        open_drafter(tmp_path, lfm2)
    assert words in refusal.value.message
    del refusal
    gc.collect()
    assert mx.get_active_memory() <= before
    assert mx.get_cache_memory() == 0


def test_that_a_model_prefix_and_half_precision_are_accepted(lfm2, tmp_path):
    weights = {f"model.{name}": array for name, array in random_weights(LIQUID).items()}
    write_drafter(tmp_path, LIQUID, {name: a.astype("float16") for name, a in weights.items()})
    opened = open_drafter(tmp_path, lfm2)
    assert opened.model.fc.weight.dtype == mx.float32  # the target's
    assert (opened.name, opened.tapped, opened.block) == (tmp_path.name, (0, 2), 5)
    assert opened.nbytes == 4 * sum(array.size for array in weights.values())
    assert taps(tmp_path) == (0, 2)


def test_that_a_drafter_without_confidence_head_opens(lfm2, tmp_path):
    config = changed(LIQUID, enable_confidence_head=False)
    write_drafter(tmp_path, config, random_weights(config))
    assert open_drafter(tmp_path, lfm2).block == 5
    with pytest.raises(DrafterRefused, match="no confidence head"):
        open_drafter(tmp_path, lfm2, DrafterOptions(confidence=0.5))


@pytest.mark.parametrize("bits", [1, 4, 6, 16])
def test_that_bits_other_than_8_are_refused(bits, lfm2, tmp_path):
    write_drafter(tmp_path, LIQUID, random_weights(LIQUID))
    with pytest.raises(DrafterRefused, match=f"not in {bits}"):
        open_drafter(tmp_path, lfm2, DrafterOptions(bits=bits))


def test_that_odd_sizes_are_not_packed(lfm2, tmp_path):
    config = changed(LIQUID, markov_rank=8)
    write_drafter(tmp_path, config, random_weights(config))
    with pytest.raises(DrafterRefused, match="no multiples of 64"):
        open_drafter(tmp_path, lfm2, DrafterOptions(bits=8))


def test_that_a_table_out_of_the_vocabulary_is_refused(llama, tmp_path):
    config = changed(DEEPSPEC, draft_vocab_size=40)
    weights = random_weights(config)
    weights["d2t"][-1] = 40  # 39 + 40 is beyond 63
    write_drafter(tmp_path, config, weights)
    with pytest.raises(DrafterRefused, match="outside the vocabulary"):
        open_drafter(tmp_path, llama)


def _parts(error):
    return error.message, error.safe, error.action
