"""Measuring exactness, stopped between two passes: nothing is known of it, and nothing is lost."""

import pytest

from engine.controls import Controls
from engine.engine import Engine
from engine.events import Finished, Round
from engine.exactness import measure
from engine.growing_text import Interrupted
from engine.request import Drafting, ModelChoice, Request, Sampling, Turn
from engine.target import Target
from engine.trust import WIDTHS, Trust
from support.memo import Memo
from support.tiny import tiny, tiny_config
from support.tiny_chat import tiny_chat

# A chunk and 32 one-row steps after 8 tokens, and 33 after 48; blocks of 9 widths after both, and
# after the longer prompt the step that follows each.
ALL_PASSES = 2 + 32 + 33 + 9 + 2 * 9


class Counted(Target):
    """Counts its passes."""

    passes = 0

    def forward(self, ids, cache, **options):
        self.passes += 1
        return super().forward(ids, cache, **options)


@pytest.fixture
def counted():
    return Counted(tiny(3), tiny_config())


def after(target, passes):
    """Wants a stop once the target has made so many passes."""
    return lambda: target.passes >= passes


def test_that_a_whole_measurement_makes_the_passes_that_are_stopped_here(counted):
    measure(counted, WIDTHS)
    assert counted.passes == ALL_PASSES


@pytest.mark.parametrize("passes", [0, 1, 20, 34, 40, 43, 60, 77, ALL_PASSES - 1])
def test_that_a_stopped_measurement_makes_no_other_pass_and_finds_nothing(counted, passes):
    with pytest.raises(Interrupted):
        measure(counted, WIDTHS, stop=after(counted, passes))
    assert counted.passes == passes


def test_that_a_long_prompt_is_left_between_two_chunks():
    target = Counted(tiny(1, window=2000), tiny_config(window=2000))
    with pytest.raises(Interrupted):
        measure(target, [2], stop=after(target, 14))  # 2 prompts of 5 passes, 3, then chunks
    assert target.passes == 14


@pytest.mark.parametrize("passes", [0, 30, ALL_PASSES - 1])
def test_that_what_was_interrupted_is_not_remembered_and_is_measured_later(counted, passes):
    memo = Memo()
    trust = Trust.of(counted, "weights", memo)
    assert trust.measure(stop=after(counted, passes)) is None
    assert memo.kept == {}
    assert not trust.is_measured
    assert trust.widest("exact") == 1
    assert "measured" in trust.refusal("exact")
    whole = Trust(Target(tiny(3), tiny_config()), "another", None).measure()
    assert trust.measure() == whole
    assert memo.kept == {trust.key: whole}


def test_that_an_interrupted_chosen_width_leaves_the_usual_ones_standing(counted):
    memo = Memo()
    trust = Trust.of(counted, "weights", memo)
    usual = trust.measure(40, after(counted, ALL_PASSES + 5))
    assert [seen.width for seen in usual.widths] == list(WIDTHS)
    assert memo.kept == {trust.key: usual}
    assert trust.is_wanted("guarded", 40)
    assert not trust.measure(40).at(40).not_run
    assert not trust.is_wanted("guarded", 40)


def test_that_a_width_that_waited_is_interrupted_too(counted, monkeypatch):
    monkeypatch.setattr("engine.trust._LARGE", 0)
    trust = Trust.of(counted, "weights", Memo())
    trust.measure()
    usual, passes = trust.gate, counted.passes
    trust.margin("guarded", 16, after(counted, passes + 3))
    assert counted.passes == passes + 3
    assert trust.gate == usual
    trust.margin("guarded", 16)
    assert [seen.width for seen in trust.gate.widths] == list(WIDTHS)


class StoppedAt:
    """Wraps `Target.forward`: presses Stop in pass `at` of those that `counts` is told to count."""

    def __init__(self, monkeypatch, at):
        self.controls, self.passes, self.after = Controls(), 0, 0
        forward = Target.forward

        def counted(target, ids, cache, **options):
            self.after += self.controls.stop
            self.passes += 1
            self.controls.stop = self.controls.stop or self.passes == at
            return forward(target, ids, cache, **options)

        monkeypatch.setattr(Target, "forward", counted)


def request(folder, mode):
    return Request(
        ModelChoice(folder),
        (Turn("user", "Say it, say it, say it, say it, say it, say it."),),
        sampling=Sampling(0.0),
        drafting=Drafting("on", exactness=mode),
        max_tokens=60,
    )


def test_that_a_reply_stopped_while_its_gate_is_measured_ends_at_once(
    tmp_path, starter, monkeypatch
):
    folder, memo = tiny_chat(tmp_path / "model", starter), Memo()
    engine = Engine(memo)
    list(engine.load(ModelChoice(folder), Controls()))
    with monkeypatch.context() as patch:
        stopped = StoppedAt(patch, at=50)
        ends = list(engine.reply(request(folder, "exact"), stopped.controls))
    assert isinstance(ends[-1], Finished)
    assert (ends[-1].reason, ends[-1].token_ids) == ("cancelled", ())
    assert stopped.after <= 1
    assert memo.kept == {}
    again = list(engine.reply(request(folder, "exact"), Controls()))[-1]
    plain = list(engine.reply(request(folder, "fast"), Controls()))[-1]
    assert again.token_ids == plain.token_ids
    assert len(again.token_ids) == 60
    (gate,) = memo.kept.values()
    assert [seen.width for seen in gate.widths] == list(WIDTHS)
    engine.unload()


def test_that_a_reply_stopped_while_a_long_copy_is_measured_keeps_its_text(
    tmp_path, starter, monkeypatch
):
    monkeypatch.setattr("engine.trust._LARGE", 0)
    folder, memo = tiny_chat(tmp_path / "model", starter), Memo()
    engine = Engine(memo)
    list(engine.load(ModelChoice(folder), Controls()))
    engine.measure(Controls())
    (usual,) = memo.kept.values()
    with monkeypatch.context() as patch:
        stopped = StoppedAt(patch, at=10**9)
        margin = Trust.margin

        def pressed(trust, mode, width, stop):
            stopped.controls.stop = stopped.controls.stop or width > 8
            return margin(trust, mode, width, stop)

        patch.setattr(Trust, "margin", pressed)
        events = list(engine.reply(request(folder, "guarded"), stopped.controls))
    rounds = [event for event in events if isinstance(event, Round)]
    assert events[-1].reason == "cancelled"
    assert events[-1].token_ids == sum((r.committed_ids for r in rounds), ())
    assert 0 < len(events[-1].token_ids) < 60
    assert stopped.after == 0
    assert list(memo.kept.values()) == [usual]
    engine.measure(Controls())
    engine.unload()
