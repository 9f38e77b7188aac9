"""Small drafters with an unmasked block, and what they compute, written anew in float64.

`forward` is a second implementation, from the equations alone: it shares no code with the engine.
"""

import numpy as np

from support.drafters import (
    attended,
    fed_forward,
    layer_of,
    layer_sizes,
    random_tensors,
    rms,
    rotated,
)

_BODY = {
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
    "rope_theta": 1e4,
    "max_position_embeddings": 4096,
    "layer_types": ["full_attention", "full_attention"],
}
LIQUID = _BODY | {
    "architectures": ["Lfm2DSparkDraftModel"],
    "dtype": "bfloat16",
    "vocab_size": 96,
    "rope_is_neox_style": False,
    "block_size": 5,
    "dflash_config": {"mask_token_id": 95, "target_layer_ids": [0, 2], "num_target_layers": 4},
    "markov_rank": 64,
    "markov_head_type": "vanilla",
    "enable_confidence_head": True,
}
DEEPSPEC = _BODY | {
    "architectures": ["Qwen3DSparkModel"],
    "attention_bias": False,
    "rope_parameters": {"rope_type": "default", "rope_theta": 1e4},
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
ZLAB = _BODY | {
    "architectures": ["DFlashDraftModel"],
    "auto_map": {"AutoModel": "dflash.DFlashDraftModel"},
    "dtype": "bfloat16",
    "rms_norm_eps": 1e-6,
    "attention_bias": False,
    "rope_scaling": None,
    "sliding_window": None,
    "use_sliding_window": False,
    "tie_word_embeddings": False,
    "block_size": 5,
    "num_target_layers": 4,
    "dflash_config": {"mask_token_id": 63, "target_layer_ids": [0, 2]},
}
QWEN3 = {
    "architectures": ["Qwen3ForCausalLM"],
    "model_type": "qwen3",
    "hidden_size": 64,
    "num_hidden_layers": 4,
    "intermediate_size": 128,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "rms_norm_eps": 1e-6,
    "vocab_size": 64,
    "max_position_embeddings": 4096,
    "rope_theta": 1e4,
    "attention_bias": False,
    "tie_word_embeddings": False,
}


def drafting(config):
    """A config with the nested fields at the top."""
    return {**config, **config.get("dflash_config", {})}


def random_weights(config, seed=1, scale=0.25):
    """Tensors under the names and in the shapes of the published files, float32."""
    fields, draw = drafting(config), np.random.default_rng(seed)
    hidden, dim, rank = fields["hidden_size"], fields["head_dim"], fields.get("markov_rank")
    wide, narrow = fields["num_attention_heads"] * dim, fields["num_key_value_heads"] * dim
    vocab = fields["vocab_size"]
    drafts = fields.get("draft_vocab_size") or vocab
    attention = {"q": (wide, hidden), "k": (narrow, hidden), "v": (narrow, hidden)}
    inner, norms = layer_sizes(fields, attention | {"o": (hidden, wide)})
    sizes = {"fc": (hidden, hidden * len(fields["target_layer_ids"]))}
    if rank:
        sizes |= {"markov_head.markov_w1": (vocab, rank), "markov_head.markov_w2": (drafts, rank)}
    sizes |= inner
    confident = rank and fields.get("enable_confidence_head", True)
    if confident:
        sizes["confidence_head.proj"] = (1, hidden + rank)
    if drafts != vocab:
        sizes["lm_head"] = (drafts, hidden)
    found = random_tensors(sizes, {"hidden_norm": hidden, "norm": hidden} | norms, draw, scale)
    if confident:
        found["confidence_head.proj.bias"] = draw.normal(0, 1, (1,)).astype(np.float32)
    if drafts != vocab:
        ids = np.sort(draw.choice(vocab, drafts, replace=False))
        found["d2t"] = (ids - np.arange(drafts)).astype(np.int64)
        found["t2d"] = np.isin(np.arange(vocab), ids)
    return found


def forward(config, weights, embed, head, taps, pending, **wrong):
    """Scores (guesses, draft vocab), hidden rows, and the greedy guesses.

    Args:
        embed: the target's embedding (vocab, hidden).
        head: the head's matrix (draft vocab, hidden).
        taps: (n, taps * hidden), one row a context token.
        wrong: deliberate mistakes: half, masked, last_row, tap_shift, context_norm, early
            (positions of the block one too low); in the chain no_slot_0, swapped (W1 and W2);
            without a chain row_0 (guesses taken one row early).
    """
    fields = drafting(config)
    w = {name: array.astype(np.float64) for name, array in weights.items()}
    eps, b = fields["rms_norm_eps"], fields["block_size"]
    if "tap_shift" in wrong:
        taps = np.roll(taps, fields["hidden_size"], axis=1)
    first = taps.shape[0] - 1 if "last_row" in wrong else 0
    fused = rms(taps[first:] @ w["fc.weight"].T, w["hidden_norm.weight"], eps)
    x = embed.astype(np.float64)[[pending] + [fields["mask_token_id"]] * (b - 1)]
    for i in range(fields["num_hidden_layers"]):
        p = layer_of(w, i)
        norm = p["input_layernorm.weight"]
        context = rms(fused, norm, eps) if "context_norm" in wrong else fused
        x = x + _attention(fields, p, rms(x, norm, eps), context, first, wrong)
        x = fed_forward(x, p, eps)
    hidden = rms(x, w["norm.weight"], eps)
    if "markov_rank" in fields:
        return _chained(w, hidden, head.astype(np.float64), pending, wrong)
    hidden = hidden[:-1] if "row_0" in wrong else hidden[1:]
    scores = hidden @ head.astype(np.float64).T
    return scores, hidden, np.argmax(scores, axis=1).tolist()


def _attention(fields, p, inputs, context, first, wrong):
    """What one layer's attention adds to block rows; the oldest context row is at `first`."""
    dim, eps, theta = fields["head_dim"], fields["rms_norm_eps"], fields["rope_theta"]
    heads, kv = fields["num_attention_heads"], fields["num_key_value_heads"]
    interleaved = (fields.get("rope_is_neox_style", True) is False) != ("half" in wrong)
    n, b = context.shape[0], inputs.shape[0]
    at = first + n - 1 if "early" in wrong else first + n

    def rows(name, source, count):
        return (source @ p[f"self_attn.{name}_proj.weight"].T).reshape(-1, count, dim)

    def turned(name, source, count, start):
        normed = rms(rows(name, source, count), p[f"self_attn.{name}_norm.weight"], eps)
        return rotated(normed, start, theta, interleaved)

    q = turned("q", inputs, heads, at)
    k = np.concatenate([turned("k", context, kv, first), turned("k", inputs, kv, at)])
    v = np.concatenate([rows("v", context, kv), rows("v", inputs, kv)])
    visible = np.ones((b, n + b), bool)
    if "masked" in wrong:
        visible[:, n:] = np.tri(b, dtype=bool)
    return attended(q, k, v, visible).reshape(b, -1) @ p["self_attn.o_proj.weight"].T


def _chained(w, hidden, head, pending, wrong):
    """The scores of hidden rows, each corrected by the token before."""
    base = hidden @ head.T
    if "no_slot_0" in wrong:
        base = np.roll(base, -1, axis=0)
    names = ["markov_head.markov_w1.weight", "markov_head.markov_w2.weight"]
    w1, w2 = (w[name] for name in (reversed(names) if "swapped" in wrong else names))
    ids = np.arange(base.shape[1]) + w.get("d2t", np.zeros(1)).astype(int)
    chain, scored, before = [], [], pending
    for row in base:
        scored.append(row + w2 @ w1[before])
        before = int(ids[int(np.argmax(scored[-1]))])
        chain.append(before)
    return np.stack(scored), hidden, chain
