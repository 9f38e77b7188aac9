"""Laguna's drafter against a second implementation in float64, and mistakes that it must show."""

import mlx.core as mx
import numpy as np
import pytest

from engine.drafters import open_drafter
from engine.drafters.dflash_context import Window
from engine.proposers import Context
from engine.request import Sampling
from engine.sampling import gumbel
from engine.target import Target
from support.drafters import changed, write_drafter
from support.tiny_dflash import PAIRS, forward, random_weights
from support.tiny_laguna import tiny_laguna

TOKENS = [(7 * i * i + 3 * i + 5) % 64 for i in range(300)]
MISTAKES = (
    *("interleaved", "early", "ring", "context_norm", "wide", "narrow", "anchored", "unmasked"),
    *("tap_order", "no_gate", "aux", "row_order", "row_0", "qk_norm"),
)


class Pair:
    """A target, its drafter, and the matrices that the other implementation needs."""

    def __init__(self, folder, name):
        config, self.config = PAIRS[name]
        model = tiny_laguna(config)
        self.target = Target(model, dict(config), self.config["dflash_config"]["target_layer_ids"])
        self.weights = random_weights(self.config)
        write_drafter(folder, self.config, self.weights)
        self.opened = open_drafter(folder, self.target)
        self.embed = np.array(model.model.embed_tokens.weight)
        tied = config["tie_word_embeddings"]
        self.head = self.embed if tied else np.array(model.lm_head.weight)

    def after(self, count, pieces=(1000,), *, absorb=False):
        """A drafter that has seen the first tokens in pieces, and all their taps."""
        drafter, cache, seen, at = self.opened.start(), self.target.new_cache(), [], 0
        for size in [*pieces, count]:
            piece = TOKENS[at : min(at + size, count)]
            at += len(piece)
            if piece:
                seen.append(self.target.forward(piece, cache).taps)
                drafter.observe(piece, seen[-1])
            if absorb:
                drafter._absorb()
        assert drafter.length == count
        return drafter, np.array(mx.concatenate(seen)).astype(np.float64)

    def scores(self, drafter, pending):
        """What the drafter's rows say, (block - 1, vocab)."""
        drafter._absorb()
        ids = [pending] + [self.opened.config.mask_id] * self.opened.block
        block = self.opened.embed(mx.array([ids]))
        return np.array(self.opened.score(self.opened.model.block(block, drafter._windows))[0])

    def expected(self, taps, pending, **wrong):
        return forward(self.config, self.weights, self.embed, self.head, taps, pending, **wrong)


@pytest.fixture(params=PAIRS)
def pair(request, tmp_path):
    return Pair(tmp_path / "drafter", request.param)


def close(found, wanted):
    return np.abs(found - wanted).max() <= 1e-5 * max(1.0, np.abs(wanted).max())


@pytest.mark.parametrize("count", [1, 4, 30])
def test_that_scores_and_drafts_are_those_of_the_equations(pair, count):
    for pending in (7, 21, 50):
        drafter, taps = pair.after(count)
        wanted = pair.expected(taps, pending)
        assert close(pair.scores(drafter, pending), wanted)
        proposal = drafter.propose(
            Context([*TOKENS[:count], pending], 0, Sampling()), pair.opened.block
        )
        assert proposal.ids.tolist() == wanted.argmax(axis=1).tolist()
        assert float(proposal.sound.item()) == 1.0


@pytest.mark.parametrize("name", ["pair", "windows", "window-64", "window-2"])
@pytest.mark.parametrize("pieces", [(1,) * 200, (2, 1, 4, 2) * 20, (150, 1, 1, 40)], ids=len)
def test_that_many_appends_are_one(name, pieces, tmp_path):
    # Single rows after the window is full are where a ring would go wrong.
    pair = Pair(tmp_path, name)
    for absorb in (True, False):
        drafter, taps = pair.after(200, pieces, absorb=absorb)
        assert close(pair.scores(drafter, 9), pair.expected(taps, 9))
        assert {window.end for window in drafter._windows} == {200}


@pytest.mark.parametrize("name", ["pair", "windows", "one-layer"])
@pytest.mark.parametrize("before", [0, 80], ids=["empty", "full"])
def test_that_a_few_rows_in_pieces_leave_the_very_bits_of_one_append(name, before, tmp_path):
    pair, end = Pair(tmp_path, name), before + 8
    taps = mx.random.normal((end, pair.weights["fc.weight"].shape[1]), key=mx.random.key(2))
    found = []
    for pieces in ((8,), (2, 1, 4, 1), (1,) * 8):
        drafter, at = pair.opened.start(), 0
        for n in (before, *pieces):
            drafter.observe(TOKENS[at : at + n], taps[at : at + n])
            drafter._absorb()
            at += n
        arrays = [array for window in drafter._windows for array in window.arrays]
        found.append([*arrays, mx.array(pair.scores(drafter, 9))])
    assert all(window.end == end for window in drafter._windows)
    for other in found[1:]:
        assert all(mx.array_equal(a, b) for a, b in zip(found[0], other, strict=True))


def test_that_each_mistake_would_be_seen(tmp_path):
    pair = Pair(tmp_path, "windows")
    drafter, taps = pair.after(30)
    found = pair.scores(drafter, 9)
    assert close(found, pair.expected(taps, 9))
    for mistake in MISTAKES:
        wrong = pair.expected(taps, 9, **{mistake: True})
        assert np.abs(wrong - found).max() > 1e-2, mistake


def test_that_a_tap_read_one_layer_off_is_seen(tmp_path):
    pair = Pair(tmp_path, "pair")
    drafter, taps = pair.after(30)
    found = pair.scores(drafter, 9)
    other = Target(pair.target.model, pair.target.config, (0, 2, 3))
    shifted = np.array(other.forward(TOKENS[:30], other.new_cache()).taps).astype(np.float64)
    assert np.abs(pair.expected(shifted, 9) - found).max() > 1e-2
    assert np.abs(pair.expected(taps, 9, tap_shift=True) - found).max() > 1e-2


def test_that_a_row_changes_no_row_before_it(tmp_path):
    pair = Pair(tmp_path, "pair")
    drafter, _ = pair.after(30)
    drafter._absorb()
    blocks = [pair.opened.embed(mx.array([[9, 12, 12, token]])) for token in (12, 40)]
    one, other = (pair.opened.model.block(block, drafter._windows)[0] for block in blocks)
    assert mx.array_equal(one[:2], other[:2])
    assert not mx.allclose(one[2], other[2])


def test_that_fewer_drafts_are_the_first_of_many(tmp_path):
    pair = Pair(tmp_path, "block-16")
    drafter, _ = pair.after(30)
    asked = Context([*TOKENS[:30], 9], 0, Sampling())
    many = drafter.propose(asked, 15).ids.tolist()
    assert len(many) == 15
    for k in (1, 3, 7):
        assert drafter.propose(asked, k).ids.tolist() == many[:k]


def test_that_each_row_sees_its_own_window(tmp_path):
    # One layer, window 6: context row 29 is seen by rows 0 to 4 of a block at 30, row 24 by none.
    config = changed(PAIRS["one-layer"][1], dflash_config__block_size=8)
    PAIRS["one-layer-8"] = (PAIRS["one-layer"][0], config)
    try:
        pair = Pair(tmp_path, "one-layer-8")
    finally:
        del PAIRS["one-layer-8"]
    taps = mx.random.normal((30, 16), key=mx.random.key(1))
    moved = {}
    for row in (29, 26, 24):
        found = []
        for touched in (taps, mx.concatenate([taps[:row], -taps[row : row + 1], taps[row + 1 :]])):
            drafter = pair.opened.start()
            drafter.observe(TOKENS[:30], touched)
            found.append(pair.scores(drafter, 9))
        moved[row] = [bool(np.abs(a - b).max() > 1e-6) for a, b in zip(*found, strict=True)]
    # Scores are those of rows 1 to 7.
    assert moved[29] == [True] * 4 + [False] * 3
    assert moved[26] == [True] + [False] * 6
    assert moved[24] == [False] * 7


def test_that_rows_out_of_reach_are_dropped_before_fc(tmp_path):
    pair = Pair(tmp_path, "windows")
    seen = []
    whole = pair.opened.model.absorb
    pair.opened.model.absorb = lambda taps, context: (
        seen.append(taps.shape[0]),
        whole(taps, context),
    )
    drafter, taps = pair.after(300)
    assert close(pair.scores(drafter, 9), pair.expected(taps, 9))
    assert seen == [8 + 64]  # the widest window is 9, and a spare for short cuts
    assert [window.rows for window in drafter._windows] == [5 + 64, 3 + 64, 8 + 64]
    assert drafter.length == 300


def test_that_the_published_window_holds_what_the_next_block_can_see():
    rows = mx.zeros((1, 1, 600, 2))
    for pieces in ((600, 5), (89, 511, 5), (1,) * 605):
        window, at = Window(512), 0
        for n in pieces:
            window.append(rows[..., :n, :], rows[..., :n, :])
            at += n
            assert (window.end, window.rows) == (at, min(at, 511 + 64))
        keys, _, mask = window.with_block(rows[..., :16, :], rows[..., :16, :])
        assert keys.shape[2] == mask.shape[1] == 511 + 16
        assert mask.sum(axis=1).tolist() == [512] * 16
        assert (window.end, window.rows) == (605, 575)


def test_that_base_and_gate_count(tmp_path):
    pair = Pair(tmp_path, "pair")
    drafter, taps = pair.after(30)
    found = pair.scores(drafter, 9)
    weights = {
        name: np.zeros_like(array) if "g_proj" in name else array
        for name, array in pair.weights.items()
    }
    args = pair.embed, pair.head, taps, 9
    flat = forward(pair.config, weights, *args)
    for other in (forward(pair.config | {"rope_theta": 1.0}, pair.weights, *args), flat):
        assert np.abs(other - found).max() > 1e-2
    # A gate of zeros is softplus(0) = ln 2: the same as no gate and an output ln 2 times as large.
    scaled = {
        name: array * np.log(2) if "o_proj" in name else array
        for name, array in pair.weights.items()
    }
    assert close(forward(pair.config, scaled, *args, no_gate=True), flat)
    write_drafter(tmp_path / "flat", pair.config, weights)
    pair.opened = open_drafter(tmp_path / "flat", pair.target)
    assert close(pair.scores(pair.after(30)[0], 9), flat)


def test_that_a_cut_leaves_the_context_read_anew(pair):
    drafter, taps = pair.after(60, (50, 1, 3), absorb=True)
    drafter.forget(57)
    assert drafter.length == 57
    assert close(pair.scores(drafter, 9), pair.expected(taps[:57], 9))
    staged, taps = pair.after(60, (50, 1, 3))
    staged.forget(52)
    assert close(pair.scores(staged, 9), pair.expected(taps[:52], 9))


def test_that_a_late_start_counts_positions_from_the_text(tmp_path):
    pair = Pair(tmp_path, "pair")
    drafter, taps = pair.opened.start(), pair.after(60)[1]
    drafter.forget(40)
    drafter.observe(TOKENS[40:60], mx.array(taps[40:60]))
    # Twenty rows are more than three layers of window 6 reach: as if it had seen all.
    assert close(pair.scores(drafter, 9), pair.expected(taps, 9))
    drafter.forget(20)
    drafter.observe(TOKENS[20:22], mx.array(taps[20:22]))
    assert drafter.length == 22
    assert [window.rows for window in drafter._windows] == [0] * 3
    pair.scores(drafter, 9)
    assert [(w.rows, w.end) for w in drafter._windows] == [(2, 22)] * 3


def test_that_sampled_drafts_use_the_targets_noise(pair):
    drafter, taps = pair.after(30)
    sampling = Sampling(temperature=0.8, seed=5)
    found = drafter.propose(Context([*TOKENS[:30], 9], 3, sampling), pair.opened.block).ids.tolist()
    wanted = pair.expected(taps, 9) / 0.8
    noise = np.stack([np.array(gumbel(5, 3 + i, 64)) for i in range(len(wanted))])
    assert found == (wanted + noise).argmax(axis=1).tolist()


def test_that_a_block_is_never_kept(pair):
    drafter, _ = pair.after(30)
    asked = [Context([*TOKENS[:30], token], 0, Sampling()) for token in (9, 40, 9)]
    first, _, again = (drafter.propose(one, 3).ids.tolist() for one in asked)
    assert drafter.length == 30
    assert first == again


def test_that_context_bytes_are_those_of_the_rows(tmp_path):
    pair = Pair(tmp_path, "pair")
    drafter, _ = pair.after(200)
    pair.scores(drafter, 9)
    # Three layers, keys and values, 2 heads of 8, float32, window - 1 rows and the spare.
    assert drafter.nbytes() == 3 * 2 * 2 * 8 * 4 * (5 + 64)
