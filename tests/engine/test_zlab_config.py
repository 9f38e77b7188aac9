"""What a folder of z-lab's DFlash may say, and the sentence for everything else."""

import json

import mlx.core as mx
import pytest

from engine.drafters import open_drafter, taps
from engine.drafters.dspark_config import ZLAB as KIND
from engine.drafters.dspark_config import check, packaging
from engine.drafters.dspark_weights import shapes
from engine.errors import DrafterRefused
from engine.request import DrafterOptions
from support.drafters import changed, write_drafter
from support.dspark_pairs import target_of
from support.model_folders import CONFIGS, config_of
from support.published_others import ZLAB_QWEN3_8B
from support.tiny_dspark import QWEN3, ZLAB, random_weights


@pytest.fixture(scope="module")
def qwen3():
    return target_of(QWEN3, (0, 2))


def test_that_the_published_config_is_fifteen_guesses_in_sixteen_rows():
    checked = check(ZLAB_QWEN3_8B)
    assert (checked.packaging, checked.block, checked.rows) == (KIND, 15, 16)
    assert (checked.taps, checked.mask_id) == ((1, 9, 17, 25, 33), 151669)
    assert (checked.traditional, checked.rank, checked.confidence) == (False, 0, False)
    wanted = shapes(checked)
    assert len(wanted) == 5 * 11 + 3
    layer = 4096 * (4096 * 2 + 1024 * 2 + 12288 * 3) + 2 * 4096 + 2 * 128
    assert sum(mx.zeros(shape).size for shape in wanted.values()) == (
        5 * layer + 4096 * 5 * 4096 + 2 * 4096
    )


def test_that_a_copy_saved_by_a_newer_transformers_is_the_same():
    newer = changed(ZLAB_QWEN3_8B, rope_theta=..., rope_scaling=..., sliding_window=...)
    newer |= {"rope_parameters": {"rope_theta": 1000000, "rope_type": "default"}}
    newer |= {"is_causal": False, "output_multiplier": 1.0, "input_embedding_scale": 1.0}
    assert check(newer) == check(ZLAB_QWEN3_8B)
    assert check(changed(ZLAB_QWEN3_8B, block_size=..., dflash_config__block_size=16)).block == 15


BAD = {
    "no dflash_config": ({"dflash_config": ...}, "dflash_config is missing; allowed is an object"),
    "dflash_config a list": ({"dflash_config": [1]}, "dflash_config is [1]"),
    "no taps": ({"dflash_config__target_layer_ids": ...}, "target_layer_ids is missing"),
    "taps unordered": ({"dflash_config__target_layer_ids": [2, 0]}, "increasing layers below 4"),
    "tap beyond": ({"dflash_config__target_layer_ids": [0, 4]}, "below 4, the num_target_layers"),
    "no mask": ({"dflash_config__mask_token_id": ...}, "mask_token_id is missing"),
    "mask outside": ({"dflash_config__mask_token_id": 64}, "mask_token_id is 64"),
    "no layer count": ({"num_target_layers": ...}, "num_target_layers is missing"),
    "no block": ({"block_size": ...}, "block_size is missing"),
    "block 1": ({"block_size": 1}, "block_size is 1; allowed is an integer from 2 to 32"),
    "block 33": ({"block_size": 33}, "block_size is 33; allowed is an integer from 2 to 32"),
    "chain": ({"markov_rank": 64}, "markov_rank is 64; allowed is an integer from 0 to 0 or null"),
    "gelu": ({"hidden_act": "gelu"}, 'hidden_act is "gelu"'),
    "bias": ({"attention_bias": True}, "attention_bias is true"),
    "sliding": ({"layer_types": ["sliding_attention"] * 2}, "a list of full_attention"),
    "window": ({"sliding_window": 2048}, "sliding_window is 2048"),
    "causal": ({"is_causal": True}, "is_causal is true"),
    "scaled": ({"rope_scaling": {"rope_type": "llama3"}}, "rope_scaling is {'rope_type': 'llama3'}"),
    "softcap": ({"dflash_config__final_logit_softcapping": 30.0}, "final_logit_softcapping is 30.0"),
    "louder": ({"dflash_config__output_multiplier": 2.0}, "output_multiplier is 2.0; allowed is only its absence or 1"),
    "scale": ({"dflash_config__input_embedding_scale": 8.0}, "input_embedding_scale is 8.0"),
    "convolution": ({"dflash_config__conv_kernel_size": 2}, "conv_kernel_size is 2"),
    "selector": ({"dflash_config__selector_rank": 256}, "selector_rank is 256"),
    "reduced": ({"draft_vocab_size": 40}, "draft_vocab_size is 40; allowed is 64"),
    "packed": ({"quantization": {"bits": 4}}, "quantization is {'bits': 4}"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_that_a_bad_field_is_named_with_its_bounds(name, qwen3, tmp_path):
    fields, words = BAD[name]
    (tmp_path / "config.json").write_text(json.dumps(changed(ZLAB, **fields)))
    with pytest.raises(DrafterRefused) as refusal:
        open_drafter(tmp_path, qwen3)
    assert words in refusal.value.message
    assert refusal.value.action


def test_that_marks_of_other_packagings_are_not_zlabs():
    assert packaging(ZLAB) == KIND
    assert packaging(changed(ZLAB, architectures=["DFlash2DraftModel"])) == ""
    assert packaging(changed(ZLAB, architectures=...)) == ""
    assert packaging(changed(ZLAB, dflash_config__projector_type="domino")) == ""
    assert packaging(changed(ZLAB, speculators_model_type="dflash")) == ""


@pytest.mark.parametrize("family", sorted(CONFIGS))
def test_that_it_is_for_qwen3_and_llama_only(family, tmp_path):
    config = config_of(family)
    fields = {"hidden_size": 32, "vocab_size": 48, "num_target_layers": 2}
    drafter = changed(ZLAB, **fields, dflash_config__mask_token_id=3)
    drafter["dflash_config"]["target_layer_ids"] = [0, 1]
    write_drafter(tmp_path, drafter, random_weights(drafter))
    target = target_of(config, (0, 1) if family in {"qwen3", "qwen3_moe", "llama"} else ())
    if family in {"qwen3", "qwen3_moe", "llama"}:
        assert open_drafter(tmp_path, target).block == 4
        return
    with pytest.raises(DrafterRefused, match=f"made for Qwen3 and Llama.*of the family {family}"):
        open_drafter(tmp_path, target)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"hidden_size": 128}, "hidden size is 128, this one's is 64"),
        ({"num_target_layers": 5}, "number of layers is 5, this one's is 4"),
        ({"vocab_size": 80}, "vocabulary is 80, this one's is 64"),
    ],
)
def test_that_another_targets_drafter_is_refused_before_its_weights(fields, words, qwen3, tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(changed(ZLAB, **fields)))
    with pytest.raises(DrafterRefused, match=words):
        open_drafter(tmp_path, qwen3)


WEIGHTS = {
    "missing": (lambda w: w.pop("fc.weight"), "has no tensor fc.weight"),
    "embedding": (
        lambda w: w.update({"embed_tokens.weight": w["fc.weight"]}),
        "holds embed_tokens.weight, which a DFlash drafter does not have",
    ),
    "chain": (
        lambda w: w.update({"markov_head.markov_w1.weight": w["fc.weight"]}),
        "holds markov_head.markov_w1.weight, which a DFlash drafter does not have",
    ),
    "shape": (
        lambda w: w.update({"fc.weight": w["fc.weight"][:, :64]}),
        "fc.weight as 64 x 64, expected is 64 x 128",
    ),
}


@pytest.mark.parametrize("name", WEIGHTS)
def test_that_misfitting_weights_are_refused(name, qwen3, tmp_path):
    change, words = WEIGHTS[name]
    weights = random_weights(ZLAB)
    change(weights)
    write_drafter(tmp_path, ZLAB, weights)
    with pytest.raises(DrafterRefused) as refusal:
        open_drafter(tmp_path, qwen3)
    assert words in refusal.value.message


def test_that_it_runs_in_8_bits_and_has_no_confidence(qwen3, tmp_path):
    write_drafter(tmp_path, ZLAB, random_weights(ZLAB))
    assert taps(tmp_path) == (0, 2)
    whole = open_drafter(tmp_path, qwen3)
    assert (whole.block, whole.most, whole.tapped) == (4, 4, (0, 2))
    assert open_drafter(tmp_path, qwen3, DrafterOptions(bits=8)).nbytes < 0.4 * whole.nbytes
    with pytest.raises(DrafterRefused, match="no confidence head"):
        open_drafter(tmp_path, qwen3, DrafterOptions(confidence=0.5))
