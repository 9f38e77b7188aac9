"""O-14: config.json lacks a field or contradicts the tensors (unslothai/unsloth-zoo 1004 and others)."""

import gc

import mlx.core as mx
import pytest

from engine.errors import ModelRefused
from engine.loading import load_target
from support.model_folders import edit_json, linked, resident
from support.tiny import uncached

PROMPT = [504, 3575, 282, 4649, 314]  # The capital of France is
NEAR = 20e6
EMBEDDING = "model.embed_tokens"


def without(field):
    return lambda config: config.pop(field)


def having(field, value):
    return lambda config: config.update({field: value})


# What is changed, and what the sentence must name: field or tensor, found, expected.
CONTRADICTIONS = {
    "i": (without("intermediate_size"), ("intermediate_size", "missing", "an integer")),
    "ii": (
        without("num_key_value_heads"),
        ("num_key_value_heads not given", "k_proj", "192 x 72", "576 x 576"),
    ),
    "iii": (having("num_attention_heads", 0), ("num_attention_heads", "is 0", "from 1 to 1,024")),
    "iv": (having("rms_norm_eps", "abc"), ("rms_norm_eps", '"abc"', "a number from 1e-30 to 1")),
    "v, 31": (having("num_hidden_layers", 31), ("num_hidden_layers", "31", "30")),
    "v, 29": (having("num_hidden_layers", 29), ("num_hidden_layers", "29", "30")),
    "vi": (
        lambda config: config["quantization"][EMBEDDING].update(bits=4),
        ("quantization", EMBEDDING, "4 bits", "8 bits"),
    ),
    "vii": (without("quantization"), ("quantization", "missing", "group_size and bits")),
    "viii": (having("model_type", "nope"), ("model_type", '"nope"', "llama")),
    "ix": (having("vocab_size", 49000), ("vocab_size 49000", EMBEDDING, "49152", "49000 x 576")),
}


@pytest.mark.parametrize("change", CONTRADICTIONS)
def test_that_a_contradiction_is_named_and_costs_no_memory(change, tmp_path, starter):
    edit, words = CONTRADICTIONS[change]
    folder = linked(tmp_path / "starter", starter)
    edit_json(folder / "config.json", edit)
    gc.collect()
    before = resident(), mx.get_active_memory() + mx.get_cache_memory()

    with pytest.raises(ModelRefused) as refusal:
        load_target(folder, lambda done, total: pytest.fail("it began to load"))

    message = refusal.value.message
    assert message.count("\n") == 0
    assert "config.json" in message
    assert [word for word in words if word not in message] == [], message
    assert refusal.value.action
    assert abs(mx.get_active_memory() + mx.get_cache_memory() - before[1]) < 1e6
    assert resident() - before[0] < NEAR


def test_that_a_wrong_global_width_gives_way_to_the_tensors(tmp_path, starter):
    folder = linked(tmp_path / "starter", starter)
    edit_json(folder / "config.json", lambda config: config["quantization"].update(bits=8))
    model, untouched = (
        load_target(path, lambda done, total: None).model for path in (folder, starter)
    )
    assert uncached(model, PROMPT, 4) == uncached(untouched, PROMPT, 4)
