"""Small Laguna DFlash drafters, and what they compute, written anew in float64.

`forward` is a second implementation, from the equations alone: it shares no code with the engine.
"""

import copy
import json
from pathlib import Path

import mlx.core as mx
import numpy as np

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


def changed(config, **fields):
    """The config with fields set, nested by a double underscore; `...` takes one away."""
    config = copy.deepcopy(config)
    for name, value in fields.items():
        *path, last = name.split("__")
        place = config
        for step in path:
            place = place[step]
        if value is ...:
            del place[last]
        else:
            place[last] = value
    return config


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
    draw, hidden, dim = np.random.default_rng(seed), config["hidden_size"], config["head_dim"]
    heads, kv, inner = (
        config["num_attention_heads"],
        config["num_key_value_heads"],
        config["intermediate_size"],
    )
    taps = len(config["dflash_config"]["target_layer_ids"])
    sizes, norms = {"fc": (hidden, hidden * taps)}, {"hidden_norm": hidden, "norm": hidden}
    norms |= {f"aux_hidden_norms.{i}": hidden for i in range(taps)}
    for i in range(config["num_hidden_layers"]):
        layer = f"layers.{i}."
        sizes |= {
            f"{layer}self_attn.qkv_proj": ((heads + 2 * kv) * dim, hidden),
            f"{layer}self_attn.o_proj": (hidden, heads * dim),
            f"{layer}self_attn.g_proj": (heads, hidden),
            f"{layer}mlp.gate_proj": (inner, hidden),
            f"{layer}mlp.up_proj": (inner, hidden),
            f"{layer}mlp.down_proj": (hidden, inner),
        }
        norms |= {f"{layer}{name}_layernorm": hidden for name in ("input", "post_attention")}
        norms |= {f"{layer}self_attn.{name}_norm": dim for name in "qk"}
    tensors = {f"{name}.weight": draw.normal(0, scale, size) for name, size in sizes.items()}
    tensors |= {f"{name}.weight": 1 + draw.normal(0, 0.2, size) for name, size in norms.items()}
    return {name: array.astype(np.float32) for name, array in tensors.items()}


def write_drafter(folder: Path, config, weights):
    """A folder as it is published: config.json and one file of tensors."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    arrays = {name: mx.array(array) for name, array in weights.items()}
    mx.save_safetensors(str(folder / "model.safetensors"), arrays)
    return folder


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
        at = f"layers.{i}."
        p = {name.removeprefix(at): v for name, v in w.items() if name.startswith(at)}
        norm = p["input_layernorm.weight"]
        seen = context if "context_norm" in wrong else rms(context, norm, eps)
        x = x + _attention(config, p, rms(x, norm, eps), seen, window, wrong)
        z = rms(x, p["post_attention_layernorm.weight"], eps)
        gate, up = z @ p["mlp.gate_proj.weight"].T, z @ p["mlp.up_proj.weight"].T
        x = x + (gate / (1 + np.exp(-gate)) * up) @ p["mlp.down_proj.weight"].T
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
    out = np.zeros_like(q)
    for h in range(heads):
        g = h * kv // heads
        scores = np.where(visible, q[:, h] @ k[:, g].T / np.sqrt(dim), -np.inf)
        scores = np.exp(scores - scores.max(axis=1, keepdims=True))
        out[:, h] = scores / scores.sum(axis=1, keepdims=True) @ v[:, g]
    if "no_gate" not in wrong:
        out *= np.log1p(np.exp(inputs @ p["self_attn.g_proj.weight"].T))[..., None]
    return out.reshape(block, -1) @ p["self_attn.o_proj.weight"].T


def rms(x, weight, eps):
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + eps) * weight


def rotated(x, start, theta, interleaved):
    """Rows (n, heads, dim) turned by their positions from `start` on."""
    dim = x.shape[-1]
    angle = (start + np.arange(x.shape[0]))[:, None] * theta ** (-np.arange(0, dim, 2) / dim)
    cos, sin = np.cos(angle)[:, None], np.sin(angle)[:, None]
    half = (np.s_[..., : dim // 2], np.s_[..., dim // 2 :])
    one, two = (np.s_[..., 0::2], np.s_[..., 1::2]) if interleaved else half
    out = np.empty_like(x)
    out[one] = x[one] * cos - x[two] * sin
    out[two] = x[one] * sin + x[two] * cos
    return out
