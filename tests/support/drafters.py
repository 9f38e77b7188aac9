"""What the tests of every drafter share: configs, folders, random weights, and equations in float64.

The equations are written from the papers alone: they share no code with the engine.
"""

import copy
import json
from pathlib import Path

import mlx.core as mx
import numpy as np


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


def write_drafter(folder: Path, config, weights):
    """A folder as it is published: config.json and one file of tensors."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    arrays = {name: mx.array(array) for name, array in weights.items()}
    mx.save_safetensors(str(folder / "model.safetensors"), arrays)
    return folder


def layer_sizes(config, attention):
    """Shapes of the matrices of all layers, and lengths of their norms, as in published files.

    Args:
        attention: shapes of the matrices of a layer's attention.
    """
    hidden, inner, sizes, norms = config["hidden_size"], config["intermediate_size"], {}, {}
    for i in range(config["num_hidden_layers"]):
        layer = f"layers.{i}."
        sizes |= {f"{layer}self_attn.{name}_proj": size for name, size in attention.items()}
        sizes |= {f"{layer}mlp.{name}_proj": (inner, hidden) for name in ("gate", "up")}
        sizes |= {f"{layer}mlp.down_proj": (hidden, inner)}
        norms |= {f"{layer}{name}_layernorm": hidden for name in ("input", "post_attention")}
        norms |= {f"{layer}self_attn.{name}_norm": config["head_dim"] for name in "qk"}
    return sizes, norms


def random_tensors(sizes, norms, draw, scale):
    """Matrices around 0 and norms around 1, float32."""
    tensors = {f"{name}.weight": draw.normal(0, scale, size) for name, size in sizes.items()}
    tensors |= {f"{name}.weight": 1 + draw.normal(0, 0.2, size) for name, size in norms.items()}
    return {name: array.astype(np.float32) for name, array in tensors.items()}


def layer_of(weights, i):
    """The tensors of one layer, under the names they have in it."""
    at = f"layers.{i}."
    return {name.removeprefix(at): v for name, v in weights.items() if name.startswith(at)}


def rms(x, weight, eps):
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + eps) * weight


def fed_forward(x, p, eps):
    """Rows (n, hidden) after a layer's second half."""
    z = rms(x, p["post_attention_layernorm.weight"], eps)
    gate, up = z @ p["mlp.gate_proj.weight"].T, z @ p["mlp.up_proj.weight"].T
    return x + (gate / (1 + np.exp(-gate)) * up) @ p["mlp.down_proj.weight"].T


def attended(q, k, v, visible):
    """Attention of rows (m, heads, dim) over rows (n, kv heads, dim); `visible` is (m, n)."""
    heads, kv, out = q.shape[1], k.shape[1], np.zeros_like(q)
    for h in range(heads):
        g = h * kv // heads
        scores = np.where(visible, q[:, h] @ k[:, g].T / np.sqrt(q.shape[2]), -np.inf)
        scores = np.exp(scores - scores.max(axis=1, keepdims=True))
        out[:, h] = scores / scores.sum(axis=1, keepdims=True) @ v[:, g]
    return out


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
