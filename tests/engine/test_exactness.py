"""The gate, on tiny models, with faults of every kind put in on purpose."""

import math

import mlx.core as mx
import pytest
from mlx.utils import tree_map
from mlx_lm.models.cache import make_prompt_cache

from engine.cache import Cache
from engine.exactness import Gate, Width, key, measure
from engine.target import Target
from support.perturbed import Perturbed, PerturbedLayer, one_ulp, only_row
from support.tiny import tiny, tiny_config

WINDOW = 16
ALL = range(2, 9)


def target(window=None):
    return Target(tiny(1, window=window), tiny_config(window=window))


def perturbed(widths, change, window=None):
    return Perturbed(tiny(1, window=window), tiny_config(window=window), widths, change)


def by_hand(model, prompt, block):
    """The logits of a block, one whole text a row and no cache at all: (rows, vocab)."""
    rows = [model(mx.array([prompt + block[: i + 1]]))[0, -1] for i in range(len(block))]
    return mx.stack(rows)


def test_that_a_model_whose_passes_are_equal_is_exact_at_every_width():
    gate = measure(target())
    assert [seen.width for seen in gate.widths] == list(ALL)
    assert all(seen.equal and seen.first_row is None for seen in gate.widths)
    assert all(seen.max_difference == 0 for seen in gate.widths)
    assert gate.exact_width == 8
    assert gate.fault == ""
    assert gate.prompts == (8, 48)


def test_that_the_spread_and_the_magnitude_are_those_of_the_logits():
    model = tiny(1)
    gate = measure(Target(model, tiny_config()))
    logits = by_hand(model, [3, 5, 7, 11], list(range(20, 40)))
    assert gate.spread == pytest.approx(mx.std(logits).item(), rel=0.3)
    assert gate.magnitude == pytest.approx(mx.abs(logits).max().item(), rel=0.3)
    assert gate.dtype == "float32"


def test_that_a_prompt_goes_beyond_the_window():
    gate = measure(target(WINDOW))
    assert gate.prompts == (8, WINDOW + 8, 48)
    assert gate.exact_width == 8


def test_that_kernels_that_depend_on_the_width_are_found_at_that_width():
    gate = measure(perturbed({4, 6}, lambda logits, width: one_ulp(logits)))
    assert [seen.width for seen in gate.widths if not seen.equal] == [4, 6]
    assert gate.exact_width == 3
    assert gate.at(4).first_row == 0
    assert gate.at(4).suspect == "kernels"
    # One unit in the last place of the largest logit, which lies between 4 and 16.
    assert 2**-21 <= gate.at(4).max_difference <= 2**-20
    assert gate.fault == ""


def test_that_a_difference_inside_a_layer_is_found():
    model = tiny(1)
    model.model.layers[0] = PerturbedLayer(model.model.layers[0], {5})
    gate = measure(Target(model, tiny_config()))
    assert [seen.width for seen in gate.widths if not seen.equal] == [5]
    assert gate.exact_width == 4
    assert gate.at(5).suspect == "kernels"
    assert 0 < gate.at(5).max_difference < 1e-3


def test_that_only_later_rows_point_to_the_cache_or_mask():
    gate = measure(perturbed({3}, only_row(2, one_ulp)))
    assert gate.at(3).first_row == 2
    assert gate.at(3).suspect == "cache"
    assert gate.exact_width == 2


def test_that_what_a_block_leaves_in_the_cache_is_checked_by_the_step_after_it():
    class Forgetful(Target):
        def forward(self, ids, cache, **options):
            rows = super().forward(ids, cache, **options)
            if len(ids) == 4:
                layer = cache.layers[0]
                layer.keys[..., layer.offset - 1, :] = 0
            return rows

    gate = measure(Forgetful(tiny(1), tiny_config()))
    assert gate.at(4).first_row == 4
    assert gate.at(4).suspect == "cache"
    assert gate.exact_width == 3


def test_that_a_difference_beyond_rounding_is_a_fault():
    gate = measure(perturbed({3}, only_row(1, lambda row: row + 0.5 * mx.std(row))))
    assert "rounding" in gate.fault
    assert "cache" in gate.fault
    gate = measure(perturbed({3}, lambda logits, width: logits * 1.5))
    assert "kernels" in gate.fault


def test_that_numbers_that_are_none_are_a_fault():
    gate = measure(perturbed({3}, only_row(1, lambda row: row * mx.nan)))
    assert not gate.at(3).equal
    assert gate.fault


def test_that_a_window_that_forgets_wrongly_never_counts_as_exact():
    # mlx-lm's rotating cache cannot take rows back once it has wrapped (its issues 1427 and 1914).
    class Rotating(Target):
        def new_cache(self):
            return Cache(make_prompt_cache(self.model))

    model = tiny(1, window=WINDOW)
    assert measure(Target(model, tiny_config(window=WINDOW))).exact_width == 8
    gate = measure(Rotating(model, tiny_config(window=WINDOW)))
    assert gate.exact_width == 1
    assert not any(seen.equal for seen in gate.widths)


def test_that_what_cannot_be_run_is_not_exact_and_says_why():
    class Broken(Target):
        def forward(self, ids, cache, **options):
            if len(ids) == 4:
                raise RuntimeError("no kernel for 4 rows")
            return super().forward(ids, cache, **options)

    gate = measure(Broken(tiny(1), tiny_config()))
    assert gate.exact_width == 3
    assert gate.at(4).not_run == "RuntimeError: no kernel for 4 rows"
    assert not gate.at(4).equal
    assert gate.margin(4) == math.inf
    assert gate.at(5).equal


def test_that_a_prompt_that_cannot_be_run_leaves_no_width_exact():
    class Short(Target):
        def forward(self, ids, cache, **options):
            if cache.length + len(ids) > 40:
                raise ValueError("too long")
            return super().forward(ids, cache, **options)

    gate = measure(Short(tiny(1), tiny_config()))
    assert gate.exact_width == 1
    assert all(seen.not_run == "ValueError: too long" for seen in gate.widths)


@pytest.mark.parametrize(("dtype", "bits"), [(mx.float32, 23), (mx.float16, 10), (mx.bfloat16, 7)])
def test_that_the_margin_covers_four_differences_and_two_ulps(dtype, bits):
    model = tiny(1)
    model.update(tree_map(lambda parameter: parameter.astype(dtype), model.parameters()))
    gate = measure(Perturbed(model, tiny_config(), {3}, lambda logits, width: one_ulp(logits)))
    assert gate.dtype == str(dtype).removeprefix("mlx.core.")
    ulp = 2.0 ** (math.floor(math.log2(gate.magnitude)) - bits)
    assert gate.margin(3) == 4 * gate.at(3).max_difference == 4 * ulp
    assert gate.at(2).equal
    assert gate.margin(2) == 2 * ulp
    assert gate.fault == ""


def test_that_a_width_nobody_measured_is_not_trusted():
    gate = measure(target(), [2, 5])
    assert gate.exact_width == 2
    assert gate.at(5).equal
    assert gate.at(3).not_run
    assert gate.margin(3) == math.inf


def test_that_widths_measured_one_by_one_are_those_measured_together():
    one = perturbed({4}, lambda logits, width: one_ulp(logits))
    parts = [measure(one, [width]) for width in (5, 2, 4, 3)]
    merged = parts[0]
    for part in parts[1:]:
        merged = merged.merged(part)
    together = measure(one, [2, 3, 4, 5])
    assert merged.widths == together.widths
    assert merged.exact_width == together.exact_width == 3


def test_that_the_worst_of_all_prompts_counts():
    class Long(Target):
        """One ulp off, in the rows of a text of more than 48 tokens only."""

        def forward(self, ids, cache, **options):
            long = cache.length >= 48 and len(ids) == 3
            rows = super().forward(ids, cache, **options)
            return type(rows)(one_ulp(rows.logits), None) if long else rows

    gate = measure(Long(tiny(1), tiny_config()))
    assert [seen.width for seen in gate.widths if not seen.equal] == [3]


def test_that_the_key_changes_with_everything_a_gate_depends_on():
    plain = target()
    half = tiny(1)
    half.update(tree_map(lambda parameter: parameter.astype(mx.float16), half.parameters()))
    keys = {
        key("a", plain, "cpu openblas"),
        key("b", plain, "cpu openblas"),
        key("a", plain, "cpu reference"),
        key("a", target(WINDOW), "cpu openblas"),
        key("a", Target(half, tiny_config()), "cpu openblas"),
    }
    assert len(keys) == 5
    assert key("a", plain, "cpu openblas") == key("a", target(), "cpu openblas")


def test_that_a_gate_with_a_gap_ends_its_exact_width_there():
    gate = Gate(
        (Width(2, True), Width(3, False, 1e-6, 0, "kernels"), Width(4, True)), 1, 1, "float32", (8,)
    )
    assert gate.exact_width == 2
