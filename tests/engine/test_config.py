"""What config.json may say."""

import dataclasses
import importlib
import json

import pytest

from engine import config, loading
from engine.errors import ModelRefused
from engine.families import FAMILIES, RULES
from support.model_folders import CONFIGS, config_of, write_json


def refusal_of(settings):
    with pytest.raises(ModelRefused) as refusal:
        config.check(settings)
    return refusal.value


def arguments_of(family):
    module = importlib.import_module(f"mlx_lm.models.{FAMILIES[family].module}")
    return [field for field in dataclasses.fields(module.ModelArgs) if field.name != "model_type"]


def test_that_every_family_has_a_small_config_that_is_accepted():
    assert set(CONFIGS) == set(FAMILIES)
    for family in FAMILIES:
        config.check(config_of(family))


@pytest.mark.parametrize("family", FAMILIES)
def test_that_what_mlx_lm_needs_is_required(family):
    needed = {
        field.name
        for field in arguments_of(family)
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    }
    assert needed <= {*FAMILIES[family].required}


@pytest.mark.parametrize("family", FAMILIES)
def test_that_every_field_mlx_lm_reads_has_a_rule(family):
    # `gating` is read as true or false, whatever it is.
    unruled = {field.name for field in arguments_of(family)} - {*RULES, "gating"}
    assert unruled == set()


@pytest.mark.parametrize("family", FAMILIES)
def test_that_each_required_field_is_named_when_it_is_missing(family):
    for field in FAMILIES[family].required:
        settings = config_of(family)
        settings.pop(field)
        settings.pop("rope_parameters", None) if field == "rope_theta" else None
        message = refusal_of(settings).message
        assert f"config.json: {field} is missing" in message
        assert family in message


REFUSED = {
    "text for a width": ({"hidden_size": "32"}, 'hidden_size is "32"'),
    "a fraction": ({"num_hidden_layers": 2.0}, "num_hidden_layers is 2.0"),
    "true for a number": ({"num_attention_heads": True}, "num_attention_heads is true"),
    "null": ({"vocab_size": None}, "vocab_size is null"),
    "a negative width": ({"intermediate_size": -1}, "intermediate_size is -1"),
    "too many layers": ({"num_hidden_layers": 10**9}, "num_hidden_layers is 1000000000"),
    "no number": ({"rms_norm_eps": float("nan")}, "rms_norm_eps is nan"),
    "infinity": ({"rope_theta": float("inf")}, "rope_theta is inf"),
    "heads out of step": (
        {"num_key_value_heads": 3},
        "num_key_value_heads is 3; allowed is a divi",
    ),
    "odd heads": ({"head_dim": 7}, "head_dim is 7; allowed is an even number"),
    "a width that does not divide": ({"hidden_size": 33}, "hidden_size is 33"),
    "a list too short": (
        {"layer_types": ["full_attention"]},
        'layer_types is "a list of 1"; allowed is a list of 2',
    ),
    "an unknown layer": ({"layer_types": ["full_attention", "conv"]}, "layer_types is"),
    "no window": ({"layer_types": ["sliding_attention"] * 2}, "sliding_window is missing"),
    "another activation": ({"hidden_act": "gelu"}, 'hidden_act is "gelu"; allowed is silu'),
    "an unknown rotation": ({"rope_scaling": {"type": "odd"}}, 'rope_scaling.rope_type is "odd"'),
    "half a rotation": ({"rope_scaling": {"type": "linear"}}, "rope_scaling.factor is missing"),
    "a factor of no size": (
        {"rope_scaling": {"type": "linear", "factor": 0}},
        "rope_scaling.factor is 0",
    ),
    "a list of texts": (
        {"rope_scaling": {"type": "su", "short_factor": [1.0], "long_factor": ["x"]}},
        'rope_scaling.long_factor is "x"',
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_that_a_bad_value_is_named_with_what_is_allowed(case):
    change, words = REFUSED[case]
    error = refusal_of(config_of("llama") | change)
    assert error.code == "config_field"
    assert error.message.startswith("config.json: ")
    assert words in error.message
    assert "allowed is " in error.message


@pytest.mark.parametrize("kind", ["nope", None, 3, ["llama"], "../llama", "gpt2"])
def test_that_an_unknown_family_is_refused_by_name(kind):
    error = refusal_of(config_of("llama") | {"model_type": kind})
    assert error.code == "model_type"
    assert "qwen3" in error.message


def test_that_code_of_a_repository_is_never_run(tmp_path, monkeypatch):
    (tmp_path / "evil.py").write_text("raise SystemExit('ran')")
    monkeypatch.syspath_prepend(str(tmp_path))
    error = refusal_of(config_of("llama") | {"model_file": "evil.py"})
    assert error.code == "model_code"
    assert '"evil.py"' in error.message
    config.check(config_of("llama") | {"auto_map": {"AutoModel": "evil.Model"}})


DRAFTERS = {
    "DFlashLagunaForCausalLM": {"architectures": ["DFlashLagunaForCausalLM"]},
    "Lfm2DSparkDraftModel": {"architectures": ["Lfm2DSparkDraftModel"], "model_type": "qwen3"},
    "EagleLlama": {"architectures": "EagleLlama"},
    "medusa": {"model_type": "medusa"},
    "dflash_config": {"dflash_config": {"block_size": 16, "mask_token_id": 12}},
    "markov_rank": {"markov_rank": 256},
    "speculators_model_type": {"speculators_model_type": "dspark"},
}


@pytest.mark.parametrize("name", DRAFTERS)
def test_that_a_drafter_explains_itself(name):
    error = refusal_of(config_of("laguna") | DRAFTERS[name])
    assert error.code == "is_drafter"
    assert name in error.message
    assert "cannot chat alone" in error.message
    assert "as the drafter" in error.action


BROKEN = {
    "empty": (b"", "is empty"),
    "pointer": (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "Git LFS pointer"),
    "web page": (b"\n<!doctype html><html></html>", "web page"),
    "half": (b'{"model_type": "lla', "not JSON"),
    "not text": (b"\xff\xfe{}", "not JSON"),
    "list": (b"[]", "not an object"),
    "deep": (b"[" * 100_000, "not JSON"),
    "long number": (b'{"hidden_size": ' + b"9" * 5000 + b"}", "not JSON"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_that_a_broken_file_is_called_what_it_is(case, tmp_path):
    data, words = BROKEN[case]
    (tmp_path / "config.json").write_bytes(data)
    with pytest.raises(ModelRefused, match=r"config\.json.*" + words):
        config.read(tmp_path)


def test_that_a_missing_folder_or_file_is_named(tmp_path):
    with pytest.raises(ModelRefused, match="nowhere"):
        config.read(tmp_path / "nowhere")
    with pytest.raises(ModelRefused, match=r"config\.json is not there"):
        config.read(tmp_path)


def test_that_a_long_or_strange_value_stays_on_one_short_line():
    error = refusal_of(config_of("llama") | {"model_type": "x\n\0" * 1000})
    assert "\n" not in error.message
    assert "\0" not in error.message
    assert len(error.message) < 400


def test_that_rope_fields_of_transformers_5_reach_mlx_lm(tmp_path):
    settings = config_of("llama")
    del settings["rope_theta"]
    scaling = {"rope_type": "linear", "factor": 4.0, "rope_theta": 123456.0}
    write_json(tmp_path / "config.json", settings | {"rope_parameters": scaling})
    read = config.read(tmp_path)
    assert read["rope_theta"] == 123456.0
    assert read["rope_scaling"]["factor"] == 4.0


def test_that_each_kind_of_layer_keeps_its_own_rope_base():
    settings = config_of("gemma3_text")
    del settings["rope_theta"]
    settings["rope_parameters"] = {
        "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 2e6},
        "sliding_attention": {"rope_type": "default", "rope_theta": 3e4},
    }
    config.check(settings)
    assert (settings["rope_theta"], settings["rope_local_base_freq"]) == (2e6, 3e4)
    assert settings["rope_scaling"]["factor"] == 8.0


def test_that_the_starter_says_what_issue_2_says(starter):
    read = json.loads((starter / "config.json").read_text())
    assert config.read(starter) == read
    expected = {
        "model_type": "llama", "num_hidden_layers": 30, "hidden_size": 576,
        "num_attention_heads": 9, "num_key_value_heads": 3, "intermediate_size": 1536,
        "vocab_size": 49152, "rope_theta": 100000.0, "rope_traditional": True,
        "rms_norm_eps": 1e-5, "max_position_embeddings": 8192, "tie_word_embeddings": True,
        "bos_token_id": 1, "eos_token_id": 2,
        "quantization": {
            "group_size": 32, "bits": 4, "model.embed_tokens": {"group_size": 32, "bits": 8},
        },
    }  # fmt: skip
    assert {name: read[name] for name in expected} == expected


@pytest.mark.parametrize("wanted", [1.0, 0.9, 1.3465735902799727])  # XS.2, none, XS 2.1
def test_that_yarns_attention_factor_is_the_one_of_the_config(wanted):
    settings = config_of("laguna")
    full = settings["rope_parameters"]["full_attention"]
    full["attention_factor"] = wanted
    config.check(settings)
    model = loading.build(settings)
    assert model.layers[0].self_attn.rope.mscale == pytest.approx(wanted, rel=1e-12)


def test_that_an_attention_factor_without_stretching_is_refused():
    settings = config_of("laguna")
    full = settings["rope_parameters"]["full_attention"]
    full |= {"attention_factor": 1.2, "factor": 1.0}
    assert "full_attention.attention_factor is 1.2" in refusal_of(settings).message
    full["attention_factor"] = 1.0
    config.check(settings)
    full["attention_factor"] = True
    assert "attention_factor is true" in refusal_of(settings).message
