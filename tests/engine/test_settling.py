"""How a near-tie is settled: which rows are written anew, when, and what a plain reply pays."""

import mlx.core as mx
import pytest

from engine.controls import Controls
from engine.engine import Engine
from engine.events import Finished, Round
from engine.proposers import Proposal
from engine.request import Drafting, ModelChoice, Request, Sampling, Turn
from engine.session import Session
from engine.target import Target
from support.tiny import P, tiny, tiny_config, uncached
from support.tiny_chat import tiny_chat

LIST = "Repeat this list: apples, pears, plums, apples, pears, plums, apples, pears, plums."
INFINITE = float("inf")


class Watched(Target):
    """Notes the rows of every pass."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.passes = []

    def forward(self, ids, cache, **options):
        self.passes.append(ids.shape[0] if isinstance(ids, mx.array) else len(ids))
        return super().forward(ids, cache, **options)


@pytest.fixture
def session():
    session = Session(Watched(tiny(3), tiny_config()))
    session.feed(P[:-1])
    session.begin(P[-1], Sampling())
    session._target.passes.clear()
    return session


TRUTH = uncached(tiny(3), P, 60)


def right(session, count):
    """Guesses that are all right."""
    at = session.drawn
    return Proposal("copy", mx.array(TRUTH[at : at + count], dtype=mx.uint32))


def passes(session):
    """Rows of the passes since the last call."""
    target = session._target
    seen, target.passes = target.passes, []
    return seen


def test_that_a_near_tie_has_the_wide_rows_of_the_reply_written_anew(session):
    session.plain(pipeline=False)
    session.drafted(right(session, 4), 0.0, 1e-9)  # commits 5
    session.plain(pipeline=False)
    session.drafted(right(session, 2), 0.0, 1e-9)  # commits 3
    assert passes(session) == [1, 5, 1, 3]
    step = session.drafted(right(session, 3), 0.0, INFINITE)
    # The rows of 5 + 1 + 3 tokens, for the one between is built on wide ones, and the row itself.
    assert passes(session) == [4, *[1] * 9, 1]
    assert (step.recheck, len(step.committed)) == (True, 1)
    assert 0 < step.settle_s <= step.verify_s
    # Nothing wide is left: the next near-tie costs its own row alone.
    session.drafted(right(session, 3), 0.0, INFINITE)
    assert passes(session) == [4, 1]
    assert session.tokens[len(P) :] == TRUTH[: session.drawn]


def test_that_a_plain_round_on_wide_rows_is_judged_too(session):
    session.drafted(right(session, 4), 0.0, INFINITE)
    assert session.plain(pipeline=False).gap is None  # that row was settled, so none is wide
    session.drafted(right(session, 4), 0.0, 1e-9)
    passes(session)
    step = session.plain(pipeline=True)
    assert step.gap > 0
    assert not step.recheck
    session._margin = 50.0  # as after a round that was less trusted
    passes(session)
    step = session.plain(pipeline=True)
    # The pass after it was under way; the row after it, the 5 wide and the 2 plain ones are redone.
    assert passes(session) == [1, *[1] * 6, 1]
    assert step.recheck
    assert session.plain(pipeline=False).gap is None
    assert session.tokens[len(P) :] == TRUTH[: session.drawn]


def test_that_only_so_many_rows_of_a_reply_are_written_anew(session, monkeypatch):
    monkeypatch.setattr("engine.session._SETTLED_FULLY", 5)
    session._target.dtype = mx.bfloat16  # in float32 there is no end to it
    for rewritten in (5, 0, 0):
        session.drafted(right(session, 4), 0.0, 1e-9)
        passes(session)
        session.drafted(right(session, 2), 0.0, INFINITE)
        assert passes(session) == [3, *[1] * rewritten, 1]
    session.settle()
    # The next reply has its own allowance.
    session.resume([*session.tokens, 1])
    session.begin(1, Sampling())
    session.drafted(Proposal("copy", mx.array([1, 1], dtype=mx.uint32)), 0.0, 1e-9)
    passes(session)
    session.drafted(Proposal("copy", mx.array([1], dtype=mx.uint32)), 0.0, INFINITE)
    rows, *anew, row = passes(session)
    assert (rows, row) == (2, 1)
    assert anew == [1] * (session.drawn - 1)


def test_that_all_rows_are_written_anew_in_float32(session, monkeypatch):
    monkeypatch.setattr("engine.session._SETTLED_FULLY", 0)
    for _ in range(3):
        session.drafted(right(session, 4), 0.0, 1e-9)
        passes(session)
        session.drafted(right(session, 2), 0.0, INFINITE)
        assert passes(session) == [3, *[1] * 5, 1]


def test_that_settling_can_be_stopped_and_leaves_a_text_that_goes_on(session):
    asked = []

    def stop():
        asked.append(session.cache.length)
        return len(asked) == 3

    session._stop = stop
    session.drafted(right(session, 4), 0.0, 1e-9)
    before = list(session.tokens)
    step = session.drafted(right(session, 2), 0.0, INFINITE)
    assert (step.committed, step.fed, step.taps) == ((), (), None)
    assert session.tokens == before
    session.settle()
    assert session.resume([*before, 1]) == len(P) - 1 + 2  # rows that were written by then
    session.feed(before[session.cache.length : -1])
    session.begin(before[-1], Sampling())
    more = [session.plain(pipeline=False).committed[0] for _ in range(5)]
    assert [*before[len(P) :], *more] == TRUTH[: len(before) - len(P) + 5]


@pytest.fixture(scope="module")
def folder(starter, tmp_path_factory):
    return tiny_chat(tmp_path_factory.mktemp("chat") / "tiny", starter)


@pytest.fixture
def engine(folder):
    engine = Engine()
    [*engine.load(ModelChoice(folder), Controls())]
    yield engine
    engine.unload()


def watched(engine):
    """Every pass of the engine's target from now on, as (rows, rows in the cache before)."""
    target, seen = engine.model.target, []
    forward = target.forward

    def noted(ids, cache):
        seen.append((ids.shape[0] if isinstance(ids, mx.array) else len(ids), cache.length))
        return forward(ids, cache)

    target.forward = noted
    return seen


def request(folder, **fields):
    return Request(ModelChoice(folder), (Turn("user", LIST),), max_tokens=40, **fields)


@pytest.mark.parametrize("dtype", [mx.float32, mx.bfloat16], ids=str)
def test_that_a_plain_conversation_pays_nothing(engine, folder, dtype, monkeypatch):
    engine.model.target.model.set_dtype(dtype)
    engine.model.target.dtype = dtype
    judged = []
    monkeypatch.setattr("engine.session.Session._is_near", lambda *given: judged.append(given))
    seen = watched(engine)
    done = [*engine.reply(request(folder, drafting=Drafting("off")), Controls())][-1]
    assert seen[0][0] == len(done.prompt_ids) - 1
    # One pass of one row a token, and perhaps the one that was under way when the reply ended.
    assert [rows for rows, _ in seen[1:]] == [1] * 40
    assert engine.model.trust.gate is None
    assert judged == []
    # The ids are those of a loop that knows nothing of gaps.
    model, tokens = engine.model.target.model, list(done.prompt_ids)
    cache = engine.model.target.new_cache()
    engine.model.target.forward(tokens[:-1], cache)
    for _ in done.token_ids:
        tokens.append(int(mx.argmax(model(mx.array([tokens[-1:]]), cache=cache.layers)[0, -1])))
    assert tuple(tokens[len(done.prompt_ids) :]) == done.token_ids


def test_that_a_reply_can_be_stopped_while_a_near_tie_is_settled(engine, folder, monkeypatch):
    plain = [*engine.reply(request(folder, drafting=Drafting("off")), Controls())][-1]
    margins = iter([1e-9, 1e-9])
    monkeypatch.setattr("engine.trust.Trust.margin", lambda *_: next(margins, INFINITE))
    controls = Controls()
    seen = watched(engine)
    forward, longest = engine.model.target.forward, 0

    def stopping(ids, cache):
        nonlocal longest
        if cache.length < longest - 2 and len(seen) > 3:
            controls.stop = True  # rows far back are written: a near-tie is being settled
        longest = max(longest, cache.length)
        return forward(ids, cache)

    engine.model.target.forward = stopping
    asked = request(folder, drafting=Drafting("on"), conversation="one")
    events = [*engine.reply(asked, controls)]
    done = events[-1]
    assert isinstance(done, Finished)
    assert controls.stop
    assert done.reason == "cancelled"
    assert 0 < len(done.token_ids) < 40
    assert done.token_ids == plain.token_ids[: len(done.token_ids)]
    assert all(e.committed_ids for e in events if isinstance(e, Round))
    # The conversation goes on where it was left.
    engine.model.target.forward = forward
    again = [*engine.reply(asked, Controls())][-1]
    assert again.token_ids == plain.token_ids
