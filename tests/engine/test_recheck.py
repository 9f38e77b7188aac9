"""Replies decoded again plain. The oracle is uncached: the whole text is fed anew for each token."""

from dataclasses import replace

import mlx.core as mx
import pytest

from engine.controls import Controls
from engine.events import Rechecked, RecheckProgress
from engine.origin import Origin, Written
from engine.proposers import Proposal
from engine.recheck import _fed, machine, recheck
from engine.request import Sampling
from engine.sampling import draw
from engine.session import Session
from engine.target import Target
from support.chain import ChainTarget
from support.perturbed import Perturbed, PerturbedLayer, only_row
from support.tiny import P, tiny, tiny_config
from support.tiny_lfm2 import DENSE, tiny_lfm2

GREEDY = Sampling()
SAMPLINGS = {
    "greedy": GREEDY,
    "0.8": Sampling(0.8, 0.95, seed=5),
    "1.0": Sampling(1.0, seed=2**64 - 1),
    "penalties": Sampling(0.8, 0.9, 40, 0.02, 1.3, 16, 0.4, 0.2, seed=9),
    "greedy-penalties": Sampling(repetition_penalty=1.5, frequency_penalty=0.3),
}
COUNT = 24


def target(seed=3, window=None):
    return Target(tiny(seed, window=window), tiny_config(window=window))


def uncached(model, prompt, n, sampling=GREEDY):
    tokens = list(prompt)
    for i in range(n):
        ids, _ = draw(model(mx.array([tokens]))[0, -1:], i, sampling, tokens)
        tokens.append(int(ids[0].item()))
    return tokens[len(prompt) :]


def written(prompt, token_ids, sampling=GREEDY, passes=None, end_id=None):
    origin = Origin("/m", "id", None, "", machine("1"), "guarded", sampling)
    one_pass = ((len(prompt) - 1, len(prompt) - 1),)
    return Written(origin, tuple(prompt), tuple(token_ids), end_id, passes or one_pass)


def checked(model, reply, controls=None):
    """The end, after making sure that the progress before it counts every token once."""
    *progress, end = recheck(model, reply, controls or Controls(), str)
    assert isinstance(end, Rechecked)
    total = len(reply.token_ids)
    counts = [e.matched for e in progress if isinstance(e, RecheckProgress)]
    assert counts == [min(n + 1, total) for n in range(len(counts))]
    assert {e.total for e in (*progress, end)} == {total}
    return end


@pytest.mark.parametrize("name", SAMPLINGS)
@pytest.mark.parametrize("window", [None, 8])
def test_that_the_uncached_reply_is_the_same(name, window):
    model, sampling = target(window=window), SAMPLINGS[name]
    truth = uncached(model.model, P, COUNT, sampling)
    assert checked(model, written(P, truth, sampling)) == Rechecked(COUNT, COUNT)


@pytest.mark.parametrize("name", SAMPLINGS)
@pytest.mark.parametrize("at", [0, 1, 11, COUNT - 1])
def test_that_a_planted_token_is_found_where_it_is(name, at):
    model, sampling = target(), SAMPLINGS[name]
    truth = uncached(model.model, P, COUNT, sampling)
    planted = (truth[at] + 1) % 64
    end = checked(model, written(P, [*truth[:at], planted, *truth[at + 1 :]], sampling))
    assert (end.matched, end.at, end.drafted, end.plain) == (at, at, str(planted), str(truth[at]))
    row = model.model(mx.array([[*P, *truth[:at]]]))[0, -1:]
    _, scores = draw(row, at, sampling, [*P, *truth[:at]])
    best = sorted((s for s in scores[0].tolist() if s > -1e30), reverse=True)
    if len(best) == 1:  # nothing else could be drawn
        assert end.gap is None
    else:
        assert end.gap == pytest.approx(best[0] - best[1], abs=1e-3)


def test_that_an_end_is_held_against_what_plain_decoding_does_there():
    model = target()
    *truth, after = uncached(model.model, P, COUNT + 1)
    assert checked(model, written(P, truth, end_id=after)) == Rechecked(COUNT, COUNT)
    other = (after + 1) % 64
    end = checked(model, written(P, truth, end_id=other))
    assert (end.matched, end.at, end.drafted, end.plain) == (COUNT, COUNT, str(other), str(after))


def test_that_a_stop_ends_it_without_a_verdict():
    model, controls = target(), Controls()
    truth = uncached(model.model, P, COUNT)
    events = []
    for event in recheck(model, written(P, truth), controls, str):
        events.append(event)
        controls.stop = len(events) == 5
    assert events == [RecheckProgress(n + 1, COUNT) for n in range(5)]
    controls.stop = True
    assert list(recheck(model, written(P, truth), controls, str)) == []


def test_that_numbers_that_are_not_finite_are_no_verdict():
    model = target()
    truth = uncached(model.model, P, COUNT)
    model.model.model.norm.weight = mx.full((64,), mx.nan)
    end = checked(model, written(P, truth))
    assert (end.at, end.reason) == (None, "The model produced numbers that are not finite.")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"token_ids": ()}, "not enough"),
        ({"prompt_ids": (), "passes": ()}, "not enough"),
        ({"passes": ((3, 3),)}, "not enough"),
        ({"passes": ((99, 99),)}, "not enough"),
        ({"token_ids": (5, 64)}, "does not know"),
        ({"token_ids": (5,), "end_id": 64}, "does not know"),
        ({"token_ids": (5,) * 5_000}, "longer than"),
    ],
)
def test_that_what_cannot_be_fed_is_refused(changes, reason):
    end = checked(target(), replace(written(P, [5]), **changes))
    assert end.at is None
    assert reason in end.reason


def wide_target(window=None):
    """Rows that come in together are one ulp off, so that their caches tell how they came in."""
    model = tiny(3, window=window)
    model.model.layers = [PerturbedLayer(layer, range(2, 99)) for layer in model.model.layers]
    made = Target(model, tiny_config(window=window))
    assert not made.plain_only_reason
    return made


def read(session, prompt, chunk, sampling=GREEDY):
    session.resume(prompt)
    while len(session.tokens) < len(prompt) - 1:
        session.feed(
            prompt[len(session.tokens) : len(session.tokens) + chunk][
                : len(prompt) - 1 - len(session.tokens)
            ]
        )
    passes, at = session.passes, session.cache.length
    state = bytes_of(session.cache)
    session.begin(prompt[-1], sampling)
    return passes, at, state


def bytes_of(cache):
    """Keys and values of every row that is held, layer by layer."""
    found = []
    for layer in cache.layers:
        keys, values = layer.state[:2]
        first = getattr(layer, "_first", 0)
        found += [bytes(memoryview(a[..., : cache.length - first, :])) for a in (keys, values)]
    return found


def test_that_the_rows_before_a_reply_come_in_as_they_came():
    model, session = wide_target(), Session(wide_target())
    prompt = [(7 * i * i + i) % 60 for i in range(30)]
    turns = [prompt]
    for cut in (None, 17, None):  # a second turn, an edit in the middle of a chunk, another turn
        read(session, turns[-1], 8)
        for _ in range(6):
            session.plain(pipeline=True)
        session.settle()
        said = [*session.tokens, 61, 62, 63, *range(9)]
        turns.append(said if cut is None else [*said[:cut], 50, 51, *range(20)])
    passes, at, state = read(session, turns[-1], 8)
    assert passes == ((17, 8), (16, 8), (5, 5), (6, 1), (8, 8), (4, 4))
    for good, used in ((True, passes), (False, ((at, 8),))):
        cache = model.new_cache()
        assert all(_fed(model, cache, written(turns[-1], [5], passes=used), Controls()))
        assert cache.length == at
        assert (bytes_of(cache) == state) == good


class Stiff(ChainTarget):
    """Says the next number, and takes nothing back."""

    vocab_size, context_limit = 64, 99

    def new_cache(self):
        cache = super().new_cache()
        cache.layers[0].is_trimmable = lambda: False
        return cache


def test_that_a_memory_that_takes_nothing_back_is_no_hindrance_unless_a_pass_was_cut():
    assert checked(Stiff(), written(P, [32, 33, 34])) == Rechecked(3, 3)
    end = checked(Stiff(), written(P, [32, 33, 34], passes=((4, 8), (5, 5))))
    assert end.reason == "The model's memory of the conversation cannot be built as it was."


def test_that_a_pass_is_cut_where_short_convolutions_forget():
    model = Target(tiny_lfm2(DENSE), DENSE)
    prompt = [(7 * i * i + i) % 60 for i in range(100)]
    truth = uncached(model.model, prompt, 5)
    reply = written(prompt, truth, passes=((11, 90), (88, 88)))
    assert checked(model, reply) == Rechecked(5, 5)


class Right:
    """Proposes the uncached continuation."""

    def __init__(self, truth):
        self.truth = truth

    def proposal(self, at, k):
        return Proposal("copy", mx.array(self.truth[at : at + k], dtype=mx.uint32))


def drafted(model, prompt, truth, sampling=GREEDY):
    """A reply in rounds of four guesses, no row mistrusted, as in Fast mode."""
    session, right = Session(model), Right(truth)
    read(session, prompt, 512)
    while session.drawn < COUNT - 6:
        session.drafted(right.proposal(session.drawn, 4), 0.0, 0.0)
    return session.tokens[len(prompt) :]


@pytest.mark.parametrize("name", SAMPLINGS)
def test_that_a_fast_reply_that_lost_a_near_tie_is_found(name):
    sampling = SAMPLINGS[name]
    plain = tiny(3)
    truth = uncached(plain, P, COUNT, sampling)

    def turned(logits):
        """The best token of this row loses to the one after it."""
        best = mx.argmax(logits, axis=-1, keepdims=True)
        ids = mx.arange(logits.shape[-1])[None]
        return mx.where(ids == (best + 1) % 64, logits.max() + 50.0, logits)

    fast = Perturbed(plain, tiny_config(), {5}, only_row(2, turned))
    said = drafted(fast, P, truth, sampling)
    at = next(i for i, (a, b) in enumerate(zip(said, truth, strict=False)) if a != b)
    end = checked(fast, written(P, said, sampling))
    assert (end.at, end.drafted, end.plain) == (at, str(said[at]), str(truth[at]))
