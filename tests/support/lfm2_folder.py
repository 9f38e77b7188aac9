"""LFM2 folders in the layout that transformers publishes, with NumPy's weights."""

import json
from pathlib import Path

import mlx.core as mx
from mlx.utils import tree_flatten

from support.dspark_pairs import drawn
from support.tiny_lfm2 import DENSE, MOE

FOLDERS = {"lfm2": DENSE, "lfm2_moe": MOE}
IDS = [(11 * i * i + 5 * i + 2) % 96 for i in range(24)]
_EXPERTS = {"gate_proj": "w1", "down_proj": "w2", "up_proj": "w3"}


def write_lfm2(folder: Path, name: str) -> Path:
    """A folder that both transformers and mlx-lm open."""
    config = FOLDERS[name]
    folder.mkdir(parents=True, exist_ok=True)
    named = {"lfm2": "Lfm2ForCausalLM", "lfm2_moe": "Lfm2MoeForCausalLM"}[name]
    rope = {"rope_parameters": {"rope_theta": 1e4, "rope_type": "default"}}
    text = json.dumps(config | rope | {"architectures": [named], "dtype": "float32"})
    (folder / "config.json").write_text(text)
    tensors = {}
    for path, array in tree_flatten(drawn(config).parameters()):
        if "conv.conv.weight" in path:
            tensors[path] = array.transpose(0, 2, 1)
        elif "switch_mlp" in path:
            before, after = path.split("switch_mlp.")
            part = _EXPERTS[after.removesuffix(".weight")]
            for i, expert in enumerate(array):
                tensors[f"{before}experts.{i}.{part}.weight"] = expert
        elif name == "lfm2_moe" and "feed_forward" in path and "_proj" in path:
            before, after = path.split("feed_forward.")
            part = _EXPERTS[after.removesuffix(".weight")]
            tensors[f"{before}feed_forward.{part}.weight"] = array
        else:
            tensors[path] = array
    contiguous = {path: mx.contiguous(array) for path, array in tensors.items()}
    mx.save_safetensors(str(folder / "model.safetensors"), contiguous, {"format": "pt"})
    return folder
