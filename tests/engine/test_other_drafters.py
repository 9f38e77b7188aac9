"""Drafters in other people's packagings: refused by what they are, with what would work instead.

The configs have the fields of the published ones, as far as they can be read in the repositories of
speculators, SpecForge, z-lab/dflash and mlx-dspark; sizes that play no part are left out.
"""

import json

import pytest

from engine.drafters import open_drafter
from engine.drafters.dspark_config import DEEPSPEC as FLAT
from engine.drafters.dspark_config import check, packaging
from engine.errors import DrafterRefused, ModelRefused
from engine.loading import check as check_model
from engine.target import Target
from support.drafters import write_drafter
from support.tiny import tiny, tiny_config
from support.tiny_dspark import DEEPSPEC, LIQUID, random_weights
from support.tiny_lfm2 import DENSE, tiny_lfm2

_BACKBONE = {
    "model_type": "qwen3",
    "hidden_size": 4096,
    "intermediate_size": 12288,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "num_hidden_layers": 5,
    "head_dim": 128,
    "vocab_size": 151936,
    "rms_norm_eps": 1e-6,
    "hidden_act": "silu",
    "rope_theta": 1e6,
}
_HEADS = {
    "block_size": 8,
    "markov_rank": 256,
    "markov_head_type": "vanilla",
    "enable_confidence_head": True,
}
_SPECULATOR = {
    "transformer_layer_config": _BACKBONE,
    "aux_hidden_state_layer_ids": [2, 10, 18, 26, 34],
    "mask_token_id": 151669,
    "draft_vocab_size": 32000,
    "speculators_version": "0.5.0",
}
_METHODS = {"proposal_methods": [{"proposal_type": "greedy", "speculative_tokens": 7}]}
_DSPARK_NEWER = {"architectures": ["DSparkDraftModel"], "speculators_model_type": "dspark"}
_ZLAB = {"mask_token_id": 151669, "target_layer_ids": [1, 9, 17, 25, 33]}

OTHERS = {
    "speculators dspark": (
        _SPECULATOR
        | _HEADS
        | _DSPARK_NEWER
        | {"speculators_config": _METHODS | {"algorithm": "dspark"}},
        "vLLM's speculators",
    ),
    "speculators dspark, named in its config only": (
        _SPECULATOR | _HEADS | {"speculators_config": _METHODS | {"algorithm": "dspark"}},
        "vLLM's speculators",
    ),
    "speculators dflash": (
        _SPECULATOR
        | {"architectures": ["DFlashDraftModel"], "speculators_model_type": "dflash"}
        | {"speculators_config": _METHODS | {"algorithm": "dflash"}, "block_size": 16},
        "vLLM's speculators",
    ),
    "speculators eagle3": (
        {"architectures": ["Eagle3Speculator"], "speculators_model_type": "eagle3"}
        | {"transformer_layer_config": _BACKBONE | {"model_type": "llama"}},
        "vLLM's speculators",
    ),
    "specforge dspark": (
        _BACKBONE
        | {
            "architectures": ["DSparkDraftModel"],
            "auto_map": {"AutoModel": "dspark.DSparkDraftModel"},
            "block_size": 7,
            "num_target_layers": 64,
            "dflash_config": _ZLAB | _HEADS | {"projector_type": "dspark"},
        },
        'SpecForge\'s form (projector_type dspark)',
    ),
    "embedded": (
        {"architectures": ["DeepseekV4ForCausalLM"], "model_type": "deepseek_v4"}
        | {"hidden_size": 4096, "num_hidden_layers": 43, "vocab_size": 129280}
        | {"dspark_block_size": 7, "dspark_markov_rank": 256, "dspark_target_layer_ids": [1, 21, 40]},
        "a whole model with a drafter inside",
    ),
    "gemma": (DEEPSPEC | {"architectures": ["Gemma4DSparkModel"]}, "a Gemma4DSparkModel"),
    "qwen3.5": (
        DEEPSPEC | {"architectures": ["Qwen35DSparkModel"], "enable_qwen35_gated_q_proj": True},
        "a Qwen35DSparkModel",
    ),
    "eagle": (
        {"architectures": ["LlamaForCausalLMEagle3"], "model_type": "llama", "draft_vocab_size": 32000}
        | {"hidden_size": 4096, "num_hidden_layers": 1, "vocab_size": 128256},
        "an EAGLE drafter",
    ),
    "medusa": ({"architectures": ["MedusaModel"], "medusa_num_heads": 4}, "a Medusa drafter"),
    "model": (dict(DENSE), "an ordinary model"),
}  # fmt: skip


@pytest.fixture(scope="module")
def lfm2():
    return Target(tiny_lfm2(DENSE), dict(DENSE), (0, 2))


@pytest.mark.parametrize("name", OTHERS)
def test_that_other_drafters_are_refused_by_name(name, lfm2, tmp_path):
    config, words = OTHERS[name]
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(DrafterRefused) as refusal:
        open_drafter(tmp_path, lfm2)
    assert words in refusal.value.message
    assert "LiquidAI's or DeepSpec's" in refusal.value.action
    assert "still chats" in refusal.value.safe


@pytest.mark.parametrize("name", [name for name in OTHERS if name != "model"])
def test_that_other_drafters_are_no_models_either(name, tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(OTHERS[name][0]))
    with pytest.raises(ModelRefused):
        check_model(tmp_path)


def test_that_a_drafter_opened_as_a_model_explains_itself(tmp_path):
    write_drafter(tmp_path, LIQUID, random_weights(LIQUID))
    with pytest.raises(ModelRefused, match="a drafter"):
        check_model(tmp_path)


def test_that_heads_trained_otherwise_are_refused_by_their_field(tmp_path):
    # In DeepSpec's form, but causal over a window and with the anchor's slot unused.
    target = Target(tiny(3), tiny_config(), (0, 1))
    fields = {
        "sample_from_anchor": False, "dflash_query_causal": True, "sliding_window": 1024,
        "attention_sink_bias": True,
    }  # fmt: skip
    for name, value in fields.items():
        (tmp_path / "config.json").write_text(json.dumps(DEEPSPEC | {name: value}))
        with pytest.raises(DrafterRefused, match=f"{name} is"):
            open_drafter(tmp_path, target)


def test_that_a_saved_class_map_and_a_whole_vocabulary_are_nothing_special(tmp_path):
    # As openbmb's drafter for a llama target: projector_type at the top, and a map to code that
    # is never run.
    config = DEEPSPEC | {
        "projector_type": "dspark",
        "auto_map": {"AutoModel": "modeling.Qwen3DSparkModel"},
        "draft_vocab_size": 64,
    }
    assert packaging(config) == FLAT
    assert check(config).draft_vocab == 64
    write_drafter(tmp_path, config, random_weights(config))
    assert open_drafter(tmp_path, Target(tiny(3), tiny_config(), (0, 1))).block == 4
