"""Small Laguna DFlash drafters, and what they compute, written anew in float64.

`forward` is a second implementation, from the equations alone: it shares no code with the engine.
"""

import numpy as np

from support.drafters import (
    attended,
    changed,
    fed_forward,
    layer_of,
    layer_sizes,
    random_tensors,
    rms,
    rotated,
)
from support.tiny_laguna import TARGET

DRAFTER = {
    "architectures": ["DFlashLagunaForCausalLM"],
    "model_type": "laguna",
    "torch_dtype": "bfloat16",
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "vocab_size": 64,
    "draft_vocab_size": 64,
    "rms_norm_eps": 1e-6,
    "rope_theta": 5e5,
    "sliding_window": 6,
    "layer_types": ["sliding_attention"] * 3,
    "gating": "per-head",
    "hidden_act": "silu",
    "attention_bias": False,
    "num_experts": 0,
    "max_position_embeddings": 4096,
    "dflash_config": {
        "block_size": 4,
        "mask_token_id": 12,
        "num_target_layers": 5,
        "target_layer_ids": [1, 3, 4],
        "causal": True,
    },
    "eagle_aux_hidden_state_layer_ids": [2, 4, 5],
}


_ONE = {"num_hidden_layers": 1, "layer_types": ["sliding_attention"]}
WIDE = {"hidden_size": 64, "intermediate_size": 64, "head_dim": 32}
PAIRS = {
    "pair": (TARGET, DRAFTER),
    "windows": (TARGET, DRAFTER | {"sliding_windows": [6, 4, 9]}),
    "block-16": (
        TARGET | {"num_experts_per_tok": 4},
        changed(DRAFTER, dflash_config__block_size=16),
    ),
    "tied": (TARGET | {"tie_word_embeddings": True}, DRAFTER),
    "equal-heads": (TARGET, DRAFTER | {"num_key_value_heads": 4}),
    "one-layer": (
        TARGET,
        changed(DRAFTER | _ONE, dflash_config__target_layer_ids=[4])
        | {"eagle_aux_hidden_state_layer_ids": [5]},
    ),
    "window-2": (TARGET, DRAFTER | {"sliding_window": 2}),
    "window-64": (TARGET, DRAFTER | {"sliding_window": 64}),
}


def random_weights(config, seed=1, scale=0.4):
    """Tensors under the names and in the shapes of the published files, float32."""
    hidden, dim = config["hidden_size"], config["head_dim"]
    heads, kv = config["num_attention_heads"], config["num_key_value_heads"]
    taps = len(config["dflash_config"]["target_layer_ids"])
    attention = {
        "qkv": ((heads + 2 * kv) * dim, hidden), "o": (hidden, heads * dim), "g": (heads, hidden)
    }  # fmt: skip
    sizes, norms = layer_sizes(config, attention)
    ahead = dict.fromkeys(("hidden_norm", "norm"), hidden)
    ahead |= {f"aux_hidden_norms.{i}": hidden for i in range(taps)}
    draw = np.random.default_rng(seed)
    return random_tensors({"fc": (hidden, hidden * taps)} | sizes, ahead | norms, draw, scale)


def forward(config, weights, embed, head, taps, pending, **wrong):
    """Scores (block - 1, vocab) of the rows after the pending one.

    Args:
        embed: the target's embedding (vocab, hidden).
        head: the target's head (vocab, hidden).
        taps: (n, taps * hidden), one row for each token before the pending one.
        wrong: deliberate mistakes: interleaved, early (positions of the block one too low),
            ring (context keys in the order of a ring), context_norm (no input norm on context
            rows), wide and narrow (a window one too large or small), anchored (every row sees the
            pending row's window), unmasked, tap_order, tap_shift, no_gate, aux (one norm for all
            taps), row_order (q, k and v rows of the fused matrix misread), row_0 (predictions
            taken one row early), qk_norm (none).
    """
    w = {name: array.astype(np.float64) for name, array in weights.items()}
    eps, block = config["rms_norm_eps"], config["dflash_config"]["block_size"]
    context = _fused(config, w, taps, wrong)
    ids = [pending] + [config["dflash_config"]["mask_token_id"]] * (block - 1)
    x = embed.astype(np.float64)[ids]
    windows = config.get("sliding_windows")
    windows = windows or [config["sliding_window"]] * config["num_hidden_layers"]
    for i, window in enumerate(windows):
        p = layer_of(w, i)
        norm = p["input_layernorm.weight"]
        seen = context if "context_norm" in wrong else rms(context, norm, eps)
        x = x + _attention(config, p, rms(x, norm, eps), seen, window, wrong)
        x = fed_forward(x, p, eps)
    scores = rms(x, w["norm.weight"], eps) @ head.astype(np.float64).T
    return scores[:-1] if "row_0" in wrong else scores[1:]


def _fused(config, w, taps, wrong):
    """Context rows (n, hidden) of taps."""
    hidden, eps = config["hidden_size"], config["rms_norm_eps"]
    parts = np.split(taps, taps.shape[1] // hidden, axis=1)
    if "tap_order" in wrong:
        parts = parts[::-1]
    if "tap_shift" in wrong:
        parts = parts[1:] + parts[:1]
    norms = [w[f"aux_hidden_norms.{0 if 'aux' in wrong else i}.weight"] for i in range(len(parts))]
    normed = [rms(part, norm, eps) for part, norm in zip(parts, norms, strict=True)]
    return rms(np.concatenate(normed, axis=1) @ w["fc.weight"].T, w["hidden_norm.weight"], eps)


def _attention(config, p, inputs, seen, window, wrong):
    """What one layer's attention adds to block rows (block, hidden)."""
    dim, heads, kv = (config[f] for f in ("head_dim", "num_attention_heads", "num_key_value_heads"))
    n, block, wide, narrow = seen.shape[0], inputs.shape[0], heads * dim, kv * dim
    fused = p["self_attn.qkv_proj.weight"]
    if "row_order" in wrong:
        fused = np.roll(fused, narrow, axis=0)
    wq, wk, wv = fused[:wide], fused[wide : wide + narrow], fused[wide + narrow :]

    def turned(source, matrix, count, name, start):
        rows = (source @ matrix.T).reshape(-1, count, dim)
        if "qk_norm" not in wrong:
            rows = rms(rows, p[f"self_attn.{name}_norm.weight"], config["rms_norm_eps"])
        return rotated(rows, start, config["rope_theta"], "interleaved" in wrong)

    at = n - 1 if "early" in wrong else n
    q = turned(inputs, wq, heads, "q", at)
    k = np.concatenate([turned(seen, wk, kv, "k", 0), turned(inputs, wk, kv, "k", at)])
    v = np.concatenate([seen @ wv.T, inputs @ wv.T]).reshape(-1, kv, dim)
    if "ring" in wrong:  # the newest row lies first, the mask goes by index all the same
        order = np.concatenate([[n - 1], np.arange(n - 1), np.arange(n, n + block)])
        k, v = k[order], v[order]
    place, own = np.arange(n + block)[None], np.arange(n, n + block)[:, None]
    reach = window + ("wide" in wrong) - ("narrow" in wrong)
    anchor = np.full_like(own, n) if "anchored" in wrong else own
    visible = (place <= own) & (anchor - place < reach)
    if "unmasked" in wrong:
        visible = visible | (place >= n)
    out = attended(q, k, v, visible)
    if "no_gate" not in wrong:
        out *= np.log1p(np.exp(inputs @ p["self_attn.g_proj.weight"].T))[..., None]
    return out.reshape(block, -1) @ p["self_attn.o_proj.weight"].T
