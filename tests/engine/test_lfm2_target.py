"""LFM2 targets: mlx-lm's own numbers, and windows that really go back."""

import mlx.core as mx
import pytest
from mlx_lm.models.cache import ArraysCache, make_prompt_cache

from engine.adapters.lfm2 import Lfm2Adapter
from engine.conv_window import ConvWindow
from engine.proposers import Proposal
from engine.request import Sampling
from engine.sampling import draw
from engine.session import Session
from engine.target import Target
from support.tiny import P, uncached
from support.tiny_lfm2 import DENSE, MOE, VARIANTS, tiny_lfm2

LONG = [(7 * i * i + 3 * i) % 96 for i in range(2500)]


def opened(name, tapped=()):
    config = VARIANTS[name]
    return Target(tiny_lfm2(config), dict(config), tapped)


def own_logits(model, pieces):
    """mlx-lm's own call on its own caches, piece by piece."""
    cache = make_prompt_cache(model)
    assert any(isinstance(layer, ArraysCache) for layer in cache)
    return mx.concatenate([model(mx.array([piece]), cache=cache)[0] for piece in pieces])


def write(session, n, truth, widths, period):
    """`n` tokens in rounds of the given drafts; every `period`-th proposal is wrong."""
    rounds = 0
    while session.drawn < n:
        k = min(widths[rounds % len(widths)], n - session.drawn - 1)
        rounds += 1
        if k <= 0 or session.is_ahead:
            session.plain(pipeline=session.drawn + 2 < n)
            continue
        at = session.drawn
        ids = [
            (t + 1) % 96 if period and (at + i) % period == period - 1 else t
            for i, t in enumerate(truth[at : at + k])
        ]
        session.drafted(Proposal("drafter", mx.array(ids, dtype=mx.uint32)), 0.0, 0.0)


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
    pieces = [LONG[:1], LONG[1:9], LONG[9:80], LONG[80:81], LONG[81:83]]
    cache = target.new_cache()
    ours = mx.concatenate([target.forward(piece, cache).logits for piece in pieces])
    assert mx.array_equal(ours, own_logits(target.model, pieces))


@pytest.mark.parametrize("dtype", [mx.float16, mx.bfloat16], ids=str)
def test_that_half_precision_is_bit_equal_too(dtype):
    model = tiny_lfm2(DENSE)  # MLX gathers experts on a CPU in float32 only
    model.set_dtype(dtype)
    target = Target(model, dict(DENSE), (0, 2))
    assert target.plain_only_reason == ""
    ours = target.forward(LONG[:12], target.new_cache()).logits
    assert ours.dtype == dtype
    assert mx.array_equal(ours, own_logits(model, [LONG[:12]]))


@pytest.mark.parametrize("name", ["dense", "moe", "attention-first"])
def test_that_taps_are_the_streams_after_whole_layers(name):
    target = opened(name, (0, 2))
    model, cache = target.model, make_prompt_cache(opened(name).model)
    stream = model.model.embed_tokens(mx.array([P]))
    wanted = []
    for index, layer in enumerate(model.layers):
        mask = "causal" if layer.is_attention_layer else None
        stream = layer(stream, mask, cache=cache[index])
        if index in (0, 2):
            wanted.append(stream[0])
    taps = target.forward(P, target.new_cache()).taps
    assert mx.allclose(taps, mx.concatenate(wanted, axis=-1), atol=1e-6)


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize("period", [0, 1, 2, 3], ids=lambda p: f"wrong-every-{p}")
def test_that_the_text_does_not_depend_on_the_proposals(name, period):
    target = opened(name, (0, 2))
    truth = uncached(target.model, P, 40)
    for widths in ([0], [1], [7], [0, 3, 5]):
        session = started(target, P)
        write(session, 40, truth, widths, period)
        assert session.tokens[len(P) :] == truth


@pytest.mark.parametrize("config", [DENSE, MOE], ids=["dense", "moe"])
@pytest.mark.parametrize("temperature", [0.7, 1.0])
def test_that_sampled_text_does_not_depend_on_the_proposals(config, temperature):
    target = Target(tiny_lfm2(config), dict(config))
    sampling = Sampling(temperature=temperature, top_p=0.95, seed=5)
    truth = list(P)
    for i in range(30):
        ids, _ = draw(target.model(mx.array([truth]))[0, -1:], i, sampling, truth)
        truth.append(int(ids[0].item()))
    for widths, period in (([0], 0), ([4], 1), ([4], 3), ([0, 6], 2)):
        session = started(target, P, sampling)
        write(session, 30, truth[len(P) :], widths, period)
        assert session.tokens == truth


@pytest.mark.parametrize("kernel", [1, 2, 3, 4])
@pytest.mark.parametrize("before", [0, 1, 5])
def test_that_a_window_goes_back_to_any_row_of_a_pass(kernel, before):
    width = kernel - 1
    rows = mx.random.normal((1, before + 6, 8), key=mx.random.key(kernel))
    for keep in range(7):
        window = ConvWindow(width)
        if before:
            window.append(rows[:, :before])
        window.append(rows[:, before:])
        assert window.trim(6 - keep) == 6 - keep
        joined = window.append(rows[:, :1])
        padded = mx.concatenate([mx.zeros((1, width, 8)), rows[:, : before + keep]], axis=1)
        wanted = padded[:, padded.shape[1] - width :]
        assert mx.array_equal(joined, mx.concatenate([wanted, rows[:, :1]], axis=1))


def test_that_only_kept_rows_and_snapshots_are_promised():
    window = ConvWindow(2)
    window.remember(2100)
    rows = mx.random.normal((1, 2400, 4), key=mx.random.key(1))
    window.append(rows)
    assert window.snapshots == [0, 1024, 2048, 2100]
    assert [n for n in (2399, 2336, 2335, 2100, 2099, 2048, 1023) if window.can_rollback(n)] == [
        2399, 2336, 2100, 2048,
    ]  # fmt: skip
    assert window.trim(301) == 0
    assert window.offset == 2400
    assert window.trim(300) == 300
    assert mx.array_equal(window[0], rows[:, 2098:2100])
    assert window.trim(2100 - 1024) == 2100 - 1024
    assert mx.array_equal(window[0], rows[:, 1022:1024])
    assert window.snapshots == [0, 1024]
    assert window.trim(1024) == 1024
    assert window[0] is None


def test_that_a_long_prompt_leaves_small_windows():
    window = ConvWindow(2)
    window.append(mx.zeros((1, 1000, 8)))
    mx.eval(window.state)
    assert window.nbytes == (64 + 2) * 8 * 4


@pytest.mark.parametrize("name", ["dense", "moe", "kernel-4"])
def test_that_a_turn_resumed_at_a_snapshot_is_the_turn_from_nothing(name):
    target = opened(name)
    session = Session(target)
    session.cache.remember(1500)
    for at in range(0, 2000, 700):
        session.feed(LONG[at : min(at + 700, 2000)])
    session.begin(LONG[2000], Sampling())
    for _ in range(90):
        session.plain(pipeline=False)
    session.settle()
    ended = session.cache.length
    for shared, reused in ((1600, 1500), (1499, 1024), (1000, 0)):
        prompt = [*LONG[:shared], 95, *LONG[100:140]]
        assert session.resume(prompt) == reused
        assert session.cache.length == reused == len(session.tokens)
        session.feed(prompt[reused:-1])
        session.begin(prompt[-1], Sampling())
        fresh = started(target, prompt)
        for _ in range(12):
            session.plain(pipeline=False)
            fresh.plain(pipeline=False)
        assert session.tokens == fresh.tokens
        session.settle()
    assert ended == 2090


def test_that_the_end_of_a_turn_stays_within_reach():
    target = opened("dense")
    session = started(target, LONG[:300])
    write(session, 20, LONG, [3], 1)
    session.settle()
    first = list(session.tokens)
    second = [*first, *LONG[:200]]
    assert session.resume(second) == len(first) - 1
    session.feed(second[len(first) - 1 : -1])
    session.begin(second[-1], Sampling())
    session.plain(pipeline=False)
    session.settle()
    assert session.resume([*first, 1, 2, 3]) == len(first) - 1  # the second turn, edited


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize("prompt", [P, []], ids=["prompt", "empty"])
@pytest.mark.parametrize("kept", range(5))
def test_that_what_follows_a_cut_block_is_what_follows_its_rows(name, prompt, kept):
    # Of a pending token and three drafts, `kept` rows stay; mlx-lm reads the same from nothing.
    target = opened(name, (0, 2))
    cache = target.new_cache()
    if prompt:
        mx.eval(target.forward(prompt, cache).logits)
    block = [7, 31, 5, 60]
    target.forward(block, cache)
    cache.rollback(len(prompt) + kept)
    assert cache.length == len(prompt) + kept
    found = target.forward([9, 10], cache).logits
    text = [*prompt, *block[:kept], 9, 10]
    assert mx.allclose(found, own_logits(target.model, [text])[-2:], atol=1e-4, rtol=0)


def test_that_a_pass_that_leaves_out_a_layer_is_noticed(monkeypatch):
    whole = Lfm2Adapter.run

    def lame(self, ids, caches, tapped):
        inner = self._model.model
        layers, inner.layers = inner.layers, inner.layers[:-1]
        try:
            return whole(self, ids, caches[:-1], tapped)
        finally:
            inner.layers = layers

    monkeypatch.setattr(Lfm2Adapter, "run", lame)
    target = opened("dense", (0, 2))
    assert "cannot take back" in target.plain_only_reason  # so nothing is ever drafted for it
    assert target.forward(P, target.new_cache()).taps is None
    assert mx.array_equal(
        target.forward(P, target.new_cache()).logits, own_logits(target.model, [P])
    )
