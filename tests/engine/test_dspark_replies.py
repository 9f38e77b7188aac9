"""Replies written with a real drafter are the replies written without one, whatever happens."""

import itertools

import mlx.core as mx
import numpy as np
import pytest

from engine.drafters import open_drafter
from engine.proposers import Context
from engine.request import DrafterOptions
from engine.sampling import draw
from engine.target import Target
from support.drafters import write_drafter
from support.dspark_pairs import target_of
from support.kept import GREEDY, SAMPLINGS, kept_for, read, write
from support.tiny import P
from support.tiny_dspark import DEEPSPEC, LIQUID, QWEN3, ZLAB, drafting, random_weights
from support.tiny_lfm2 import DENSE, MOE, VARIANTS, tiny_lfm2


def nested(taps):
    return LIQUID | {"dflash_config": LIQUID["dflash_config"] | {"target_layer_ids": taps}}


PAIRS = {
    "dense": (DENSE, nested([0, 2])),
    "dense-attention-taps": (DENSE, nested([1, 3])),
    "moe": (MOE, nested([0, 2])),
    "moe-attention-taps": (MOE, nested([1, 3])),
    "attention-first": (VARIANTS["attention-first"], nested([0, 2])),
    "attention-tail": (VARIANTS["attention-tail"], nested([0, 2])),
    "kernel-4": (VARIANTS["kernel-4"], nested([0, 2])),
    "kernel-2": (VARIANTS["kernel-2"], nested([0, 2])),
    "no-confidence": (DENSE, nested([0, 2]) | {"enable_confidence_head": False}),
    "block-1": (DENSE, nested([0, 2]) | {"block_size": 1}),
    "neox": (DENSE, nested([0, 2]) | {"rope_is_neox_style": True}),
    "llama": (None, DEEPSPEC),
    "llama-reduced": (None, DEEPSPEC | {"draft_vocab_size": 40}),
    "zlab": (QWEN3, ZLAB),
    "zlab-tied": (QWEN3 | {"tie_word_embeddings": True}, ZLAB | {"block_size": 8}),
    "zlab-block-2": (QWEN3, ZLAB | {"block_size": 2}),
}


def opened(name, folder, settings=None, scale=0.25):
    target, config = PAIRS[name]
    target = target_of(target, drafting(config)["target_layer_ids"])
    write_drafter(folder, config, random_weights(config, scale=scale))
    return target, open_drafter(folder, target, settings)


def agreeing(drafter, share=1.0):
    """Make the drafter know the target's words by heart: a share of its guesses comes true."""
    if not drafter.config.rank:
        return lambda truth: setattr(drafter, "chain", _told(truth, share))
    model = drafter.model.markov_head
    vocab = drafter.config.vocab
    model.markov_w1.weight = mx.eye(vocab)
    rng = np.random.default_rng(1)
    return lambda truth: setattr(
        model.markov_w2, "weight", mx.array(_table(truth, vocab, share, rng), dtype=mx.float32)
    )


def _told(truth, share):
    """Guesses of a drafter without a chain, in place of what its rows score."""
    rng = np.random.default_rng(1)

    def chain(hidden, context, k):
        at = len(context.tokens)
        right = [*truth[at : at + k], *[0] * k][:k]
        ids = [t if rng.random() < share else (t + 1) % 64 for t in right]
        return mx.array(ids, dtype=mx.uint32), mx.array(1.0), mx.ones((k,))

    return chain


def _table(truth, vocab, share, rng):
    table = np.zeros((vocab, vocab))
    for before, after in itertools.pairwise(truth):
        table[after if rng.random() < share else (after + 1) % vocab, before] += 100
    return table


def uncached(model, prompt, n, sampling):
    tokens = list(prompt)
    for i in range(n):
        ids, _ = draw(model(mx.array([tokens]))[0, -1:], i, sampling, tokens)
        tokens.append(int(ids[0].item()))
    return tokens


@pytest.mark.parametrize("sampling", SAMPLINGS.values(), ids=SAMPLINGS)
@pytest.mark.parametrize("name", PAIRS)
def test_that_a_drafted_reply_is_the_uncached_reply(name, sampling, tmp_path):
    target, drafter = opened(name, tmp_path)
    truth = uncached(target.model, P, 30, sampling)
    for widths in ([7], [1], [0, 4]):
        kept = kept_for(target, drafter.start())
        read(kept, P, sampling, chunk=4)
        steps = write(kept, 30, widths, sampling)
        assert kept.session.tokens == truth
        assert steps
        assert all(step.sound for step in steps)


@pytest.mark.parametrize("name", ["dense", "moe", "llama", "zlab"])
@pytest.mark.parametrize("share", [1.0, 0.7])
def test_that_partial_and_full_accepts_change_no_word(name, share, tmp_path):
    target, drafter = opened(name, tmp_path)
    truth = uncached(target.model, P, 40, GREEDY)
    agreeing(drafter, share)(truth)
    kept = kept_for(target, drafter.start())
    read(kept, P, GREEDY)
    steps = write(kept, 40, [7], GREEDY)
    assert kept.session.tokens == truth
    assert {step.accepted for step in steps} - {0}


@pytest.mark.parametrize("sampling", [SAMPLINGS["0.7"], SAMPLINGS["1.0"]], ids=["0.7", "1.0"])
def test_that_shared_noise_makes_drafts_agree_more_often(sampling, tmp_path):
    # A drafter that scores as the target does must be accepted always: same scores, same noise.
    target, drafter = opened("dense", tmp_path)
    truth = uncached(target.model, P, 24, sampling)
    kept = kept_for(target, drafter.start())
    read(kept, P, sampling)
    drafter.model.markov_head.markov_w2.weight = mx.zeros((96, 64))
    drafter.score = lambda hidden: target.model(
        mx.array([[*P, *truth[len(P) : len(kept.session.tokens) + hidden.shape[1]]]])
    )[:, len(kept.session.tokens) - 1 :][:, : hidden.shape[1]]
    steps = write(kept, 24, [5], sampling)
    assert kept.session.tokens == truth
    assert all(step.accepted == len(step.proposed) for step in steps)


def test_that_switching_mid_reply_changes_no_word(tmp_path):
    for name in ("dense", "llama", "zlab"):
        target, drafter = opened(name, tmp_path / name)
        truth = uncached(target.model, P, 60, GREEDY)
        agreeing(drafter, 0.8)(truth)
        kept = kept_for(target, drafter.start())
        read(kept, P, GREEDY)
        for until, widths in ((15, [7]), (30, [0]), (45, [3]), (60, [0, 0, 5])):
            write(kept, until, widths, GREEDY)
        assert kept.session.tokens == truth


@pytest.mark.parametrize("name", ["dense", "moe", "kernel-4", "llama", "zlab"])
@pytest.mark.parametrize("cut", [0, 1, 2, 5])
def test_that_a_turn_after_a_stop_inside_a_block_is_exact(name, cut, tmp_path):
    target, drafter = opened(name, tmp_path)
    truth = uncached(target.model, P, 20, GREEDY)
    agreeing(drafter)(truth)
    kept = kept_for(target, drafter.start())
    read(kept, P, GREEDY)
    while not write(kept, kept.session.drawn + 6, [5], GREEDY):
        pass
    end = len(kept.session.tokens) - cut
    kept.session.rewind(end)
    kept.settle()
    assert kept.drafter.length == kept.session.cache.length == end - 1
    second = [*truth[:end], 9, 8, 7, 6, 5]
    truth = uncached(target.model, second, 20, GREEDY)
    read(kept, second, GREEDY)
    assert kept.session.cache.length == kept.drafter.length == len(second) - 1
    write(kept, 20, [5], GREEDY)
    assert kept.session.tokens == truth


@pytest.mark.parametrize("name", ["dense", "zlab"])
def test_that_the_context_of_a_kept_turn_is_the_context_read_anew(name, tmp_path):
    target, drafter = opened(name, tmp_path)
    kept = kept_for(target, drafter.start())
    read(kept, P, GREEDY)
    write(kept, 20, [4], GREEDY)
    kept.settle()
    tokens = list(kept.session.tokens)
    fresh = kept_for(target, drafter.start())
    read(fresh, tokens, GREEDY, chunk=3)
    asked = Context(tokens, 0, GREEDY)
    assert (
        kept.drafter.propose(asked, 5).ids.tolist() == fresh.drafter.propose(asked, 5).ids.tolist()
    )


@pytest.mark.parametrize("name", ["dense", "llama", "zlab"])
def test_that_a_drafter_may_join_late(name, tmp_path):
    target, drafter = opened(name, tmp_path)
    truth = uncached(target.model, P, 30, GREEDY)
    kept = kept_for(target, None)
    read(kept, P, GREEDY)
    for _ in range(10):
        kept.session.plain(pipeline=False)
    kept.drafter = drafter.start()
    kept.drafter.forget(kept.session.cache.length)
    write(kept, 30, [4], GREEDY)
    assert kept.session.tokens == truth


def test_that_staged_rows_wait_for_a_draft_and_never_grow_past_128(tmp_path):
    target, drafter = opened("dense", tmp_path)
    kept = kept_for(target, drafter.start())
    read(kept, [*P, *P] * 10, GREEDY, chunk=100)
    assert kept.drafter.staged == 0  # chunks of 100 and 99 rows: together too many to wait
    most, absorbed = 0, []
    whole = drafter.model.absorb

    def counted(taps, position, context):
        absorbed.append(taps.shape[0])
        return whole(taps, position, context)

    drafter.model.absorb = counted
    kept.drafter.propose(Context(kept.session.tokens, 0, GREEDY), 1)
    absorbed.clear()
    for _ in range(100):
        write(kept, kept.session.drawn + 1, [0], GREEDY, pipeline=False)
        most = max(most, kept.drafter.staged)
    assert absorbed == []  # a hundred plain rounds ask nothing of the drafter
    assert most == 100
    kept.drafter.propose(Context(kept.session.tokens, kept.session.drawn, GREEDY), 1)
    assert absorbed == [100]  # in one pass
    write(kept, kept.session.drawn + 300, [0], GREEDY, pipeline=False)
    assert absorbed == [100, 129, 129]


def test_that_context_bytes_are_those_of_the_rows(tmp_path):
    target, drafter = opened("dense", tmp_path)
    kept = kept_for(target, drafter.start())
    assert kept.drafter.nbytes() == 0
    read(kept, [7] * 200, GREEDY)
    # Two layers, keys and values, 2 heads of 16, float32, in steps of 512 rows.
    assert kept.drafter.nbytes() == 2 * 2 * 2 * 16 * 4 * 512


PLANTED = {
    "nan-score": lambda d: setattr(d.model.markov_head.markov_w2, "weight", _with(d, "markov_w2", float("nan"))),
    "inf-score": lambda d: setattr(d.model.markov_head.markov_w2, "weight", _with(d, "markov_w2", float("inf"))),
    "nan-norm": lambda d: setattr(d.model.norm, "weight", d.model.norm.weight * float("nan")),
    "bad-id": lambda d: setattr(d, "ids", mx.full((96,), 5000, dtype=mx.uint32)),
}  # fmt: skip


def _with(drafter, name, value):
    weight = mx.array(getattr(drafter.model.markov_head, name).weight)
    weight[:, 0] = value
    return weight


@pytest.mark.parametrize("planted", PLANTED)
@pytest.mark.parametrize("name", ["dense", "moe"])
@pytest.mark.parametrize("sampling", [GREEDY, SAMPLINGS["0.7"]], ids=["greedy", "0.7"])
def test_that_broken_numbers_drop_the_drafts_and_the_reply_goes_on(
    planted, name, sampling, tmp_path
):
    target, drafter = opened(name, tmp_path)
    truth = uncached(target.model, P, 20, sampling)
    PLANTED[planted](drafter)
    kept = kept_for(target, drafter.start())
    read(kept, P, sampling)
    steps = write(kept, 20, [4], sampling)
    assert kept.session.tokens == truth
    assert not any(step.sound or step.proposed for step in steps)


def test_that_8_bit_and_confidence_change_no_word(tmp_path):
    for settings in (
        DrafterOptions(bits=8),
        DrafterOptions(confidence=0.4),
        DrafterOptions(8, 0.9),
    ):
        target, drafter = opened("dense", tmp_path, settings)
        truth = uncached(target.model, P, 30, GREEDY)
        kept = kept_for(target, drafter.start())
        read(kept, P, GREEDY)
        write(kept, 30, [5], GREEDY)
        assert kept.session.tokens == truth


@pytest.mark.parametrize("dtype", [mx.float16, mx.bfloat16], ids=str)
def test_that_the_drafter_computes_in_the_targets_dtype(dtype, tmp_path):
    model = tiny_lfm2(DENSE)
    model.set_dtype(dtype)
    target = Target(model, dict(DENSE), (0, 2))
    write_drafter(tmp_path, LIQUID, random_weights(LIQUID))
    drafter = open_drafter(tmp_path, target)
    kept = kept_for(target, drafter.start())
    read(kept, P, GREEDY)
    kept.drafter.propose(Context(kept.session.tokens, 0, GREEDY), 3)
    assert {a.dtype for buffer in kept.drafter._buffers for a in buffer.arrays} == {dtype}
    steps = write(kept, 20, [3], GREEDY)
    plain = kept_for(target, drafter.start())
    read(plain, P, GREEDY)
    write(plain, 20, [0], GREEDY)
    assert len(steps) > 3
    assert kept.session.tokens == plain.session.tokens


def test_that_a_draft_copies_no_context_rows(tmp_path):
    config = LIQUID | {"head_dim": 64}
    target = Target(tiny_lfm2(DENSE), dict(DENSE), (0, 2))
    opened = open_drafter(write_drafter(tmp_path, config, random_weights(config)), target)
    drafter, tokens = opened.start(), [i % 90 for i in range(8192)]
    for at in range(0, 8192, 512):
        drafter.observe(tokens[at : at + 512], mx.zeros((512, 128)))
    rows = 2 * 64 * 8192 * 4  # bytes of one layer's keys: 2 heads of 64, float32
    scores = 4 * 5 * 8192 * 4
    for i in range(3):
        asked = Context([*tokens, *range(i + 1)], 0, GREEDY)
        if i:
            drafter.observe([i - 1], mx.zeros((1, 128)))
        mx.synchronize()
        held = mx.get_active_memory()
        mx.reset_peak_memory()
        mx.eval(drafter.propose(asked, 5).ids)
        if i:  # the first one grew the buffers
            assert mx.get_peak_memory() - held < 3 * scores < rows // 2


def test_that_swapped_markov_tables_show_as_lost_acceptance(tmp_path):
    # Both have one shape where the rank is the vocabulary; nothing else would tell.
    shares = []
    for swapped in (False, True):
        target, drafter = opened("dense", tmp_path)
        truth = uncached(target.model, P, 40, GREEDY)
        agreeing(drafter)(truth)
        head = drafter.model.markov_head
        if swapped:
            one, two = head.markov_w1.weight, head.markov_w2.weight
            head.markov_w1.weight, head.markov_w2.weight = two, one
        kept = kept_for(target, drafter.start())
        read(kept, P, GREEDY)
        steps = write(kept, 40, [5], GREEDY)
        assert kept.session.tokens == truth
        shares.append(sum(s.accepted for s in steps) / sum(len(s.proposed) for s in steps))
    assert shares[0] > 0.4  # a token that comes twice may be followed by two
    assert shares[1] < 0.5 * shares[0]
