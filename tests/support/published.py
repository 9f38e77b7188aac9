"""Laguna's published drafter configs in the words of their files, and folders of their shapes."""

import mlx.core as mx
import numpy as np
from mlx.utils import tree_map
from mlx_lm.models import laguna

from engine.drafters.dflash_config import check
from engine.drafters.dflash_weights import shapes
from support.drafters import write_drafter
from support.laguna_folder import CONFIG, published
from support.model_folders import write_json
from support.tiny_dflash import DRAFTER
from support.tiny_laguna import FULL, SLIDING

XS = DRAFTER | {
    "hidden_size": 2048,
    "intermediate_size": 8192,
    "num_hidden_layers": 5,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "vocab_size": 100352,
    "draft_vocab_size": 100352,
    "rope_theta": 500000.0,
    "sliding_window": 512,
    "layer_types": ["sliding_attention"] * 5,
    "max_position_embeddings": 262144,
    "dflash_config": {
        "block_size": 16,
        "mask_token_id": 12,
        "causal": True,
        "num_target_layers": 40,
        "target_layer_ids": [1, 13, 25, 33, 39],
    },
    "eagle_aux_hidden_state_layer_ids": [2, 14, 26, 34, 40],
}
S = XS | {
    "hidden_size": 3072,
    "intermediate_size": 12288,
    "num_hidden_layers": 6,
    "num_attention_heads": 72,
    "sliding_windows": [512] * 6,
    "layer_types": ["sliding_attention"] * 6,
    "max_position_embeddings": 1048576,
    "dflash_config": {
        "block_size": 16,
        "mask_token_id": 12,
        "causal": True,
        "num_target_layers": 48,
        "target_layer_ids": [1, 10, 19, 29, 38, 47],
    },
    "eagle_aux_hidden_state_layer_ids": [2, 11, 20, 30, 39, 48],
}
# A target as wide as XS 2.1, its 40 layers thin and all dense: 822 MB, nearly all of it
# embedding and head, which the drafter borrows.
STAND_IN = CONFIG | {
    "vocab_size": 100352,
    "hidden_size": 2048,
    "intermediate_size": 16,
    "num_hidden_layers": 40,
    "num_attention_heads_per_layer": [2, 4, 4, 4] * 10,
    "layer_types": [FULL, SLIDING, SLIDING, SLIDING] * 10,
    "mlp_layer_types": ["dense"] * 40,
    "sliding_window": 512,
    "max_position_embeddings": 262144,
}


def drawn(shape, rng):
    """Random bfloat16 of either sign from 1/64 to 1/32, ones for a norm.

    A million numbers over and over, so that a gigabyte takes a second; their count is a prime, so
    no two rows are alike.
    """
    if len(shape) == 1:
        return mx.ones(shape, mx.bfloat16)
    bits = rng.integers(0, 1 << 16, 1_000_003, np.uint16) & 0x807F | (121 << 7)
    return mx.array(np.resize(bits, shape)).view(mx.bfloat16)


def write_published_drafter(folder, config=XS):
    """A folder of a published drafter's very shapes."""
    rng = np.random.default_rng(1)
    tensors = {name: drawn(shape, rng) for name, shape in shapes(check(config)).items()}
    return write_drafter(folder, config, tensors)


def write_stand_in(folder):
    """The target's folder, without tokenizer."""
    rng = np.random.default_rng(2)
    model = laguna.Model(laguna.ModelArgs.from_dict(dict(STAND_IN)))
    model.update(tree_map(lambda parameter: drawn(parameter.shape, rng), model.parameters()))
    folder.mkdir(parents=True)
    write_json(folder / "config.json", STAND_IN)
    mx.save_safetensors(str(folder / "model.safetensors"), published(model), {"format": "pt"})
    return folder
