"""Laguna targets: mlx-lm's own numbers, and windows that really go back."""

import mlx.core as mx
import pytest
from mlx import nn
from mlx_lm.models.cache import RotatingKVCache, make_prompt_cache

from engine.proposers import Proposal
from engine.request import Sampling
from engine.sampling import draw
from engine.session import Session
from engine.target import Target
from support.tiny_laguna import PROMPT, TARGET, VARIANTS, tiny_laguna

LONG = [(7 * i * i + 3 * i) % 64 for i in range(200)]
SAMPLINGS = [Sampling(), Sampling(temperature=0.7, top_p=0.95, seed=5), Sampling(temperature=1.0, seed=8)]  # fmt: skip


def opened(name, tapped=()):
    config = VARIANTS[name]
    return Target(tiny_laguna(config), dict(config), tapped)


def uncached(model, prompt, n, sampling):
    """The oracle: the whole text is fed anew for every token, without any cache."""
    tokens = list(prompt)
    for i in range(n):
        logits = windowed(model, tokens)[-1:]
        ids, _ = draw(logits, i, sampling, tokens)
        tokens.append(int(ids[0].item()))
    return tokens


def windowed(model, tokens):
    """All logits (n, vocab) of a text in one pass over mlx-lm's fresh caches: no ring has turned."""
    return model(mx.array([tokens]), cache=make_prompt_cache(model))[0]


def write(session, n, truth, widths, schedule):
    """`n` tokens in rounds of the given drafts, wrong from the scheduled one on; the accepts."""
    rounds, accepted = 0, []
    while session.drawn < n:
        k = min(widths[rounds % len(widths)], n - session.drawn - 1)
        right = schedule[rounds % len(schedule)]
        rounds += 1
        if k <= 0 or session.is_ahead:
            session.plain(pipeline=session.drawn + 2 < n)
            continue
        at = session.drawn
        ids = [t if i < right else (t + 1) % 64 for i, t in enumerate(truth[at : at + k])]
        step = session.drafted(Proposal("drafter", mx.array(ids, dtype=mx.uint32)), 0.0, 0.0)
        assert step.accepted == min(right, k)
        accepted.append(step.accepted)
    return accepted


def started(target, prompt, sampling=None, chunk=512):
    session = Session(target)
    for at in range(0, len(prompt) - 1, chunk):
        session.feed(prompt[at : min(at + chunk, len(prompt) - 1)])
    session.begin(prompt[-1], sampling or Sampling())
    return session


@pytest.mark.parametrize("name", VARIANTS)
def test_that_the_adapter_gives_mlx_lms_very_bits(name):
    target = opened(name)
    assert target.plain_only_reason == ""
    assert target._adapter is not None
    # One pass over all rows: here mlx-lm's ring is in temporal order like ours.
    ours = target.forward(LONG[:50], target.new_cache()).logits
    assert mx.array_equal(ours, windowed(target.model, LONG[:50]))


@pytest.mark.parametrize("name", VARIANTS)
def test_that_pieces_are_mlx_lms_up_to_the_order_of_a_ring(name):
    target = opened(name)
    pieces = [LONG[:1], LONG[1:9], LONG[9:80], LONG[80:81], LONG[81:82], LONG[82:90]]
    cache, own = target.new_cache(), make_prompt_cache(target.model)
    for piece in pieces:
        ours = target.forward(piece, cache).logits
        theirs = target.model(mx.array([piece]), cache=own)[0]
        assert mx.allclose(ours, theirs, atol=2e-4, rtol=1e-4)
    if "sliding_attention" in VARIANTS[name]["layer_types"]:
        assert any(isinstance(layer, RotatingKVCache) for layer in own)
        assert not any(isinstance(layer, RotatingKVCache) for layer in cache.layers)


@pytest.mark.parametrize("name", ["mixed", "tied", "sliding-first"])
def test_that_taps_are_the_streams_after_whole_layers(name):
    target = opened(name, (1, 3, 4))
    model = target.model
    taps = target.forward(PROMPT, target.new_cache()).taps
    assert taps.shape == (12, 3 * 16)
    # The tap after the last layer comes before the final norm: norm and head give the logits.
    normed = model.model.norm(taps[None, :, 32:])
    head = model.model.embed_tokens.as_linear if name == "tied" else model.lm_head
    assert mx.allclose(head(normed)[0], windowed(model, PROMPT), atol=1e-5)
    # A model cut after layer 1 ends with that tap.
    config = dict(VARIANTS[name]) | {"num_hidden_layers": 3}
    for field in ("layer_types", "mlp_layer_types", "num_attention_heads_per_layer"):
        config[field] = config[field][:3]
    short = tiny_laguna(config)
    short.model.layers = model.model.layers[:2]
    short.model.embed_tokens = model.model.embed_tokens
    short.model.norm.weight = mx.ones((16,))
    cache = make_prompt_cache(model)[:2]
    if name == "sliding-first":
        cache.append(make_prompt_cache(model)[2])  # mlx-lm asks it for a mask
    stream = short.model(mx.array([PROMPT]), cache)[0]
    rms = mx.sqrt(mx.mean(taps[:, :16] ** 2, axis=-1, keepdims=True) + 1e-6)
    assert mx.allclose(stream, taps[:, :16] / rms, atol=1e-5)


@pytest.mark.parametrize(
    ("name", "sampling"),
    [*((name, SAMPLINGS[0]) for name in VARIANTS), *(("mixed", s) for s in SAMPLINGS[1:])],
    ids=str,
)
def test_that_the_text_does_not_depend_on_the_proposals(name, sampling):
    target = opened(name, (1, 3))
    truth = uncached(target.model, PROMPT, 40, sampling)
    if sampling.temperature or name == "mixed":
        assert len(set(truth[12:])) > 8
    for widths, schedule in (
        ([0], [0]),
        ([3], [0, 2, 1, 3, 0, 1, 2]),
        ([0, 7], [0, 7, 2]),
        ([15], [0, 15, 1]),
    ):
        session = started(target, PROMPT, sampling, chunk=5)
        write(session, 40, truth[12:], widths, schedule)
        assert session.tokens == truth


def test_that_a_block_has_the_numbers_of_single_rows_past_the_window():
    target = opened("mixed")
    caches = [target.new_cache(), target.new_cache()]
    for cache in caches:
        target.forward(LONG[:40], cache)
    block = target.forward(LONG[40:44], caches[0]).logits
    singles = [target.forward([token], caches[1]).logits for token in LONG[40:44]]
    assert mx.allclose(block, mx.concatenate(singles), atol=1e-5)
    caches[0].rollback(41)
    caches[1].rollback(41)
    again = [target.forward([token], cache).logits for token in LONG[41:44] for cache in caches]
    for one, other in zip(again[::2], again[1::2], strict=True):
        assert mx.array_equal(one, other)


def test_that_wide_blocks_can_be_taken_back_whole():
    target = opened("mixed")
    truth = uncached(target.model, PROMPT, 40, Sampling())
    session = started(target, PROMPT)
    write(session, 10, truth[12:], [0], [0])
    wrong = mx.array([(t + 1) % 64 for t in LONG[:126]], dtype=mx.uint32)
    if session.is_ahead:
        session.plain(pipeline=False)
    session.drafted(Proposal("drafter", wrong), 0.0, 0.0)
    write(session, 40, truth[12:], [3], [1])
    assert session.tokens == truth


@pytest.mark.parametrize("cut", [0, 1, 3])
def test_that_a_turn_after_a_cut_is_the_turn_from_nothing(cut):
    target = opened("mixed")
    truth = uncached(target.model, PROMPT, 30, Sampling())
    session = started(target, PROMPT)
    write(session, 30, truth[12:], [4], [4, 2])
    session.rewind(len(session.tokens) - cut)
    session.settle()
    second = [*session.tokens, 9, 8, 7, 6]
    reused = session.resume(second)
    assert reused == 42 - cut - 1
    session.feed(second[reused:-1])
    session.begin(second[-1], Sampling())
    truth = uncached(target.model, second, 20, Sampling())
    write(session, 20, truth[len(second) :], [3], [0, 3])
    assert session.tokens == truth


def test_that_quantised_layers_are_bit_equal_too():

    wide = TARGET | {"hidden_size": 64, "head_dim": 32, "intermediate_size": 64}
    wide |= {"moe_intermediate_size": 64, "shared_expert_intermediate_size": 64}
    model = tiny_laguna(wide)
    nn.quantize(model, 32, 4)
    target = Target(model, wide, (1, 4))
    assert target.plain_only_reason == ""
    ours = target.forward(LONG[:30], target.new_cache()).logits
    assert mx.array_equal(ours, windowed(model, LONG[:30]))
