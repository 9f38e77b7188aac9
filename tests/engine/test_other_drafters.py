"""Drafters in other people's packagings: refused by what they are, with what would work instead."""

import json

import pytest

from engine.drafters import open_drafter
from engine.drafters.dspark_config import DEEPSPEC as FLAT
from engine.drafters.dspark_config import check, packaging
from engine.errors import DrafterRefused, ModelRefused
from engine.loading import check as check_model
from engine.target import Target
from support.drafters import write_drafter
from support.published_others import PUBLISHED
from support.tiny import tiny, tiny_config
from support.tiny_dspark import DEEPSPEC, LIQUID, random_weights
from support.tiny_lfm2 import DENSE, tiny_lfm2

OTHERS = PUBLISHED | {
    "deepspec for gemma": (DEEPSPEC | {"architectures": ["Gemma4DSparkModel"]}, "a Gemma4DSparkModel"),
    "deepspec for qwen3.5": (
        DEEPSPEC | {"architectures": ["Qwen35DSparkModel"], "enable_qwen35_gated_q_proj": True},
        "a Qwen35DSparkModel",
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
    with pytest.raises(ModelRefused) as refusal:
        check_model(tmp_path)
    whole = "whole model" in OTHERS[name][1]
    assert refusal.value.code == ("model_type" if whole else "is_drafter")


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
