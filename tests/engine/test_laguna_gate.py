"""The gate on Laguna: equal as it is, and a fault told with its row and declined."""

import mlx.core as mx
import pytest
from mlx_lm.models.cache import make_prompt_cache

from engine.cache import Cache
from engine.exactness import measure
from engine.target import Target
from engine.trust import Trust
from support.perturbed import Perturbed, one_ulp, only_row
from support.tiny_laguna import TARGET, VARIANTS, tiny_laguna


def perturbed(widths, change):
    return Perturbed(tiny_laguna(), dict(TARGET), widths, change)


@pytest.mark.parametrize("name", ["mixed", "top-4", "all-full", "sliding-first", "window-1"])
def test_that_blocks_are_equal_on_a_cpu_also_past_the_window(name):
    config = VARIANTS[name]
    gate = measure(Target(tiny_laguna(config), dict(config)))
    assert gate.exact_width == 8
    has_window = "sliding_attention" in config["layer_types"]
    assert gate.prompts == ((8, config["sliding_window"] + 8, 48) if has_window else (8, 48))


@pytest.mark.parametrize("row", [0, 2, 3])
def test_that_a_row_that_differs_is_named_and_declined(row):
    target = perturbed({4}, only_row(row, one_ulp))
    gate = measure(target, (2, 3, 4, 5))
    assert [seen.width for seen in gate.widths if not seen.equal] == [4]
    assert gate.at(4).first_row == row
    assert gate.at(4).suspect == ("cache" if row else "kernels")
    trust = Trust(target, "key", None, gate)
    assert (trust.widest("exact"), trust.refusal("exact")) == (3, "")
    assert trust.widest("guarded") > 4  # it runs, and near-ties are drawn again
    assert trust.margin("guarded", 4) >= 4 * gate.at(4).max_difference > 0


def test_that_exact_mode_declines_where_every_width_differs():
    target = perturbed(range(2, 17), lambda logits, width: one_ulp(logits))
    trust = Trust(target, "key", None, measure(target))
    assert trust.widest("exact") == 1
    assert "not equal, bit for bit" in trust.refusal("exact")
    assert trust.refusal("guarded") == trust.fault == ""


def test_that_the_prompt_past_the_window_finds_a_ring():
    class Rotating(Target):
        def new_cache(self):
            return Cache(make_prompt_cache(self.model))

    target = Rotating(tiny_laguna(), dict(TARGET))
    gate = measure(target)
    assert gate.exact_width == 1
    assert not any(seen.equal for seen in gate.widths)
    trust = Trust(target, "key", None, gate)
    assert "more than rounding can explain" in trust.fault
    assert {trust.widest(mode) for mode in ("exact", "guarded", "fast")} == {1}


def test_that_a_width_that_cannot_run_is_declined():
    def broken(logits, width):
        raise RuntimeError("no kernel for 4 rows")

    target = perturbed({4}, broken)
    gate = measure(target, (2, 3, 4))
    assert gate.at(4).not_run == "RuntimeError: no kernel for 4 rows"
    trust = Trust(target, "key", None, gate)
    assert trust.widest("exact") == 3
    assert trust.margin("guarded", 4) == float("inf")  # every row of it is drawn again


def test_that_the_logits_of_both_ways_are_compared_and_not_their_choices():
    # A change far too small to turn any choice around.
    change = only_row(1, lambda row: mx.where(mx.arange(row.shape[-1]) == 5, one_ulp(row), row))
    gate = measure(perturbed({3}, change), (2, 3))
    assert gate.at(2).equal
    assert (gate.at(3).equal, gate.at(3).first_row) == (False, 1)
