"""Pairs of folders with weights that NumPy draws: the same bits for every library that reads them."""

import json
from pathlib import Path

import mlx.core as mx
import numpy as np
from mlx.utils import tree_flatten

from engine.drafters import open_drafter, taps
from engine.loading import build, load_target
from engine.proposers import Context
from engine.request import Sampling
from engine.target import Target
from support.drafters import write_drafter
from support.tiny import tiny, tiny_config
from support.tiny_dspark import DEEPSPEC, LIQUID, QWEN3, ZLAB, random_weights
from support.tiny_lfm2 import DENSE, MOE, tiny_lfm2

PAIRS = {
    "liquid-dense": (DENSE, LIQUID),
    "liquid-moe": (MOE, LIQUID),
    "deepspec-llama": (None, DEEPSPEC),
    "deepspec-reduced": (None, DEEPSPEC | {"draft_vocab_size": 40}),
}
ZLAB_PAIRS = {
    "qwen3": (QWEN3, ZLAB),
    "qwen3-tied": (
        QWEN3 | {"tie_word_embeddings": True},
        ZLAB
        | {"block_size": 8, "num_key_value_heads": 4}
        | {"dflash_config": {"mask_token_id": 5, "target_layer_ids": [0, 1, 2]}},
    ),
}
# Rows of the head that are made louder: few words are likely then, and some guesses come true.
_LOUD = {
    "qwen3": ("lm_head.weight", 4, 20.0),
    "qwen3-tied": ("model.embed_tokens.weight", 3, 4.0),
}
PROMPT = [(5 * i * i + 3 * i + 1) % 60 for i in range(40)]
ROUNDS = 50


def drawn(config, seed=11):
    """A model of a config, or the small llama for None, with NumPy's weights."""
    return redrawn(tiny(0) if config is None else build(dict(config)), seed)


def target_of(config, taps):
    """A target of random weights that differs from `drawn`'s, the small llama for None."""
    if config is None:
        return Target(tiny(3), tiny_config(), taps)
    lfm2 = config["model_type"].startswith("lfm2")
    return Target(tiny_lfm2(config) if lfm2 else drawn(config, 3), dict(config), taps)


def redrawn(model, seed=11):
    """The model with every parameter drawn anew by NumPy, in the order of their names."""
    draw = np.random.default_rng(seed)
    weights = []
    for name, old in sorted(tree_flatten(model.parameters())):
        scale = 0.5 if "conv.conv" in name else 0.2
        values = draw.normal(0.0, scale, old.shape) + (1.0 if name.endswith("norm.weight") else 0.0)
        weights.append((name, mx.array(values.astype(np.float32))))
    model.load_weights(weights)
    return model


def write_pair(folder: Path, name: str):
    """Both folders of a pair: (target, drafter)."""
    config, drafter = (PAIRS | ZLAB_PAIRS)[name]
    target = folder / "target"
    target.mkdir(parents=True)
    (target / "config.json").write_text(json.dumps(config or tiny_config()))
    tensors = dict(tree_flatten(drawn(config).parameters()))
    if name in _LOUD:
        head, words, factor = _LOUD[name]
        tensors[head][:words] *= factor
    mx.save_safetensors(str(target / "model.safetensors"), tensors, {"format": "mlx"})
    return target, write_drafter(folder / "drafter", drafter, random_weights(drafter, seed=4))


def replay(folder: Path, drafter_folder: Path, rounds):
    """Assert that our drafter proposes what a peer did, and our target says what it committed."""
    loaded = load_target(folder, lambda done, total: None)
    target = Target(loaded.model, loaded.config, taps(drafter_folder))
    drafter = open_drafter(drafter_folder, target).start()
    cache, tokens = target.new_cache(), list(PROMPT)
    rows = target.forward(tokens, cache)
    drafter.observe(tokens, rows.taps)
    tokens.append(int(mx.argmax(rows.logits[-1]).item()))
    for (pending, *drafts), committed in rounds:
        assert tokens[-1] == pending
        proposal = drafter.propose(Context(tokens, 0, Sampling()), 99)
        assert proposal.ids.tolist() == drafts
        rows = target.forward([pending, *drafts], cache)
        assert mx.argmax(rows.logits[: len(committed)], axis=-1).tolist() == committed
        cache.rollback(len(tokens) - 1 + len(committed))
        drafter.observe([pending, *committed[:-1]], rows.taps[: len(committed)])
        tokens += committed
