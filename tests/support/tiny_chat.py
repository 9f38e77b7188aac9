"""A folder that can be chatted with: a small random model under the starter's tokenizer."""

import mlx.core as mx
from mlx.utils import tree_flatten

from support.model_folders import linked, write_json
from support.tiny import tiny, tiny_config

VOCAB = 49152


def tiny_chat(folder, starter, seed=3):
    """Links to the starter's files, but for its config and weights; returns the folder."""
    linked(folder, starter)
    for name in ("config.json", "model.safetensors"):
        (folder / name).unlink()
    write_json(folder / "config.json", tiny_config(VOCAB) | {"max_position_embeddings": 2048})
    # Weak layers: the model repeats itself, so that there is something to copy.
    weights = {
        name: array * 0.2 if name.endswith("proj.weight") else array
        for name, array in tree_flatten(tiny(seed, VOCAB).parameters())
    }
    mx.save_safetensors(str(folder / "model.safetensors"), weights, {"format": "mlx"})
    return folder
