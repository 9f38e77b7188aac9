"""Two thousand damaged folders: each loads, or is refused in one sentence."""

import copy
import json
import random
import struct

import pytest

from engine.errors import ModelRefused
from engine.loading import load_target
from support.model_folders import (
    CONFIGS,
    config_of,
    safetensors_bytes,
    split_safetensors,
    write_small,
)

SEED = 20261129
COUNT = 1000  # configs, and as many headers
ALL = ("model_missing", "config_missing", "config_damaged", "config_field", "model_type", "model_code",
       "is_drafter", "weights_missing", "weights_incomplete", "weights_damaged", "weights_pointer",
       "weights_web_page", "weights_archive", "weights_dtype", "weights_index", "weights_twice",
       "weights_misfit")  # fmt: skip
VALUES = [
    *(
        None,
        True,
        False,
        0,
        1,
        -1,
        2,
        3,
        5,
        16,
        31,
        64,
        1e-5,
        -0.5,
        1e308,
        float("nan"),
        float("inf"),
    ),
    *(1 << 31, 1 << 63, 10**30, "", "abc", "full_attention", "../x", "x\n\0", [], [1], [[[]]], {}),
    *(["full_attention"], ["conv", "conv"], ["sliding_attention"] * 2, {"rope_type": "linear"}),
    {"rope_type": "yarn", "factor": "x"},
    {"type": "llama3", "factor": 8, "low_freq_factor": 1, "high_freq_factor": 4},
    {"rope_type": "longrope", "short_factor": [1.0], "long_factor": [1.0] * 3},
    {"group_size": 32, "bits": 4},
    {"group_size": 32, "bits": 4, "model.embed_tokens": {"group_size": 32, "bits": 8}},
]
MORE_FIELDS = [
    *("head_dim", "rope_scaling", "rope_parameters", "quantization", "quantization_config"),
    *("layer_types", "sliding_window", "tie_word_embeddings", "attention_bias", "model_file"),
    *("architectures", "num_dense_layers", "full_attn_idxs", "mlp_layer_types", "no_rope_layers"),
    *("hidden_act", "text_config", "partial_rotary_factor", "mlp_only_layers", "dflash_config"),
]
SHAPES = [
    [],
    [0],
    [48, 32],
    [32, 48],
    [1536],
    [1 << 31] * 2,
    [0, 1 << 40],
    [-4, 4],
    [2.0, 3],
    [[1]],
]
ENTRIES = [None, 0, 1.5, "", "F16", "U32", "F64", "F8_E4M3", "C64", {}, "x" * 100, *SHAPES]


def outcome(folder):
    """The code of the refusal, or "loaded"; anything else that is raised fails the test."""
    try:
        load_target(folder, lambda done, total: None)
    except ModelRefused as error:
        refusal = error
    else:
        return "loaded"
    assert refusal.code in ALL
    assert refusal.message.endswith(".")
    assert refusal.message.isprintable()
    assert len(refusal.message) < 500
    assert refusal.safe == "Nothing was loaded."
    return refusal.code


def changed_config(chance, settings):
    settings = copy.deepcopy(settings)
    for _ in range(chance.choice([1, 1, 1, 2])):
        target = settings
        inner = [value for value in settings.values() if isinstance(value, dict)]
        if inner and chance.random() < 0.3:
            target = chance.choice(inner)
        names = [*target, *(MORE_FIELDS if target is settings else [])] or ["x"]
        if chance.random() < 0.2:
            target.pop(chance.choice(names), None)
        else:
            target[chance.choice(names)] = chance.choice(VALUES)
    return settings


def changed_bytes(chance, data):
    """Bytes flipped, cut, added, or another length of the header."""
    kind = chance.randrange(4)
    if kind == 0:
        flipped = bytearray(data)
        for _ in range(chance.randint(1, 4)):
            flipped[chance.randrange(2000)] = chance.randrange(256)
        return bytes(flipped)
    if kind == 1:
        return data[: chance.randrange(len(data))]
    if kind == 2:
        return data + bytes(chance.randrange(1, 100))
    lengths = [0, 1, 2, len(data) - 8, len(data), 1 << 31, 1 << 63, (1 << 64) - 1]
    return struct.pack("<Q", chance.choice(lengths)) + data[8:]


def changed_header(chance, data):
    """Entries of the header changed, renamed or swapped."""
    header, rest = split_safetensors(data)
    names = [name for name in header if name != "__metadata__"]
    first, second = chance.sample(names, 2)
    kind = chance.randrange(4)
    if kind == 0:
        header[first][chance.choice(["dtype", "shape", "data_offsets"])] = chance.choice(ENTRIES)
    elif kind == 1:
        header[first] = chance.choice(ENTRIES)
    elif kind == 2:
        header[first], header[second] = header[second], header[first]
    else:
        scales = first.replace("weight", "scales")
        new = chance.choice(["y", "", "é\n\0", f"{first}.scales", scales, "model.layers.9.x"])
        header[new] = header.pop(first)
    return safetensors_bytes(header, rest)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """One small model of every family."""
    root = tmp_path_factory.mktemp("families")
    for family in CONFIGS:
        write_small(root / family, family)
    return root


def test_that_a_mutated_config_is_loaded_or_refused_in_one_sentence(folders):
    chance = random.Random(SEED)
    seen = []
    for _ in range(COUNT):
        family = chance.choice(sorted(CONFIGS))
        settings = changed_config(chance, config_of(family))
        (folders / family / "config.json").write_text(json.dumps(settings))
        seen.append(outcome(folders / family))
    assert {"loaded", "config_field", "weights_misfit", "is_drafter"} <= set(seen), SEED


def test_that_a_mutated_weights_file_is_loaded_or_refused_in_one_sentence(tmp_path):
    chance = random.Random(SEED)
    write_small(tmp_path)
    path = tmp_path / "model.safetensors"
    data = path.read_bytes()
    seen = []
    for number in range(COUNT):
        change = changed_bytes if number % 2 else changed_header
        path.write_bytes(change(chance, data))
        seen.append(outcome(tmp_path))
    assert {"weights_damaged", "weights_incomplete", "weights_misfit", "loaded"} <= set(seen), SEED
