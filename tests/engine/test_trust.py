"""What the measured gate does to widths and margins."""

import mlx.core as mx
import pytest
from mlx import nn

from engine.backend import Backend
from engine.exactness import Gate, Width
from engine.target import Target
from engine.trust import WIDTHS, Trust
from support.memo import Memo
from support.tiny import tiny, tiny_config


def gate(**differences):
    widths = tuple(
        Width(w, equal=not d, max_difference=d, first_row=None if not d else 0)
        for w, d in ((int(k[1:]), d) for k, d in differences.items())
    )
    return Gate(widths, spread=2.0, magnitude=10.0, dtype="float32", prompts=(8,))


def trust(found=None):
    return Trust(Target(tiny(3), tiny_config()), "key", None, found)


def test_that_exact_mode_goes_as_wide_as_was_measured_equal():
    assert trust().widest("exact") == 1
    assert trust(gate(w2=0.0, w3=0.0, w4=1e-5)).widest("exact") == 3
    assert trust(gate(w2=0.0, w3=0.0, w4=1e-5)).widest("guarded") == 32
    assert trust(gate(w2=0.0)).margin("exact", 2) == 0.0


def test_that_guarded_margins_are_those_of_the_worse_neighbour():
    measured = trust(gate(w2=0.0, w8=1e-3, w16=2e-3))
    assert measured.margin("guarded", 8) == 4e-3
    assert measured.margin("guarded", 12) == 8e-3
    assert measured.margin("guarded", 32) == 8e-3  # never below what nothing is known of: 1e-3
    assert trust().margin("guarded", 5) == 1e-3
    assert measured.margin("fast", 8) == 0.0


def test_that_a_chosen_width_is_measured_before_it_is_used():
    mine = trust()
    assert not mine.is_wanted("guarded", 8)
    assert mine.is_wanted("guarded", 40)
    assert not mine.is_wanted("fast", 40)
    measured = mine.measure(40)
    assert {w.width for w in measured.widths} == {*WIDTHS, 40}
    assert not measured.at(40).not_run
    assert not mine.is_wanted("guarded", 40)
    assert (mine.widest("guarded", 40), mine.widest("guarded", 8)) == (40, 32)
    assert mine.widest("exact", 40) == measured.exact_width <= 8
    assert mine.margin("guarded", 36) == max(mine.margin("guarded", w) for w in (32, 40))


def test_that_a_width_without_room_in_the_context_counts_as_not_equal():
    config = tiny_config()
    mine = Trust(Target(tiny(3), config | {"max_position_embeddings": 50}), "key", None)
    measured = mine.measure(45)
    assert [w.width for w in measured.widths if w.not_run] == [45]
    assert not measured.at(45).equal
    assert measured.margin(45) == float("inf")
    short = Trust(Target(tiny(3), config | {"max_position_embeddings": 8}), "key", None)
    assert short.measure().exact_width == 1


def test_that_a_fault_stops_drafting():
    broken = trust(gate(w2=1.0))
    assert broken.fault
    assert {broken.widest(mode) for mode in ("exact", "guarded", "fast")} == {1}


def test_that_a_refusal_says_why_in_each_mode():
    broken, unequal = trust(gate(w2=1.0)), trust(gate(w2=1e-5))
    for mode in ("exact", "guarded", "fast"):
        assert broken.refusal(mode) == broken.fault
        assert (unequal.refusal(mode) == "") == (mode != "exact")
    assert "not equal, bit for bit" in unequal.refusal("exact")
    assert "from the next answer on" in trust().refusal("exact")
    assert trust(gate(w2=0.0)).refusal("exact") == ""


def test_that_a_measured_gate_is_remembered_and_recalled():
    memo, target = Memo(), Target(tiny(3), tiny_config())
    first = Trust.of(target, "weights", memo)
    assert first.is_wanted("exact")
    assert not first.is_wanted("guarded")
    measured = first.measure()
    assert [w.width for w in measured.widths] == list(WIDTHS)
    again = Trust.of(target, "weights", memo)
    assert again.gate == measured
    assert not again.is_wanted("exact")
    assert Trust.of(target, "other weights", memo).gate is None


def test_that_narrow_types_wait_for_their_gate():
    model = tiny(3)
    model.set_dtype(mx.bfloat16)
    narrow = Trust.of(Target(model, tiny_config()), "weights", None)
    assert narrow.is_wanted("guarded")
    assert not narrow.is_wanted("fast")
    narrow.measure()
    assert not narrow.is_wanted("guarded")


def another_chip(monkeypatch):
    monkeypatch.setattr("engine.exactness.mx.device_info", lambda: {"architecture": "another"})


def another_mlx(monkeypatch):
    monkeypatch.setattr("engine.exactness.version", lambda package: "9.9")


def another_backend(monkeypatch):
    monkeypatch.setattr("engine.trust.prepare", lambda: Backend("cpu", "another", compiler=True))


def another_procedure(monkeypatch):
    monkeypatch.setattr("engine.exactness._VERSION", 99)


@pytest.mark.parametrize("change", [another_chip, another_mlx, another_backend, another_procedure])
def test_that_a_gate_is_measured_anew_when_something_of_its_key_changes(change, monkeypatch):
    memo, target = Memo(), Target(tiny(3), tiny_config())
    Trust.of(target, "weights", memo).measure()
    assert not Trust.of(target, "weights", memo).is_wanted("exact")
    change(monkeypatch)
    again = Trust.of(target, "weights", memo)
    assert again.gate is None
    assert again.is_wanted("exact")
    again.measure()
    assert len(memo.kept) == 2
    assert not Trust.of(target, "weights", memo).is_wanted("exact")


def test_that_the_same_model_quantised_has_a_gate_of_its_own():
    memo = Memo()
    Trust.of(Target(tiny(3), tiny_config()), "weights", memo).measure()
    model = tiny(3)
    nn.quantize(model, group_size=32, bits=4)
    assert Trust.of(Target(model, tiny_config()), "weights", memo).gate is None


class Counted(Target):
    """Counts its passes; one of 4 rows cannot be run."""

    passes = 0

    def forward(self, ids, cache, **options):
        self.passes += 1
        if len(ids) == 4:
            raise RuntimeError("no kernel")
        return super().forward(ids, cache, **options)


def test_that_the_widths_of_long_copies_wait_where_the_model_is_large(monkeypatch):
    monkeypatch.setattr("engine.trust._LARGE", 0)
    target = Counted(tiny(3), tiny_config())
    large = Trust.of(target, "weights", Memo())
    large.measure()
    assert [seen.width for seen in large.gate.widths] == [2, 3, 4, 5, 6, 7, 8]
    assert large.is_measured
    assert not large.is_wanted("exact")
    passes = target.passes
    large.margin("guarded", 8)
    large.margin("fast", 20)
    assert target.passes == passes
    large.margin("guarded", 9)  # a copy longer than any drafter's guess
    assert [seen.width for seen in large.gate.widths] == list(WIDTHS)
    passes = target.passes
    large.margin("guarded", 32)
    assert target.passes == passes


def test_that_a_chosen_width_makes_those_of_long_copies_wait_no_less(monkeypatch):
    monkeypatch.setattr("engine.trust._LARGE", 0)
    target = Counted(tiny(3), tiny_config())
    large = Trust.of(target, "weights", None)
    large.measure(16)
    passes = target.passes
    assert large.margin("guarded", 16) == large.gate.margin(16)
    large.margin("guarded", 12)
    assert target.passes == passes
    assert [seen.width for seen in large.gate.widths] == [2, 3, 4, 5, 6, 7, 8, 16]
    large.margin("guarded", 17)
    assert [seen.width for seen in large.gate.widths] == list(WIDTHS)


def test_that_what_cannot_be_run_is_tried_again_only_after_loading():
    memo, target = Memo(), Counted(tiny(3), tiny_config())
    first = Trust.of(target, "weights", memo)
    first.measure()
    assert first.gate.at(4).not_run == "RuntimeError: no kernel"
    assert first.gate.exact_width <= 3
    assert first.margin("guarded", 4) == float("inf")
    passes = target.passes
    first.measure()
    assert first.is_measured
    assert target.passes == passes
    again = Trust.of(target, "weights", memo)
    assert again.is_wanted("exact")
    again.measure()
    assert target.passes > passes
    assert again.gate.at(4).not_run
