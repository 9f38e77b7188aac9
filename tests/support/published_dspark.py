"""DSpark drafters in the very shapes that LiquidAI publishes, with random bfloat16, and thin targets.

Values: config.json of the LFM2.5-*-DSpark repositories, and of their targets.
"""

from pathlib import Path

import mlx.core as mx
import numpy as np
from mlx.utils import tree_map_with_path
from mlx_lm.models import lfm2

from engine.drafters.dspark_config import check
from engine.drafters.dspark_weights import shapes
from engine.target import Target
from support.drafters import write_drafter
from support.published import drawn
from support.tiny_dspark import LIQUID
from support.tiny_lfm2 import CONV, DENSE, FULL

_ALL = LIQUID | {
    "hidden_size": 2048,
    "num_hidden_layers": 5,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "head_dim": 64,
    "intermediate_size": 6144,
    "vocab_size": 128000,
    "rope_theta": 1e7,
    "max_position_embeddings": 128000,
    "layer_types": ["full_attention"] * 5,
    "block_size": 9,
    "markov_rank": 256,
}


def _with(taps, layers, mask_id, **fields):
    nested = {"mask_token_id": mask_id, "target_layer_ids": taps, "num_target_layers": layers}
    return _ALL | fields | {"dflash_config": nested}


CONFIGS = {
    "LFM2.5-1.2B-Instruct-DSpark": _with(
        [2, 5, 8, 11, 14], 16, 64402, vocab_size=65536, rope_theta=1e6
    ),
    "LFM2.5-2.6B-DSpark": _with([2, 9, 17, 21, 27], 30, 125017),
    "LFM2.5-8B-A1B-DSpark": _with([2, 6, 10, 14, 18], 24, 125017, rope_theta=5e6),
}
PARAMETERS = {
    "LFM2.5-1.2B-Instruct-DSpark": 295_725_953,
    "LFM2.5-2.6B-DSpark": 327_707_521,
    "LFM2.5-8B-A1B-DSpark": 327_707_521,
}
_ATTENTION = {  # the target's full-attention layers
    "LFM2.5-1.2B-Instruct-DSpark": (2, 5, 8, 10, 12, 14),
    "LFM2.5-2.6B-DSpark": (2, 5, 9, 13, 17, 21, 24, 27),
}


def write_random(folder: Path, config) -> Path:
    """The folder of a drafter of that config, of small bfloat16 numbers of either sign."""
    rng = np.random.default_rng(1)
    tensors = {name: drawn(shape, rng) for name, shape in shapes(check(config)).items()}
    return write_drafter(folder, config, tensors)


def thin_target(name: str) -> Target:
    """A random bfloat16 target with the published layers, width and vocabulary, and narrow MLPs."""
    drafter = CONFIGS[name]
    layers = drafter["dflash_config"]["num_target_layers"]
    config = DENSE | {
        "hidden_size": 2048, "block_dim": 2048, "num_attention_heads": 32, "block_ff_dim": 96,
        "num_key_value_heads": 8, "vocab_size": drafter["vocab_size"],
        "num_hidden_layers": layers,
        "layer_types": [FULL if i in _ATTENTION[name] else CONV for i in range(layers)],
    }  # fmt: skip
    model = lfm2.Model(lfm2.ModelArgs.from_dict(config))

    def drawn(path, parameter):
        if path.endswith("norm.weight"):
            return mx.ones(parameter.shape, mx.bfloat16)
        return mx.random.normal(parameter.shape, mx.bfloat16) * 0.02

    model.update(tree_map_with_path(drawn, model.parameters()))
    mx.eval(model.parameters())
    return Target(model, config, drafter["dflash_config"]["target_layer_ids"])
