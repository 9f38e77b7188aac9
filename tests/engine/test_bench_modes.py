"""In which order Guarded and Fast are measured; never how long they took."""

from engine.bench_modes import guarded_against_fast
from engine.request import ModelChoice
from support.scripted import SlowEngine


def test_that_both_modes_take_turns_on_the_same_requests(tmp_path):
    engine = SlowEngine(tokens=4)
    greedy, sampled = guarded_against_fast(engine, ModelChoice(tmp_path), 2)
    asked = [(r.turns[0].text, r.drafting.exactness) for r in engine.requests]
    assert len(asked) == 2 * 2 * 2 * 4
    half = asked[:16]
    assert half == asked[16:]
    first, second = half[:8], half[8:]
    assert [mode for _, mode in first] == ["fast", "guarded"] * 4
    assert [mode for _, mode in second] == ["guarded", "fast"] * 4
    assert [text for text, _ in first] == [text for text, _ in second]
    assert len({text for text, _ in first}) == 4
    assert {r.drafting.wish for r in engine.requests} == {"auto"}
    assert {r.sampling.temperature for r in engine.requests[:16]} == {0.0}
    assert {(r.sampling.temperature, r.sampling.top_p) for r in engine.requests[16:]} == {
        (0.7, 0.95)
    }
    for result in (greedy, sampled):
        assert (result.ratio.n, result.guarded.n, result.fast.n) == (8, 8, 8)
        assert result.rechecked == 0
        assert result.same_tokens
