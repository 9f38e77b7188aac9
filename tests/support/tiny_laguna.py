"""Small Laguna targets: the pair of section 11 of the specification and its variants."""

import mlx.core as mx
from mlx import nn
from mlx.utils import tree_map_with_path
from mlx_lm.models import laguna

FULL, SLIDING = "full_attention", "sliding_attention"
PROMPT = [3, 17, 9, 25, 4, 12, 30, 7, 18, 2, 21, 11]
TARGET = {
    "model_type": "laguna",
    "vocab_size": 64,
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 5,
    "num_attention_heads": 2,
    "num_attention_heads_per_layer": [2, 4, 4, 2, 4],
    "num_key_value_heads": 2,
    "head_dim": 8,
    "layer_types": [FULL, SLIDING, SLIDING, FULL, SLIDING],
    "sliding_window": 6,
    "mlp_layer_types": ["dense", "sparse", "sparse", "sparse", "sparse"],
    "num_experts": 4,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 8,
    "shared_expert_intermediate_size": 8,
    "moe_routed_scaling_factor": 2.5,
    "gating": "per-head",
    "tie_word_embeddings": False,
    "rms_norm_eps": 1e-6,
    "max_position_embeddings": 4096,
    "rope_parameters": {
        FULL: {
            "rope_type": "yarn",
            "rope_theta": 5e5,
            "factor": 4.0,
            "original_max_position_embeddings": 32,
            "beta_slow": 1.0,
            "beta_fast": 64.0,
            "partial_rotary_factor": 0.5,
        },
        SLIDING: {"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 1.0},
    },
}
# Every branch of the family's code that a config can take.
VARIANTS = {
    "mixed": TARGET,
    "tied": TARGET | {"tie_word_embeddings": True},
    "top-4": TARGET | {"num_experts_per_tok": 4},
    "all-full": TARGET | {"layer_types": [FULL] * 5},
    "sliding-first": TARGET | {"layer_types": [SLIDING, SLIDING, FULL, SLIDING, FULL]},
    "window-1": TARGET | {"sliding_window": 1},
    "window-9": TARGET | {"sliding_window": 9},
    "ungated": TARGET | {"gating": False},
    "softcapped": TARGET | {"moe_router_logit_softcapping": 3.0},
    "all-dense": TARGET | {"mlp_layer_types": ["dense"] * 5},
}


def tiny_laguna(config: dict[str, object] = TARGET, seed: int = 3) -> nn.Module:
    """A model of that config, float32, its norms and router biases random too."""
    mx.random.seed(seed)
    model = laguna.Model(laguna.ModelArgs.from_dict(dict(config)))
    model.update(tree_map_with_path(_drawn, model.parameters()))
    mx.eval(model.parameters())
    return model


def _drawn(path: str, parameter: mx.array) -> mx.array:
    if path.endswith("norm.weight"):
        return 1.0 + 0.2 * mx.random.normal(parameter.shape)
    return mx.random.normal(parameter.shape) * 0.4
