"""Drafters of packed targets, of published sizes, and what a round reads from the device."""

import gc
import json

import mlx.core as mx
import pytest
from mlx import nn

from engine import session as session_module
from engine.drafters import open_drafter
from engine.proposers import Context
from engine.request import DrafterOptions, Sampling
from engine.session import Session
from engine.target import Target
from support.drafters import write_drafter
from support.published_dspark import CONFIGS, PARAMETERS, thin_target, write_random
from support.tiny import P
from support.tiny_dspark import LIQUID, random_weights
from support.tiny_lfm2 import DENSE, MOE, tiny_lfm2

GREEDY = Sampling()


def packed(config, embedding_bits):
    """The model with linears in 4 bits and an embedding, the head too, in others."""
    model = tiny_lfm2(config)

    def how(path, module):
        if not hasattr(module, "to_quantized") or "switch_mlp" in path:
            return False
        bits = embedding_bits if "embed_tokens" in path else 4
        return {"group_size": 32, "bits": bits}

    nn.quantize(model, class_predicate=how)
    return model


def text(session, drafter, n, k):
    while session.drawn < n:
        if k and n - session.drawn > k:
            asked = Context(session.tokens, session.drawn, GREEDY)
            step = session.drafted(drafter.propose(asked, k), 0.0, 0.0)
        else:
            step = session.plain(pipeline=False)
        drafter.observe(step.fed, step.taps)
    return list(session.tokens)


def started(target, drafter):
    session = Session(target)
    drafter.observe(P[:-1], session.feed(P[:-1]).taps)
    session.begin(P[-1], GREEDY)
    return session


@pytest.mark.parametrize("bits", [4, 6])
@pytest.mark.parametrize("config", [DENSE, MOE], ids=["dense", "moe"])
def test_that_a_packed_targets_table_and_head_are_borrowed(config, bits, tmp_path):
    target = Target(packed(config, bits), dict(config), (0, 2))
    assert target.plain_only_reason == ""
    opened = open_drafter(write_drafter(tmp_path, LIQUID, random_weights(LIQUID)), target)
    table = target.model.model.embed_tokens
    assert (table.bits, opened.embed) == (bits, table)
    texts = []
    for k in (0, 4):
        drafter = opened.start()
        texts.append(text(started(target, drafter), drafter, 25, k))
    assert texts[0] == texts[1]


def test_that_a_drafted_round_reads_the_device_once(tmp_path, monkeypatch):
    target = Target(tiny_lfm2(DENSE), dict(DENSE), (0, 2))
    opened = open_drafter(write_drafter(tmp_path, LIQUID, random_weights(LIQUID)), target)
    drafter = opened.start()
    session = started(target, drafter)
    reads, real = [], session_module.to_host
    monkeypatch.setattr(session_module, "to_host", lambda x: reads.append(x.shape) or real(x))
    for _ in range(5):
        proposal = drafter.propose(Context(session.tokens, session.drawn, GREEDY), 4)
        assert reads == []
        step = session.drafted(proposal, 0.0, 0.0)
        assert len(reads) == 1
        drafter.observe(step.fed, step.taps)
        reads.clear()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "bits"),
    [
        ("LFM2.5-1.2B-Instruct-DSpark", 0),
        ("LFM2.5-1.2B-Instruct-DSpark", 8),
        ("LFM2.5-2.6B-DSpark", 0),
    ],
)
def test_that_published_sizes_load_with_the_right_memory(name, bits, tmp_path):
    parameters = PARAMETERS[name]
    write_random(tmp_path, CONFIGS[name])
    with (tmp_path / "model.safetensors").open("rb") as file:
        tensors = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    assert len(tensors.keys() - {"__metadata__"}) == 62
    target = thin_target(name)
    gc.collect()
    mx.clear_cache()
    before = mx.get_active_memory()
    opened = open_drafter(tmp_path, target, DrafterOptions(bits))
    assert len(opened.tapped) == 5
    if bits:
        # Linear layers but the confidence row in groups of 64: a byte each and 4 bytes a group.
        whole = CONFIGS[name]["vocab_size"] * 256 + 2048 * (2 + 2 * 5) + 2 * 64 * 5 + 2048 + 256 + 1
        packed = parameters - whole
        assert opened.nbytes == 2 * whole + packed + 4 * packed // 64
    else:
        assert opened.nbytes == 2 * parameters
    assert opened.nbytes <= mx.get_active_memory() - before <= opened.nbytes + (1 << 20)
    drafter = opened.start()
    drafter.observe(P, target.forward(P, target.new_cache()).taps)
    proposal = drafter.propose(Context([*P, 1], 0, GREEDY), 9)
    assert len(proposal.ids.tolist()) == 9
    assert float(proposal.sound.item()) == 1.0
    # 10 KiB a token in bf16: five layers, keys and values, 8 heads of 64.
    assert drafter.nbytes() == 512 * 10240


def test_that_8_bits_of_the_published_size_are_361_mib():
    # The figure of the release notes: bf16 625 MiB, 8 bits 361 MiB.
    name = "LFM2.5-2.6B-DSpark"
    whole = 128000 * 256 + 2048 * 12 + 2 * 64 * 5 + 2048 + 256 + 1
    packed = PARAMETERS[name] - whole
    assert round(2 * PARAMETERS[name] / 2**20) == 625
    assert round((2 * whole + packed * 17 / 16) / 2**20) == 361
