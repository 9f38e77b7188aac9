"""Small DSpark drafters in both packagings, and what they compute, written anew in float64.

`forward` is a second implementation, from the equations alone: it shares no code with the engine.
"""

import json
from pathlib import Path

import mlx.core as mx
import numpy as np

LIQUID = {
    "architectures": ["Lfm2DSparkDraftModel"],
    "model_type": "qwen3",
    "dtype": "bfloat16",
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "intermediate_size": 128,
    "hidden_act": "silu",
    "rms_norm_eps": 1e-5,
    "vocab_size": 96,
    "rope_theta": 1e4,
    "rope_is_neox_style": False,
    "max_position_embeddings": 4096,
    "layer_types": ["full_attention", "full_attention"],
    "block_size": 5,
    "dflash_config": {"mask_token_id": 95, "target_layer_ids": [0, 2], "num_target_layers": 4},
    "markov_rank": 64,
    "markov_head_type": "vanilla",
    "enable_confidence_head": True,
}
DEEPSPEC = {
    "architectures": ["Qwen3DSparkModel"],
    "model_type": "qwen3",
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "intermediate_size": 128,
    "hidden_act": "silu",
    "rms_norm_eps": 1e-5,
    "vocab_size": 64,
    "attention_bias": False,
    "rope_theta": 1e4,
    "rope_parameters": {"rope_type": "default", "rope_theta": 1e4},
    "max_position_embeddings": 4096,
    "layer_types": ["full_attention", "full_attention"],
    "tie_word_embeddings": False,
    "block_size": 4,
    "sample_from_anchor": True,
    "mask_token_id": 63,
    "target_layer_ids": [0, 1],
    "num_target_layers": 2,
    "num_anchors": 64,
    "markov_rank": 64,
    "markov_head_type": "vanilla",
    "enable_confidence_head": True,
    "confidence_head_with_markov": True,
}


def drafting(config):
    """A config with the nested fields at the top."""
    return {**config, **config.get("dflash_config", {})}


def random_weights(config, seed=1, scale=0.25):
    """Tensors under the names and in the shapes of the published files, float32."""
    fields, draw = drafting(config), np.random.default_rng(seed)
    hidden, dim, rank = fields["hidden_size"], fields["head_dim"], fields["markov_rank"]
    wide, narrow = fields["num_attention_heads"] * dim, fields["num_key_value_heads"] * dim
    inner, vocab = fields["intermediate_size"], fields["vocab_size"]
    drafts = fields.get("draft_vocab_size") or vocab
    sizes = {
        "fc": (hidden, hidden * len(fields["target_layer_ids"])),
        "markov_head.markov_w1": (vocab, rank),
        "markov_head.markov_w2": (drafts, rank),
    }
    norms = {"hidden_norm": hidden, "norm": hidden}
    for i in range(fields["num_hidden_layers"]):
        layer = f"layers.{i}."
        sizes |= {
            f"{layer}self_attn.q_proj": (wide, hidden),
            f"{layer}self_attn.k_proj": (narrow, hidden),
            f"{layer}self_attn.v_proj": (narrow, hidden),
            f"{layer}self_attn.o_proj": (hidden, wide),
            f"{layer}mlp.gate_proj": (inner, hidden),
            f"{layer}mlp.up_proj": (inner, hidden),
            f"{layer}mlp.down_proj": (hidden, inner),
        }
        norms |= {f"{layer}{name}_layernorm": hidden for name in ("input", "post_attention")}
        norms |= {f"{layer}self_attn.{name}_norm": dim for name in "qk"}
    if fields.get("enable_confidence_head", True):
        sizes["confidence_head.proj"] = (1, hidden + rank)
    if drafts != vocab:
        sizes["lm_head"] = (drafts, hidden)
    tensors = {f"{name}.weight": draw.normal(0, scale, size) for name, size in sizes.items()}
    tensors |= {f"{name}.weight": 1 + draw.normal(0, 0.2, size) for name, size in norms.items()}
    if "confidence_head.proj" in sizes:
        tensors["confidence_head.proj.bias"] = draw.normal(0, 1, (1,))
    found = {name: array.astype(np.float32) for name, array in tensors.items()}
    if drafts != vocab:
        ids = np.sort(draw.choice(vocab, drafts, replace=False))
        found["d2t"] = (ids - np.arange(drafts)).astype(np.int64)
        found["t2d"] = np.isin(np.arange(vocab), ids)
    return found


def write_drafter(folder: Path, config, weights):
    """A folder as it is published: config.json and one file of tensors."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    arrays = {name: mx.array(array) for name, array in weights.items()}
    mx.save_safetensors(str(folder / "model.safetensors"), arrays)
    return folder


def forward(config, weights, embed, head, taps, pending, **wrong):
    """Scores (block, draft vocab) before the chain, hidden rows, and the greedy chain.

    Args:
        embed: the target's embedding (vocab, hidden).
        head: the head's matrix (draft vocab, hidden).
        taps: (n, taps * hidden), one row a context token.
        wrong: deliberate mistakes: half, masked, last_row, tap_shift, no_slot_0, context_norm,
            early (positions of the block one too low), swapped (W1 and W2).
    """
    fields = drafting(config)
    w = {name: array.astype(np.float64) for name, array in weights.items()}
    eps, dim, theta = fields["rms_norm_eps"], fields["head_dim"], fields["rope_theta"]
    heads, kv = fields["num_attention_heads"], fields["num_key_value_heads"]
    interleaved = fields.get("rope_is_neox_style", True) is False
    if "half" in wrong:
        interleaved = not interleaved
    if "tap_shift" in wrong:
        taps = np.roll(taps, fields["hidden_size"], axis=1)
    first = taps.shape[0] - 1 if "last_row" in wrong else 0
    n, b = taps.shape[0], fields["block_size"]
    fused = rms(taps[first:] @ w["fc.weight"].T, w["hidden_norm.weight"], eps)
    x = embed.astype(np.float64)[[pending] + [fields["mask_token_id"]] * (b - 1)]
    at = n - 1 if "early" in wrong else n
    for i in range(fields["num_hidden_layers"]):
        p = {
            k.removeprefix(f"layers.{i}."): v for k, v in w.items() if k.startswith(f"layers.{i}.")
        }
        inputs = rms(x, p["input_layernorm.weight"], eps)
        context = rms(fused, p["input_layernorm.weight"], eps) if "context_norm" in wrong else fused

        def rows(name, source, count, p=p):
            return (source @ p[f"self_attn.{name}_proj.weight"].T).reshape(-1, count, dim)

        def turned(name, source, count, start, p=p):
            normed = rms(rows(name, source, count), p[f"self_attn.{name}_norm.weight"], eps)
            return rotated(normed, start, theta, interleaved)

        q = turned("q", inputs, heads, at)
        k = np.concatenate([turned("k", context, kv, first), turned("k", inputs, kv, at)])
        v = np.concatenate([rows("v", context, kv), rows("v", inputs, kv)])
        out = np.zeros_like(q)
        for h in range(heads):
            g = h * kv // heads
            scores = q[:, h] @ k[:, g].T / np.sqrt(dim)
            if "masked" in wrong:
                scores[:, n - first :] += np.triu(np.full((b, b), -np.inf), 1)
            scores = np.exp(scores - scores.max(axis=1, keepdims=True))
            out[:, h] = scores / scores.sum(axis=1, keepdims=True) @ v[:, g]
        x = x + out.reshape(b, -1) @ p["self_attn.o_proj.weight"].T
        z = rms(x, p["post_attention_layernorm.weight"], eps)
        gate = z @ p["mlp.gate_proj.weight"].T
        up = z @ p["mlp.up_proj.weight"].T
        x = x + (gate / (1 + np.exp(-gate)) * up) @ p["mlp.down_proj.weight"].T
    hidden = rms(x, w["norm.weight"], eps)
    base = hidden @ head.astype(np.float64).T
    if "no_slot_0" in wrong:
        base = np.roll(base, -1, axis=0)
    names = ["markov_head.markov_w1.weight", "markov_head.markov_w2.weight"]
    w1, w2 = (w[name] for name in (reversed(names) if "swapped" in wrong else names))
    ids = (
        np.arange(base.shape[1]) + w["d2t"].astype(int) if "d2t" in w else np.arange(base.shape[1])
    )
    chain, scored, before = [], [], pending
    for row in base:
        scored.append(row + w2 @ w1[before])
        before = int(ids[int(np.argmax(scored[-1]))])
        chain.append(before)
    return np.stack(scored), hidden, chain


def rms(x, weight, eps):
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + eps) * weight


def rotated(x, start, theta, interleaved):
    """Rows (n, heads, dim) turned by their positions from `start` on."""
    dim = x.shape[-1]
    angle = (start + np.arange(x.shape[0]))[:, None] * theta ** (-np.arange(0, dim, 2) / dim)
    cos, sin = np.cos(angle)[:, None], np.sin(angle)[:, None]
    out = np.empty_like(x)
    one, two = (
        (np.s_[..., 0::2], np.s_[..., 1::2])
        if interleaved
        else (np.s_[..., : dim // 2], np.s_[..., dim // 2 :])
    )
    out[one] = x[one] * cos - x[two] * sin
    out[two] = x[one] * sin + x[two] * cos
    return out
