"""Drafters of packed targets, of published sizes, and what a round reads from the device."""

import json
import struct

import mlx.core as mx
import numpy as np
import pytest
from mlx import nn

from engine import session as session_module
from engine.drafters import open_drafter
from engine.drafters.dspark_config import check
from engine.drafters.dspark_weights import shapes
from engine.proposers import Context
from engine.request import Sampling
from engine.session import Session
from engine.target import Target
from support.tiny import P
from support.tiny_dspark import LIQUID, random_weights, write_drafter
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
def test_that_published_sizes_load_with_the_right_memory(tmp_path):
    # LFM2.5-1.2B-Instruct-DSpark: 62 tensors, 295,725,953 parameters, 591.46 MB of bf16.
    config = LIQUID | {
        "hidden_size": 2048, "num_hidden_layers": 5, "num_attention_heads": 32,
        "num_key_value_heads": 8, "head_dim": 64, "intermediate_size": 6144, "vocab_size": 65536,
        "rope_theta": 1e6, "layer_types": ["full_attention"] * 5, "block_size": 9,
        "markov_rank": 256, "dflash_config": {
            "mask_token_id": 64402, "target_layer_ids": [0, 1], "num_target_layers": 2,
        },
    }  # fmt: skip
    config["dflash_config"]["target_layer_ids"] = [0, 1]
    wanted = shapes(check(config))
    header, at, rng = {}, 0, np.random.default_rng(1)
    for name, shape in wanted.items():
        size = 2 * int(np.prod(shape))
        header[name] = {"dtype": "BF16", "shape": list(shape), "data_offsets": [at, at + size]}
        at += size
    head = json.dumps(header).encode()
    with (tmp_path / "model.safetensors").open("wb") as file:
        file.write(struct.pack("<Q", len(head)) + head)
        for shape in wanted.values():  # small numbers of either sign: 0x3c80 is 1/64
            bits = rng.integers(0, 128, int(np.prod(shape)), dtype=np.uint16) + 0x3C00
            file.write((bits | rng.integers(0, 2, bits.size, dtype=np.uint16) << 15).tobytes())
    (tmp_path / "config.json").write_text(json.dumps(config))
    lfm2 = DENSE | {
        "hidden_size": 2048, "num_hidden_layers": 2, "num_attention_heads": 32, "vocab_size": 65536,
        "num_key_value_heads": 8, "layer_types": ["conv", "full_attention"], "block_dim": 2048,
        "block_ff_dim": 96,
    }  # fmt: skip
    model = tiny_lfm2(lfm2)
    model.set_dtype(mx.bfloat16)
    target = Target(model, dict(lfm2), (0, 1))
    opened = open_drafter(tmp_path, target)
    parameters = 295_725_953 - 3 * 2048 * 2048  # two taps here, not five
    assert opened.nbytes == 2 * parameters
    drafter = opened.start()
    drafter.observe(P, target.forward(P, target.new_cache()).taps)
    proposal = drafter.propose(Context([*P, 1], 0, GREEDY), 9)
    assert len(proposal.ids.tolist()) == 9
    assert float(proposal.sound.item()) == 1.0
    # 10 KiB a token in bf16: five layers, keys and values, 8 heads of 64.
    assert drafter.nbytes() == 512 * 10240
