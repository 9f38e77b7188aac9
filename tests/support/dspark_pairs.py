"""Pairs of folders with weights that NumPy draws: the same bits for every library that reads them."""

import json
from pathlib import Path

import mlx.core as mx
import numpy as np
from mlx.utils import tree_flatten

from support.drafters import write_drafter
from support.tiny import tiny, tiny_config
from support.tiny_dspark import DEEPSPEC, LIQUID, random_weights
from support.tiny_lfm2 import DENSE, MOE, tiny_lfm2

PAIRS = {
    "liquid-dense": (DENSE, LIQUID),
    "liquid-moe": (MOE, LIQUID),
    "deepspec-llama": (None, DEEPSPEC),
    "deepspec-reduced": (None, DEEPSPEC | {"draft_vocab_size": 40}),
}
PROMPT = [(5 * i * i + 3 * i + 1) % 60 for i in range(40)]
ROUNDS = 50


def drawn(config, seed=11):
    """A model of an LFM2 config, or the small llama for None, with NumPy's weights."""
    model = tiny(0) if config is None else tiny_lfm2(config)
    return redrawn(model, seed)


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
    config, drafter = PAIRS[name]
    target = folder / "target"
    target.mkdir(parents=True)
    (target / "config.json").write_text(json.dumps(config or tiny_config()))
    flat = tree_flatten(drawn(config).parameters())
    mx.save_safetensors(str(target / "model.safetensors"), dict(flat), {"format": "mlx"})
    return target, write_drafter(folder / "drafter", drafter, random_weights(drafter, seed=4))
