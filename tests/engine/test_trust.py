"""What the measured gate does to widths and margins."""

import mlx.core as mx

from engine.exactness import Gate, Width
from engine.target import Target
from engine.trust import WIDTHS, Trust
from support.tiny import tiny, tiny_config


class Memo:
    def __init__(self):
        self.kept = {}

    def recall(self, key):
        return self.kept.get(key)

    def remember(self, key, gate):
        self.kept[key] = gate


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


def test_that_a_fault_stops_drafting():
    broken = trust(gate(w2=1.0))
    assert broken.fault
    assert {broken.widest(mode) for mode in ("exact", "guarded", "fast")} == {1}


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
