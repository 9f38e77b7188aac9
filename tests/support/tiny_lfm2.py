"""Small LFM2 models with random weights, dense and mixture of experts."""

import mlx.core as mx
from mlx import nn
from mlx.utils import tree_map_with_path
from mlx_lm.models import lfm2, lfm2_moe

CONV, FULL = "conv", "full_attention"
_BOTH = {
    "vocab_size": 96,
    "hidden_size": 64,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "norm_eps": 1e-5,
    "conv_L_cache": 3,
    "conv_bias": False,
    "max_position_embeddings": 4096,
    "tie_word_embeddings": True,
}
DENSE = _BOTH | {
    "model_type": "lfm2",
    "layer_types": [CONV, FULL, CONV, FULL],
    "block_dim": 64,
    "block_ff_dim": 96,
    "block_multiple_of": 16,
    "block_ffn_dim_multiplier": 1.0,
    "block_auto_adjust_ff_dim": True,
    "rope_theta": 1e4,
}
MOE = _BOTH | {
    "model_type": "lfm2_moe",
    "layer_types": [CONV, FULL, CONV, CONV],
    "intermediate_size": 128,
    "moe_intermediate_size": 32,
    "num_dense_layers": 1,
    "num_experts": 4,
    "num_experts_per_tok": 2,
    "norm_topk_prob": True,
    "use_expert_bias": True,
    "rope_parameters": {"rope_theta": 1e4, "rope_type": "default"},
}


def _without(config, *names):
    return {name: value for name, value in config.items() if name not in names}


# Every branch of the family's code that a config can take.
VARIANTS = {
    "dense": DENSE,
    "moe": MOE,
    "attention-first": DENSE | {"layer_types": [FULL, CONV, CONV, FULL]},
    "attention-tail": DENSE | {"layer_types": [CONV, CONV, FULL, FULL]},
    "kernel-4": DENSE | {"conv_L_cache": 4},
    "kernel-2": DENSE | {"conv_L_cache": 2},
    "conv-bias": DENSE | {"conv_bias": True},
    "intermediate": _without(DENSE, "block_ff_dim") | {"intermediate_size": 96},
    "nested-rope": _without(DENSE, "rope_theta")
    | {"rope_parameters": {"rope_theta": 1e4, "rope_type": "default"}},
    "moe-plain-router": MOE | {"norm_topk_prob": False, "use_expert_bias": False},
}


def tiny_lfm2(config: dict[str, object], seed: int = 3) -> nn.Module:
    """A model of that config, float32, its norms and expert biases random too."""
    module = lfm2 if config["model_type"] == "lfm2" else lfm2_moe
    mx.random.seed(seed)
    model = module.Model(module.ModelArgs.from_dict(dict(config)))
    model.update(tree_map_with_path(_drawn, model.parameters()))
    mx.eval(model.parameters())
    return model


def _drawn(path: str, parameter: mx.array) -> mx.array:
    if path.endswith("norm.weight"):
        return 1.0 + 0.2 * mx.random.normal(parameter.shape)
    return mx.random.normal(parameter.shape) * (0.5 if "conv.conv" in path else 0.2)
