"""The model families that are served, and what their config.json may say."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.fields import Rule

_COUNT = Rule("int", 1, 1024)
_WIDTH = Rule("int", 1, 1 << 20)
_LONGEST = (1 << 31) - 1  # positions are 32-bit integers in MLX
_LENGTH = Rule("int", 1, _LONGEST)
_EPSILON = Rule("float", 1e-30, 1.0)
_FACTOR = Rule("float", 1e-6, 1e6)
_BASE = Rule("float", 1.0, 1e12)
_FLAG = Rule("bool")
_ROPE = Rule("object", nullable=True)
_INDICES = Rule("ints", 0, 1024, nullable=True)

RULES: Mapping[str, Rule] = {
    "vocab_size": Rule("int", 1, (1 << 24) - 1),  # ids must survive a float32
    "hidden_size": Rule("int", 1, 1 << 16),
    "intermediate_size": _WIDTH,
    "moe_intermediate_size": _WIDTH,
    "shared_expert_intermediate_size": _WIDTH,
    "num_hidden_layers": Rule("int", 1, 512),
    "num_attention_heads": _COUNT,
    "num_key_value_heads": Rule("int", 1, 1024, nullable=True),
    "num_attention_heads_per_layer": Rule("ints", 1, 1024, nullable=True),
    "head_dim": Rule("int", 1, 4096, nullable=True),
    "max_position_embeddings": Rule("int", 1, _LONGEST, nullable=True),
    "original_max_position_embeddings": _LENGTH,
    "sliding_window": Rule("int", 1, _LONGEST, nullable=True),
    "sliding_window_pattern": _COUNT,
    "layer_types": Rule("texts", nullable=True),
    "mlp_layer_types": Rule("texts", choices=("dense", "sparse"), nullable=True),
    "no_rope_layers": Rule("ints", 0, 1, nullable=True),
    "no_rope_layer_interval": _COUNT,
    "num_experts": Rule("int", 1, 4096),
    "num_experts_per_tok": _COUNT,
    "num_dense_layers": Rule("int", 0, 512),
    "decoder_sparse_step": _COUNT,
    "mlp_only_layers": _INDICES,
    "full_attn_idxs": _INDICES,
    "conv_L_cache": Rule("int", 1, 256),
    "block_dim": _WIDTH,
    "block_ff_dim": Rule("int", 1, 1 << 20, nullable=True),
    "block_multiple_of": _WIDTH,
    "block_ffn_dim_multiplier": _FACTOR,
    "rms_norm_eps": _EPSILON,
    "norm_eps": _EPSILON,
    "norm_epsilon": _EPSILON,
    "layer_norm_eps": _EPSILON,
    "rope_theta": _BASE,
    "rope_local_base_freq": _BASE,
    "partial_rotary_factor": Rule("float", 0.01, 1.0, nullable=True),
    "query_pre_attn_scalar": _FACTOR,
    "attn_logit_softcapping": _FACTOR,
    "final_logit_softcapping": _FACTOR,
    "logits_scaling": _FACTOR,
    "logit_scale": _FACTOR,
    "attention_multiplier": _FACTOR,
    "embedding_multiplier": _FACTOR,
    "residual_multiplier": _FACTOR,
    "routed_scaling_factor": _FACTOR,
    "moe_routed_scaling_factor": _FACTOR,
    "moe_router_logit_softcapping": Rule("float", 0.0, 1e6),
    "moe_router_score_func": Rule("text", choices=("sigmoid", "sqrtsoftplus")),
    "attention_bias": _FLAG,
    "attention_out_bias": _FLAG,
    "mlp_bias": _FLAG,
    "qkv_bias": _FLAG,
    "conv_bias": _FLAG,
    "layer_norm_bias": _FLAG,
    "use_qk_norm": _FLAG,
    "use_expert_bias": _FLAG,
    "norm_topk_prob": _FLAG,
    "block_auto_adjust_ff_dim": _FLAG,
    "rope_traditional": _FLAG,
    "tie_word_embeddings": _FLAG,
    "rope_scaling": _ROPE,
    "rope_parameters": _ROPE,
}

ROPE_NUMBERS: Mapping[str, Rule] = {
    "rope_theta": _BASE,
    "factor": _FACTOR,
    "low_freq_factor": _FACTOR,
    "high_freq_factor": _FACTOR,
    "beta_fast": _FACTOR,
    "beta_slow": _FACTOR,
    "llama_4_scaling_beta": Rule("float", 0.0, 1e6),
    "attention_factor": Rule("float", 1e-6, 1e6, nullable=True),
    "mscale": Rule("float", 0.0, 1e6),
    "mscale_all_dim": Rule("float", 0.0, 1e6),
    "partial_rotary_factor": Rule("float", 0.01, 1.0),
    "original_max_position_embeddings": _LENGTH,
}
ROPE_NEEDS: Mapping[str, tuple[str, ...]] = {
    "default": (),
    "linear": ("factor",),
    "dynamic": ("factor",),
    "llama3": (
        "factor",
        "low_freq_factor",
        "high_freq_factor",
        "original_max_position_embeddings",
    ),
    "yarn": ("factor",),
    "longrope": ("short_factor", "long_factor"),
    "su": ("short_factor", "long_factor"),
    "proportional": (),
}


@dataclass(frozen=True, slots=True)
class Family:
    """One model_type.

    Attributes:
        module: the module of mlx-lm that runs it.
        required: fields that must be there.
        rules: rules that differ from `RULES`.
        per_layer: lists that need one element a layer.
        either: of each of these pairs one field must be there.
        flat_rope: mlx-lm reads rope_theta and rope_scaling, never rope_parameters.
        rope_needs: fields of rope_parameters that must be there.
        defaults: values of mlx-lm's own that a config may leave out and others depend on.
    """

    module: str
    required: tuple[str, ...]
    rules: Mapping[str, Rule] = field(default_factory=dict[str, Rule])
    per_layer: tuple[str, ...] = ()
    either: tuple[tuple[str, str], ...] = ()
    flat_rope: bool = True
    rope_needs: tuple[str, ...] = ()
    defaults: Mapping[str, int] = field(default_factory=dict[str, int])


_SIZES = (
    "vocab_size",
    "hidden_size",
    "intermediate_size",
    "num_hidden_layers",
    "num_attention_heads",
)
_DENSE = (*_SIZES, "rms_norm_eps")
_QWEN = (*_DENSE, "num_key_value_heads", "rope_theta")
_LFM2 = (
    *("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "norm_eps"),
    *("num_key_value_heads", "max_position_embeddings", "conv_bias", "conv_L_cache"),
)
_HEAD = ("num_key_value_heads", "head_dim")
_SILU = {"hidden_act": Rule("text", choices=("silu", "swish"), nullable=True)}
_SLIDING = {
    **_SILU,
    "layer_types": Rule("texts", choices=("full_attention", "sliding_attention"), nullable=True),
}
_CONV = {"layer_types": Rule("texts", choices=("full_attention", "conv"), nullable=True)}
_LAYERS = ("layer_types",)
_PAIRS_LFM2 = (("layer_types", "full_attn_idxs"),)

FAMILIES: Mapping[str, Family] = {
    "llama": Family("llama", _DENSE, _SLIDING, _LAYERS),
    "mistral": Family("llama", _DENSE, _SLIDING, _LAYERS),
    "ministral3": Family(
        "ministral3",
        (*_DENSE, "rope_parameters"),
        _SLIDING,
        _LAYERS,
        flat_rope=False,
        rope_needs=("rope_theta", "llama_4_scaling_beta", "original_max_position_embeddings"),
    ),
    "qwen2": Family("qwen2", _QWEN, _SILU),
    "qwen3": Family(
        "qwen3", (*_QWEN, "head_dim", "max_position_embeddings", "tie_word_embeddings"), _SILU
    ),
    "qwen3_moe": Family(
        "qwen3_moe",
        (
            *(*_QWEN, "head_dim", "max_position_embeddings", "tie_word_embeddings"),
            *("num_experts", "num_experts_per_tok", "decoder_sparse_step", "mlp_only_layers"),
            *("moe_intermediate_size", "norm_topk_prob"),
        ),
        _SILU,
    ),
    "smollm3": Family("smollm3", _DENSE, _SLIDING, (*_LAYERS, "no_rope_layers")),
    "gemma": Family("gemma", (*_DENSE, *_HEAD)),
    "gemma2": Family("gemma2", (*_DENSE, *_HEAD)),
    "gemma3_text": Family(
        "gemma3_text",
        (*_DENSE, *_HEAD),
        {"sliding_window": _LENGTH},
        defaults={"sliding_window_pattern": 6},
    ),
    "phi3": Family("phi3", _DENSE, _SILU),
    "olmo2": Family("olmo2", _DENSE, _SILU),
    "glm4": Family(
        "glm4", (*_DENSE, *_HEAD, "attention_bias", "partial_rotary_factor", "rope_theta"), _SILU
    ),
    "granite": Family(
        "granite",
        (
            *(*_DENSE, "num_key_value_heads", "max_position_embeddings", "rope_theta"),
            *("attention_bias", "mlp_bias", "logits_scaling", "attention_multiplier"),
            *("embedding_multiplier", "residual_multiplier"),
        ),
        _SILU,
    ),
    "laguna": Family(
        "laguna",
        (
            *(*_DENSE, *_HEAD, "num_experts", "num_experts_per_tok", "moe_intermediate_size"),
            "shared_expert_intermediate_size",
        ),
        _SLIDING,
        ("layer_types", "mlp_layer_types", "num_attention_heads_per_layer"),
        flat_rope=False,
    ),
    "lfm2": Family(
        "lfm2",
        (
            *(*_LFM2, "block_dim", "block_multiple_of", "block_ffn_dim_multiplier"),
            "block_auto_adjust_ff_dim",
        ),
        _CONV,
        _LAYERS,
        (*_PAIRS_LFM2, ("block_ff_dim", "intermediate_size")),
        flat_rope=False,
    ),
    "lfm2_moe": Family(
        "lfm2_moe",
        (
            *(*_LFM2, "intermediate_size", "moe_intermediate_size", "num_experts"),
            *("num_experts_per_tok", "norm_topk_prob", "use_expert_bias", "num_dense_layers"),
        ),
        _CONV,
        _LAYERS,
        _PAIRS_LFM2,
        flat_rope=False,
    ),
}
