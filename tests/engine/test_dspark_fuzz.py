"""Thousands of broken drafter folders: a refusal with its words or a drafter, and no memory lost."""

import copy
import gc
import json
import random

import mlx.core as mx
import pytest

from engine.drafters import open_drafter
from engine.errors import DrafterRefused
from engine.proposers import Context
from engine.request import Sampling
from engine.target import Target
from support.drafters import write_drafter
from support.dspark_pairs import target_of
from support.model_folders import resident
from support.tiny import P, tiny, tiny_config
from support.tiny_dspark import DEEPSPEC, LIQUID, QWEN3, ZLAB, random_weights
from support.tiny_lfm2 import DENSE, tiny_lfm2

COUNTS = [1500, pytest.param(10_000, marks=[pytest.mark.slow, pytest.mark.timeout(600)])]
ODD = (
    None, True, False, 0, -1, 1, 2, 3, 7, 31, 64, 10**30, 2**31, 1.5, float("inf"), float("nan"), "",
    "x", "silu", [], [0], [1, 0], [0, 1], ["full_attention"], {}, {"rope_type": "yarn"}, [[[]]],
    "9" * 200, "\u202e<b>",
)  # fmt: skip
NEW = (
    "draft_vocab_size",
    "sliding_window",
    "speculators_x",
    "rope_scaling",
    "is_causal",
    "dspark_x",
)
GROWTH = (
    24 << 20
)  # bytes that an allocator may keep; a lost drafter a mutation would be ten times that


@pytest.fixture(scope="module")
def pairs():
    return (
        (LIQUID, Target(tiny_lfm2(DENSE), dict(DENSE), (0, 2))),
        (DEEPSPEC, Target(tiny(3), tiny_config(), (0, 1))),
        (DEEPSPEC | {"draft_vocab_size": 40}, Target(tiny(3), tiny_config(), (0, 1))),
        (ZLAB, target_of(QWEN3, (0, 2))),
    )


def mutated_config(config, rng):
    """The text of a config with one to three fields odd, or with broken characters."""
    config = copy.deepcopy(config)
    for _ in range(rng.randint(1, 3)):
        place = config
        if isinstance(config.get("dflash_config"), dict) and rng.random() < 0.3:
            place = config["dflash_config"]
        name = rng.choice([*place, *NEW])
        if rng.random() < 0.2:
            place.pop(name, None)
        else:
            place[name] = rng.choice(ODD)
    text = json.dumps(config)
    if rng.random() < 0.1:
        at = rng.randrange(len(text))
        text = text[:at] + chr(rng.randrange(1, 0x250)) * rng.choice([1, 1, 2000]) + text[at + 1 :]
    return text


def mutated_file(whole, rng):
    """A weights file with its header broken, or its end missing."""
    header = 8 + int.from_bytes(whole[:8], "little")
    data = bytearray(whole)
    for _ in range(rng.randint(1, 4)):
        data[rng.randrange(header)] = rng.randrange(256)
    if rng.random() < 0.2:
        data = data[: rng.randrange(len(data))]
    return data


def refusal(folder, target):
    """The refusal of a folder, None if it opened; then what it drafts are ids."""
    try:
        opened = open_drafter(folder, target)
    except DrafterRefused as error:
        return error
    drafter = opened.start()
    drafter.observe(P, mx.ones((len(P), len(opened.tapped) * opened.config.hidden)))
    proposal = drafter.propose(Context([*P, 1], 0, Sampling()), 3)
    assert all(0 <= i < target.vocab_size for i in proposal.ids.tolist())
    return None


def held():
    gc.collect()
    mx.clear_cache()
    return mx.get_active_memory()


@pytest.mark.parametrize("count", COUNTS)
def test_that_broken_folders_give_named_refusals_and_lose_no_memory(count, pairs, tmp_path):
    rng = random.Random(count)
    opened = refused = 0
    for number, (config, target) in enumerate(pairs):
        folder = write_drafter(tmp_path / str(number), config, random_weights(config))
        file, text = folder / "model.safetensors", (folder / "config.json").read_text()
        whole = file.read_bytes()
        active = resting = 0
        for i in range(count // len(pairs) + 1):
            if i == count // 10:  # the first ones warm up
                active, resting = held(), resident()
            of_config = rng.random() < 0.7
            (folder / "config.json").write_text(mutated_config(config, rng) if of_config else text)
            file.write_bytes(whole if of_config else mutated_file(whole, rng))
            said = refusal(folder, target)
            opened, refused = opened + (said is None), refused + (said is not None)
            assert said is None or all((said.message, said.safe, said.action))
            assert said is None or ("\u202e" not in said.message and len(said.message) < 1000)
        assert held() <= active + (1 << 20)
        assert resident() <= resting + GROWTH
    assert opened > count // 50
    assert refused > count // 2
