"""The drafter against a second implementation in float64, and mistakes that it must show."""

import mlx.core as mx
import numpy as np
import pytest

from engine.drafters import open_drafter
from engine.proposers import Context
from engine.request import DrafterOptions, Sampling
from engine.sampling import gumbel
from support.drafters import write_drafter
from support.dspark_pairs import target_of
from support.tiny_dspark import DEEPSPEC, LIQUID, QWEN3, ZLAB, drafting, forward, random_weights
from support.tiny_lfm2 import DENSE, MOE

REDUCED = DEEPSPEC | {"draft_vocab_size": 40}
PAIRS = {
    "liquid": (LIQUID, DENSE),
    "liquid-moe": (LIQUID, MOE),
    "deepspec": (DEEPSPEC, None),
    "reduced": (REDUCED, None),
    "zlab": (ZLAB, QWEN3),
}
MISTAKES = (
    "half",
    "masked",
    "last_row",
    "tap_shift",
    "no_slot_0",
    "context_norm",
    "early",
    "swapped",
    "row_0",
)
# With a reduced vocabulary the two Markov tables differ in size and cannot be swapped.
IMPOSSIBLE = {
    "reduced": {"swapped", "row_0"},
    "zlab": {"no_slot_0", "swapped"},
}


class Pair:
    """A target, its drafter, and the matrices that the other implementation needs."""

    def __init__(self, folder, name, settings=None):
        self.config, target = PAIRS[name]
        self.target = target_of(target, drafting(self.config)["target_layer_ids"])
        self.weights = random_weights(self.config)
        write_drafter(folder, self.config, self.weights)
        self.opened = open_drafter(folder, self.target, settings)
        model = self.target.model
        self.embed = np.array(model.model.embed_tokens.weight)
        borrowed = model.lm_head.weight if "lm_head" in model else self.embed
        self.head = self.weights.get("lm_head.weight", np.array(borrowed))

    def after(self, tokens, pieces=(1000,)):
        """A drafter that has seen `tokens` in pieces, and all their taps."""
        drafter, cache, seen = self.opened.start(), self.target.new_cache(), []
        left = list(tokens)
        for size in [*pieces, len(tokens)]:
            piece, left = left[:size], left[size:]
            if piece:
                seen.append(self.target.forward(piece, cache).taps)
                drafter.observe(piece, seen[-1])
        return drafter, np.array(mx.concatenate(seen)).astype(np.float64)

    def expected(self, taps, pending, **wrong):
        return forward(self.config, self.weights, self.embed, self.head, taps, pending, **wrong)

    def hidden(self, drafter, pending, position):
        drafter._absorb()
        config = self.opened.config
        ids = [pending] + [config.mask_id] * (config.rows - 1)
        block = self.opened.embed(mx.array([ids]))
        rows = self.opened.model.block(block, position, drafter._buffers)
        return rows[:, config.rows - config.block :]

    def bias(self, before):
        """What the chain adds to scores after a token."""
        if "markov_rank" not in self.config:
            return 0.0
        w1, w2 = (
            self.weights[f"markov_head.markov_w{i}.weight"].astype(np.float64) for i in (1, 2)
        )
        return w2 @ w1[before]


@pytest.fixture(params=PAIRS)
def pair(request, tmp_path):
    return Pair(tmp_path / "drafter", request.param)


@pytest.mark.parametrize("pieces", [(1000,), (1, 1, 3, 7), (140, 20)], ids=str)
def test_that_hidden_rows_and_drafts_are_those_of_the_equations(pair, pieces):
    tokens = [(5 * i * i + i) % 60 for i in range(200)]
    for pending in (7, 21, 50):
        drafter, taps = pair.after(tokens, pieces)
        scores, hidden, chain = pair.expected(taps, pending)
        assert np.allclose(pair.hidden(drafter, pending, 200)[0], hidden, atol=1e-4, rtol=1e-4)
        proposal = drafter.propose(Context([*tokens, pending], 0, Sampling()), 99)
        assert proposal.ids.tolist() == chain
        assert float(proposal.sound.item()) == 1.0
        assert np.ptp(np.sort(scores, axis=1)[:, -2:], axis=1).min() > 1e-3


def test_that_float64_and_the_drafter_agree_to_1e_5(pair):
    tokens = [(7 * i + 3) % 60 for i in range(20)]
    drafter, taps = pair.after(tokens)
    _, hidden, _ = pair.expected(taps, 9)
    found = np.array(pair.hidden(drafter, 9, 20)[0])
    assert np.abs(found - hidden).max() <= 1e-5 * max(1.0, np.abs(hidden).max())


@pytest.mark.parametrize(
    ("name", "mistake"),
    [(n, m) for n in PAIRS for m in MISTAKES if m not in IMPOSSIBLE.get(n, {"row_0"})],
)
def test_that_each_mistake_would_be_seen(name, mistake, tmp_path):
    # The drafter is within 1e-3 of the right rows, so it is far from those of the mistake.
    pair = Pair(tmp_path / "drafter", name)
    tokens = [(7 * i + 3) % 60 for i in range(20)]
    drafter, taps = pair.after(tokens)
    right, _, chain = pair.expected(taps, 9)
    wrong, _, _ = pair.expected(taps, 9, **{mistake: True})
    assert np.abs(wrong - right).max() > 1e-2
    base = np.array(pair.opened.score(pair.hidden(drafter, 9, 20))[0])
    bias = [pair.bias(before) + np.zeros(base.shape[1]) for before in (9, *chain[:-1])]
    assert np.abs(base + np.stack(bias) - right).max() < 1e-3


def test_that_sampled_drafts_use_the_targets_noise(pair):
    tokens = [(7 * i + 3) % 60 for i in range(20)]
    drafter, taps = pair.after(tokens)
    sampling = Sampling(temperature=0.8, seed=5)
    found = drafter.propose(Context([*tokens, 9], 3, sampling), 99).ids.tolist()
    _, hidden, _ = pair.expected(taps, 9)
    ids = np.arange(pair.head.shape[0]) + pair.weights.get("d2t", 0)
    before, wanted = 9, []
    for i, row in enumerate(hidden @ pair.head.astype(np.float64).T):
        noise = np.array(gumbel(5, 3 + i, pair.config["vocab_size"]))[ids]
        before = int(ids[np.argmax((row + pair.bias(before)) / 0.8 + noise)])
        wanted.append(before)
    assert found == wanted


def test_that_a_block_is_never_kept(pair):
    tokens = [(7 * i + 3) % 60 for i in range(20)]
    drafter, _ = pair.after(tokens)
    first = drafter.propose(Context([*tokens, 9], 0, Sampling()), 3).ids.tolist()
    assert drafter.length == 20
    other = drafter.propose(Context([*tokens, 40], 0, Sampling()), 3).ids.tolist()
    again = drafter.propose(Context([*tokens, 9], 0, Sampling()), 3).ids.tolist()
    assert first == again
    assert len(other) == 3


def test_that_equal_scores_go_to_the_lowest_id(tmp_path):
    pair = Pair(tmp_path / "drafter", "liquid")
    pair.opened.score = lambda hidden: mx.zeros((1, hidden.shape[1], 96))
    pair.opened.model.markov_head.markov_w2.weight = mx.zeros((96, 64))
    drafter, _ = pair.after([1, 2, 3])
    assert drafter.propose(Context([1, 2, 3, 4], 0, Sampling()), 5).ids.tolist() == [0] * 5


def test_that_each_draft_feeds_the_next(tmp_path):
    # Flat scores and W2 W1[y] = one at y + 1: the chain must count up from the pending token.
    pair = Pair(tmp_path / "drafter", "liquid")
    pair.opened.score = lambda hidden: mx.zeros((1, hidden.shape[1], 96))
    head = pair.opened.model.markov_head
    head.markov_w1.weight = mx.eye(96)
    head.markov_w2.weight = mx.roll(mx.eye(96), 1, axis=0)
    drafter, _ = pair.after([1, 2, 3])
    assert drafter.propose(Context([1, 2, 3, 40], 0, Sampling()), 5).ids.tolist() == [
        41,
        42,
        43,
        44,
        45,
    ]


def test_that_confidence_cuts_where_survival_falls_below(tmp_path):
    pair = Pair(tmp_path / "drafter", "liquid", DrafterOptions(confidence=1e-9))
    tokens = [(7 * i + 3) % 60 for i in range(20)]
    drafter, taps = pair.after(tokens)
    _, hidden, chain = pair.expected(taps, 9)
    w1 = pair.weights["markov_head.markov_w1.weight"]
    proj, bias = (
        pair.weights["confidence_head.proj.weight"][0],
        pair.weights["confidence_head.proj.bias"],
    )
    features = np.concatenate([hidden, w1[[9, *chain[:-1]]]], axis=1)
    survival = np.cumprod(1 / (1 + np.exp(-(features @ proj + bias))))
    for floor in (1e-12, *(survival * 1.001), *(survival * 0.999), 1.0):
        pair.opened.confidence = float(floor)
        kept = next((i for i, s in enumerate(survival) if s < floor), 5)
        found = drafter.propose(Context([*tokens, 9], 0, Sampling()), 5).ids.tolist()
        assert found == chain[: max(1, kept)]


def test_that_8_bits_change_little_and_pack_the_layers(tmp_path):
    whole = Pair(tmp_path / "a", "liquid")
    packed = Pair(tmp_path / "b", "liquid", DrafterOptions(bits=8))
    assert packed.opened.nbytes < 0.6 * whole.opened.nbytes
    tokens = list(range(20))
    rows = [p.hidden(p.after(tokens)[0], 9, 20)[0] for p in (whole, packed)]
    difference = float(mx.abs(rows[0] - rows[1]).max().item())
    assert 0 < difference < 0.2


def test_that_every_row_of_the_block_is_a_draft(tmp_path):
    # Row i scores token 60 + i best and the chain adds nothing: slot 0 is a proposal too.
    pair = Pair(tmp_path / "drafter", "liquid")
    pair.opened.score = lambda hidden: mx.eye(96)[60 : 60 + hidden.shape[1]][None]
    pair.opened.model.markov_head.markov_w2.weight = mx.zeros((96, 64))
    drafter, _ = pair.after([1, 2, 3])
    found = drafter.propose(Context([1, 2, 3, 4], 0, Sampling()), 5).ids.tolist()
    assert found == [60, 61, 62, 63, 64]


def test_that_interleaved_pairs_are_halves_of_reordered_rows(tmp_path):
    # What TensorFold does for a kernel that knows halves only: within each head the even rows of
    # q, k and their norms first, then the odd ones. The drafts must be the same.
    pair = Pair(tmp_path / "a", "liquid")
    order = np.r_[0:16:2, 1:16:2]
    weights = dict(pair.weights)
    for name, array in pair.weights.items():
        if "q_norm" in name or "k_norm" in name:
            weights[name] = array[order]
        elif "q_proj" in name or "k_proj" in name:
            weights[name] = array.reshape(-1, 16, 64)[:, order].reshape(array.shape)
    halves = LIQUID | {"rope_is_neox_style": True}
    folder = write_drafter(tmp_path / "b", halves, weights)
    other = Pair(tmp_path / "c", "liquid")
    other.opened = open_drafter(folder, other.target)
    tokens = [(7 * i + 3) % 60 for i in range(20)]
    rows = [np.array(p.hidden(p.after(tokens)[0], 9, 20)) for p in (pair, other)]
    assert np.abs(rows[0] - rows[1]).max() < 1e-5
    unordered = Pair(tmp_path / "d", "liquid")
    folder = write_drafter(tmp_path / "e", halves, pair.weights)
    unordered.opened = open_drafter(folder, unordered.target)
    assert (
        np.abs(np.array(unordered.hidden(unordered.after(tokens)[0], 9, 20)) - rows[0]).max() > 0.01
    )


def bfloat16(x):
    """float32 rounded to the nearest bfloat16, halves to even."""
    bits = np.asarray(x, np.float32).view(np.uint32).astype(np.uint64)
    rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16 << 16
    return rounded.astype(np.uint32).view(np.float32)


def test_that_the_chain_rounds_bias_and_sum_to_bfloat16(tmp_path):
    # Whole numbers, so that W2 W1 has no error before it is rounded. Each token has a twin with the
    # same bias, and what tells them apart before the sum is too small to be left after it.
    pair = Pair(tmp_path / "drafter", "liquid")
    rng = np.random.default_rng(2)
    w1, w2 = (rng.integers(-12, 13, (96, 64)).astype(np.float32) for _ in range(2))
    w2[48:] = w2[:48]
    base = bfloat16(rng.normal(0, 2, (5, 96)))
    head = pair.opened.model.markov_head
    head.markov_w1.weight, head.markov_w2.weight = (mx.array(w, mx.bfloat16) for w in (w1, w2))
    pair.opened.score = lambda hidden: mx.array(base[None], mx.bfloat16)[:, : hidden.shape[1]]
    drafter, _ = pair.after([1, 2, 3])
    for pending in range(60):
        before, wanted = pending, []
        for row in base:
            sums = bfloat16(row + bfloat16(w2 @ w1[before]))
            before = int(np.argmax(sums))
            wanted.append(before)
        asked = Context([1, 2, 3, pending], 0, Sampling())
        assert drafter.propose(asked, 5).ids.tolist() == wanted
