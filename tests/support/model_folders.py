"""Model folders for tests, written with nothing but the standard library and MLX arrays."""

import copy
import json
import os
import struct
from pathlib import Path

import mlx.core as mx
from mlx.utils import tree_flatten

from engine import loading

_SIZES = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "intermediate_size": 64,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "rms_norm_eps": 1e-5,
    "vocab_size": 48,
    "max_position_embeddings": 256,
    "rope_theta": 10000.0,
}
_HEAD = {"head_dim": 8}
_MOE = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32}
_CONV = {
    "norm_eps": 1e-5,
    "conv_bias": False,
    "conv_L_cache": 3,
    "layer_types": ["conv", "full_attention"],
}
# A small model of every family that is served, in the words of its config.json.
CONFIGS = {
    "llama": _SIZES,
    "mistral": _SIZES,
    "ministral3": _SIZES
    | {
        "rope_parameters": {
            "rope_type": "yarn",
            "factor": 4.0,
            "rope_theta": 1e6,
            "llama_4_scaling_beta": 0.1,
            "original_max_position_embeddings": 64,
        },
        "layer_types": ["sliding_attention", "full_attention"],
        "sliding_window": 16,
    },
    "qwen2": _SIZES,
    "qwen3": _SIZES | _HEAD | {"tie_word_embeddings": False},
    "qwen3_moe": _SIZES
    | _HEAD
    | _MOE
    | {
        "tie_word_embeddings": False,
        "decoder_sparse_step": 1,
        "mlp_only_layers": [],
        "norm_topk_prob": True,
    },
    "smollm3": _SIZES | {"no_rope_layers": [1, 0]},
    "gemma": _SIZES | _HEAD,
    "gemma2": _SIZES | _HEAD,
    "gemma3_text": _SIZES | _HEAD | {"sliding_window": 16, "sliding_window_pattern": 2},
    "phi3": _SIZES,
    "olmo2": _SIZES,
    "glm4": _SIZES | _HEAD | {"attention_bias": True, "partial_rotary_factor": 0.5},
    "granite": _SIZES
    | {
        "attention_bias": False,
        "mlp_bias": False,
        "logits_scaling": 8.0,
        "attention_multiplier": 0.1,
        "embedding_multiplier": 12.0,
        "residual_multiplier": 0.2,
    },
    "laguna": _SIZES
    | _HEAD
    | _MOE
    | {
        "shared_expert_intermediate_size": 32,
        "gating": "per-head",
        "sliding_window": 16,
        "layer_types": ["full_attention", "sliding_attention"],
        "num_attention_heads_per_layer": [4, 6],
        "rope_parameters": {
            "full_attention": {
                "rope_type": "yarn",
                "rope_theta": 5e5,
                "factor": 32.0,
                "original_max_position_embeddings": 64,
                "partial_rotary_factor": 0.5,
            },
            "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
        },
    },
    "lfm2": _SIZES
    | _CONV
    | {
        "block_dim": 32,
        "block_multiple_of": 16,
        "block_ffn_dim_multiplier": 1.0,
        "block_auto_adjust_ff_dim": True,
        "block_ff_dim": 64,
    },
    "lfm2_moe": _SIZES
    | _CONV
    | _MOE
    | {"norm_topk_prob": True, "use_expert_bias": True, "num_dense_layers": 1},
}


def config_of(family):
    """The config.json of the small model of a family."""
    return {"model_type": family, **copy.deepcopy(CONFIGS[family])}


def write_small(folder, family="llama", seed=1):
    """A folder with a small random model of a family; its model."""
    model = loading.build(config_of(family))
    mx.random.seed(seed)
    arrays = {
        name: mx.random.normal(array.shape) * 0.3 if array.ndim > 1 else array
        for name, array in tree_flatten(model.parameters())
    }
    model.load_weights(list(arrays.items()))
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / "config.json", config_of(family))
    mx.save_safetensors(str(folder / "model.safetensors"), arrays)
    return model


def write_json(path, value):
    """A JSON file."""
    path.write_text(json.dumps(value))


def edit_json(path, change):
    """Change a JSON file in place; `change` edits the value it is given."""
    value = json.loads(path.read_text())
    change(value)
    path.unlink()  # it may be a link into another folder
    write_json(path, value)


def linked(folder, source):
    """A folder of links to the files of `source`, so that single files can be replaced."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in source.iterdir():
        (folder / path.name).symlink_to(path)
    return folder


def split_safetensors(data):
    """The header of a safetensors file as a dict, and the bytes after it."""
    length = struct.unpack("<Q", data[:8])[0]
    return json.loads(data[8 : 8 + length]), data[8 + length :]


def safetensors_bytes(header, data):
    """A safetensors file of a header and the bytes after it."""
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def write_shards(folder, source, cut):
    """Write the tensors of one file as two shards with their index; those before `cut` go first."""
    header, data = split_safetensors(Path(source).read_bytes())
    header.pop("__metadata__", None)
    names = sorted(header)
    places = {}
    for number, part in enumerate((names[:cut], names[cut:]), start=1):
        file = f"model-{number:05d}-of-00002.safetensors"
        own, pieces, at = {}, [], 0
        for name in part:
            begin, end = header[name]["data_offsets"]
            own[name] = header[name] | {"data_offsets": [at, at + end - begin]}
            pieces.append(data[begin:end])
            at += end - begin
            places[name] = file
        (folder / file).write_bytes(safetensors_bytes(own, b"".join(pieces)))
    write_json(folder / "model.safetensors.index.json", {"metadata": {}, "weight_map": places})


def resident():
    """Bytes of memory this process holds now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGESIZE")


def without_template(folder, copy):
    """The model of `folder` once more, in `copy`, with no chat template in it."""
    return with_template(folder, copy, None)


def with_template(folder, copy, template):
    """The model of `folder` once more, in `copy`, with another chat template, None without."""
    copy.mkdir()
    for file in folder.iterdir():
        if file.name == "tokenizer_config.json":
            settings = json.loads(file.read_text())
            del settings["chat_template"]
            if template is not None:
                settings["chat_template"] = template
            (copy / file.name).write_text(json.dumps(settings))
        else:
            (copy / file.name).symlink_to(file)
    return copy
