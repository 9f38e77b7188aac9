"""What is measured and in which order; never how long it took."""

import pytest

from engine.bench import (
    Panel,
    PanelResult,
    Spread,
    first_difference,
    run_panel,
    timed,
    together,
    warm_up,
)
from engine.bench_panels import PANELS
from engine.bench_turns import second_turn
from engine.controls import Controls
from engine.errors import EngineError
from engine.events import Finished, Round
from engine.request import ModelChoice, Request, Turn
from support.scripted import SlowEngine

PANEL = Panel("two", 1.0, ("first", "second"))


@pytest.fixture
def model(tmp_path):
    return ModelChoice(tmp_path)


class Wavering(SlowEngine):
    """Says something else when it drafts."""

    def reply(self, request, controls):
        for event in super().reply(request, controls):
            if isinstance(event, Finished) and request.drafting.wish != "off":
                ids = (*event.token_ids[:-1], 1)
                event = Finished("stop", (), ids, "", 1, 0, 0, None, "on")
            yield event


def measured(engine, model, repeats=2):
    *steps, result = run_panel(engine, model, PANEL, repeats=repeats, max_tokens=10)
    assert steps == list(range(1, repeats + 1))
    return result


def test_that_a_spread_is_its_least_median_and_greatest():
    assert Spread.of([3.0, 1.0, 2.0, 9.0]) == Spread(2.5, 1.0, 9.0, 4)


def test_that_plain_and_drafted_take_turns_on_every_prompt(model):
    engine = SlowEngine()
    measured(engine, model)
    asked = [(request.turns[0].text, request.drafting.wish) for request in engine.requests]
    once = [("first", "off"), ("first", "auto"), ("second", "off"), ("second", "auto")]
    assert asked == once * 2
    assert all(request.conversation is None for request in engine.requests)
    assert all(request.sampling.temperature == 0 for request in engine.requests)


def test_that_a_panel_counts_tokens_and_proposals_of_the_drafted_replies(model):
    result = measured(SlowEngine(tokens=10), model)
    assert result.tokens == 2 * 2 * 10
    # Ten tokens by the script: rounds of two and one in turn, so seven, of which four are right.
    assert (result.proposed, result.accepted) == (4 * 7, 4 * 3)
    assert result.tokens_per_round == pytest.approx(10 / 7)
    assert (result.ratio.n, result.plain.n, result.drafted.n) == (2, 4, 4)
    assert result.ratio.min <= result.ratio.median <= result.ratio.max
    assert result.same_tokens
    assert result.first_difference is None


def test_that_other_tokens_are_noticed(model):
    result = measured(Wavering(tokens=10), model)
    assert not result.same_tokens
    assert result.first_difference == 9


def test_that_the_first_difference_is_found_in_what_one_list_lacks():
    assert first_difference([1, 2, 3], [1, 2, 3]) is None
    assert first_difference([1, 2, 3], [1, 5, 3]) == 1
    assert first_difference([1, 2, 3], [1, 2]) == 2


def test_that_a_failed_reply_is_not_timed(model):
    request = Request(model, (Turn("user", "Hi"),))
    with pytest.raises(EngineError, match="script fails"):
        timed(SlowEngine(fail_at=2), request)
    with pytest.raises(EngineError, match="before the first token"):
        timed(SlowEngine(tokens=0), request)


def test_that_the_time_of_the_first_round_is_kept_apart(model):
    reply = timed(SlowEngine(tokens=10), Request(model, (Turn("user", "Hi"),)))
    first = next(
        e
        for e in SlowEngine(tokens=10).reply(Request(model, ()), Controls())
        if isinstance(e, Round)
    )
    assert reply.after_first == 10 - len(first.committed_ids)
    assert 0 < reply.after_first_s <= reply.decode_s
    assert reply.rate == pytest.approx(10 / reply.decode_s)


def test_that_several_panels_are_weighed_alike():
    def panel(ratio):
        one = Spread(ratio, ratio - 0.5, ratio + 0.5, 3)
        return PanelResult("p", 1.0, one, one, one, 1, 0, 0, 1.0, True, None, None)

    assert together([panel(1.0), panel(2.0), panel(4.0)]).ratio == Spread(2.0, 0.5, 4.5, 9)


def test_that_warming_up_runs_both_ways(model):
    engine = SlowEngine()
    warm_up(engine, model)
    assert [request.drafting.wish for request in engine.requests] == ["off", "on"]


def test_that_a_second_turn_follows_the_first_and_its_cold_twin_keeps_nothing(model):
    engine = SlowEngine()
    result = second_turn(engine, model, 2)
    first, warm, cold = engine.requests[:3]
    assert first.conversation is not None
    assert warm.conversation == first.conversation
    assert cold.conversation is None
    assert warm.turns == cold.turns
    assert warm.turns[0] == first.turns[0]
    assert [turn.role for turn in warm.turns] == ["user", "assistant", "user"]
    assert engine.forgotten == [first.conversation] * 3
    assert (result.cold.n, result.warm.n, result.ratio.n) == (2, 2, 2)


def test_that_the_panels_of_the_product_are_those_it_has_aims_for():
    assert {panel.name: panel.aim for panel in PANELS} == {
        "copy": 3.0,
        "copy-heavy": 1.5,
        "code-twice": 1.15,
        "prose": 0.98,
    }
    assert all(panel.prompts for panel in PANELS)
