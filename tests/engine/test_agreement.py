"""Drafted replies against plain ones: counted, and for the starter itself."""

import mlx.core as mx
import pytest

from engine.agreement import Agreement, Plan, compare
from engine.agreement_prompts import PROMPTS
from engine.controls import Controls
from engine.engine import Engine
from engine.errors import EngineError
from engine.request import Drafting, ModelChoice, Request, Turn
from support.tiny_chat import tiny_chat


@pytest.fixture(scope="module")
def folder(starter, tmp_path_factory):
    return tiny_chat(tmp_path_factory.mktemp("chat") / "tiny", starter)


@pytest.fixture
def engine():
    engine = Engine()
    yield engine
    engine.unload()


def last(engine, model, plan):
    *before, seen = compare(engine, ModelChoice(model), plan)
    assert [each.done for each in (*before, seen)] == list(range(1, plan.replies + 1))
    assert seen.total == plan.replies
    return seen


def recorded(engine):
    """The requests that the engine will have been asked."""
    asked, reply = [], engine.reply

    def noted(request, controls):
        asked.append(request)
        return reply(request, controls)

    engine.reply = noted
    return asked


class Wrong:
    """Makes wide passes say something else: in each row the best token is the worst."""

    def __init__(self, target):
        self.target, self.forward = target, target.forward

    def __call__(self, ids, cache):
        rows = self.forward(ids, cache)
        if rows.logits.shape[0] == 1 or cache.length < 60:
            return rows
        best = mx.argmax(rows.logits, axis=-1, keepdims=True)
        low = mx.put_along_axis(rows.logits, best, mx.array(-9.0), axis=-1)
        return type(rows)(low, rows.taps)


def test_that_the_prompts_are_many_and_of_both_kinds():
    assert len(set(PROMPTS)) == len(PROMPTS) >= 20
    copied = [prompt for prompt in PROMPTS if prompt.startswith(("Repeat", "Change", "Write this"))]
    assert 4 <= len(copied) <= len(PROMPTS) // 2


def test_that_every_prompt_is_written_in_every_way(engine, folder):
    plan = Plan(3, (0.0, 1.0), ("guarded", "fast"), max_tokens=30)
    asked = []
    engine.reply, reply = (
        lambda request, controls: (
            asked.append(request),
            reply(request, controls),
        )[1],
        engine.reply,
    )
    seen = last(engine, folder, plan)
    assert plan.replies == len(asked) == 3 * 2 * 3
    assert [request.drafting.wish for request in asked[:3]] == ["off", "on", "on"]
    assert [request.drafting.exactness for request in asked[1:3]] == ["guarded", "fast"]
    assert {request.sampling.seed for request in asked} == {0, 1, 2}
    assert {request.turns[0].text for request in asked} == set(PROMPTS[:3])
    assert all(each.replies == 6 and each.equal == 6 for each in seen.counts)
    assert all(each.tokens == 6 * 30 for each in seen.counts)
    assert seen.counts[0].drafted > 0
    assert seen.counts[0].rounds > seen.counts[0].drafted
    assert 0 < seen.counts[0].accepted <= seen.counts[0].proposed
    assert seen.all_equal


def test_that_more_prompts_than_there_are_get_other_seeds(engine, folder):
    many = len(PROMPTS) + 1
    asked = []
    engine.reply, reply = (
        lambda request, controls: (
            asked.append(request),
            reply(request, controls),
        )[1],
        engine.reply,
    )
    last(engine, folder, Plan(many, (1.0,), (), max_tokens=2))
    assert asked[0].turns == asked[-1].turns
    assert (asked[0].sampling.seed, asked[-1].sampling.seed) == (0, many - 1)


def test_that_a_difference_is_found_with_both_tokens_and_the_gap(engine, folder):
    [*engine.load(ModelChoice(folder), Controls())]
    target = engine.model.target
    target.forward = Wrong(target)
    plan = Plan(2, (0.0,), ("fast",), max_tokens=60)
    seen = last(engine, folder, plan)
    [fast] = seen.counts
    assert fast.equal < fast.replies
    assert not seen.all_equal
    first = fast.first
    # By hand: the plain reply again, and what the model says without a cache at that place.
    replies = [
        [*engine.reply(request, Controls())][-1]
        for request in _requests(folder, first.prompt, plan.max_tokens)
    ]
    plain, drafted = (reply.token_ids for reply in replies)
    assert plain[: first.at] == drafted[: first.at]
    assert (first.plain_id, first.drafted_id) == (plain[first.at], drafted[first.at])
    tokens = [*replies[0].prompt_ids, *plain[: first.at]]
    scores = mx.sort(target.model(mx.array([tokens]))[0, -1])
    assert first.gap == pytest.approx((scores[-1] - scores[-2]).item(), abs=1e-3)


def test_that_a_reply_that_fails_ends_the_comparison(engine, tmp_path):
    with pytest.raises(EngineError):
        list(compare(engine, ModelChoice(tmp_path), Plan(1)))


def test_that_nothing_written_is_nothing_unequal():
    assert Agreement(0, 1, ()).all_equal


def _requests(folder, prompt, max_tokens):
    for drafting in (Drafting("off"), Drafting("on", exactness="fast")):
        yield Request(
            ModelChoice(folder),
            (Turn("user", PROMPTS[prompt]),),
            drafting=drafting,
            max_tokens=max_tokens,
        )


def shown(seen):
    for each in seen.counts:
        print(  # noqa: T201 - the figures are what the slow test is for
            f"\n{each.mode}: {each.equal} of {each.replies} equal, {each.tokens} tokens, "
            f"{each.rounds} rounds, {each.drafted} drafted, {each.rechecked} re-checked, "
            f"{each.accepted} of {each.proposed} right, first {each.first}"
        )


@pytest.mark.timeout(300)
def test_that_a_few_replies_of_the_starter_are_the_plain_ones(engine, starter):
    plan = Plan(3, modes=("guarded",), max_tokens=24)
    seen = last(engine, starter, plan)
    shown(seen)
    assert seen.all_equal
    assert seen.counts[0].drafted > 0


@pytest.mark.slow
@pytest.mark.timeout(4 * 3600)
def test_that_the_replies_of_the_starter_are_the_plain_ones(engine, starter):
    seen = last(engine, starter, Plan(20))
    shown(seen)
    assert seen.all_equal
    assert [each.replies for each in seen.counts] == [60, 60]
    assert seen.counts[0].drafted > 100
