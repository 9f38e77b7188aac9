"""Thousands of damaged Laguna folders: each opens or is refused by name, and none leaves memory."""

import copy
import gc
import random

import mlx.core as mx
import pytest

from engine.drafters import open_drafter
from engine.errors import DrafterRefused, ModelRefused
from engine.loading import check
from engine.target import Target
from support.drafters import write_drafter
from support.laguna_folder import CONFIG, write_target
from support.model_folders import resident, safetensors_bytes, split_safetensors, write_json
from support.tiny_dflash import DRAFTER, random_weights
from support.tiny_laguna import TARGET, tiny_laguna

ODD = (
    None, True, False, 0, -1, 1, 2, 7, 10**30, 2**31, 2**63, 1.5, float("inf"), float("nan"), "",
    "x", "silu", "per-head", "BF16", "I64", [], [0], [1, 0], ["sliding_attention"], {},
    {"rope_type": "yarn"}, [[[]]], [2**40, 2**40], [-1, 5],
)  # fmt: skip
MORE = 2 << 20  # bytes that Python's and MLX's pools may still take after the warm-up


def some_or_many(some, many):
    return pytest.mark.parametrize("count", [some, pytest.param(many, marks=pytest.mark.slow)])


@pytest.fixture(scope="module")
def laguna():
    return Target(tiny_laguna(), dict(TARGET), (1, 3, 4))


def mutated(rng, value, names):
    """A copy with one to three fields, here or one level down, odd or gone."""
    value = copy.deepcopy(value)
    for _ in range(rng.randint(1, 3)):
        place = value
        inner = [each for each in value.values() if isinstance(each, dict) and each]
        if inner and rng.random() < 0.4:
            place = rng.choice(inner)
        name = rng.choice([*place, *(names if place is value else ())])
        if rng.random() < 0.2:
            place.pop(name, None)
        else:
            place[name] = copy.deepcopy(rng.choice(ODD))
    return value


def outcomes(count, attempt):
    """How many attempts opened and how many were refused; any other exception is a failure."""
    opened = refused = before = active = 0
    seen = set()
    for i in range(count):
        if i == count // 5:  # caches and pools are filled
            before, active = measured()
        try:
            attempt()
            opened += 1
        except (DrafterRefused, ModelRefused) as error:
            seen.add((len(error.message) < 500, all((error.message, error.safe, error.action))))
            refused += 1
    now, still = measured()
    assert seen == {(True, True)}  # short, and in three parts
    assert still <= active
    assert now <= before + MORE, (now - before) >> 10
    return opened, refused


def measured():
    gc.collect()
    mx.clear_cache()
    return resident(), mx.get_active_memory()


@some_or_many(500, 5000)
def test_that_a_mutated_drafter_config_opens_or_is_refused_by_name(count, laguna, tmp_path):
    rng = random.Random(5)
    write_drafter(tmp_path, DRAFTER, random_weights(DRAFTER))

    def attempt():
        names = ("sliding_windows", "quantization", "rope_parameters", "rope_scaling")
        write_json(tmp_path / "config.json", mutated(rng, DRAFTER, names))
        open_drafter(tmp_path, laguna)

    opened, refused = outcomes(count, attempt)
    assert opened > count / 50
    assert refused > count / 4


@some_or_many(300, 3000)
def test_that_a_mutated_header_opens_or_is_refused_by_name(count, laguna, tmp_path):
    rng = random.Random(6)
    write_drafter(tmp_path, DRAFTER, random_weights(DRAFTER))
    file = tmp_path / "model.safetensors"
    whole = file.read_bytes()
    header, tensors = split_safetensors(whole)
    length = len(whole) - len(tensors)

    def attempt():
        if rng.random() < 0.5:  # fields
            name = rng.choice([name for name in header if name != "__metadata__"])
            changed = header | {name: mutated(rng, header[name], ())}
            data = safetensors_bytes(changed, tensors)
        else:  # bytes
            data = bytearray(whole)
            for _ in range(rng.randint(1, 4)):
                data[rng.randrange(length)] = rng.randrange(256)
        if rng.random() < 0.2:
            data = data[: rng.randrange(len(data))]
        file.write_bytes(data)
        open_drafter(tmp_path, laguna)

    opened, refused = outcomes(count, attempt)
    assert refused > count / 2
    assert opened + refused == count


@some_or_many(200, 2000)
def test_that_a_mutated_target_config_is_taken_or_refused_by_name(count, tmp_path):
    rng = random.Random(7)
    write_target(tmp_path)

    def attempt():
        write_json(tmp_path / "config.json", mutated(rng, CONFIG, ("quantization", "rope_scaling")))
        check(tmp_path)

    opened, refused = outcomes(count, attempt)
    assert opened > count / 50
    assert refused > count / 4
