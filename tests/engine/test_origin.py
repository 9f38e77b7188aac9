"""How rows came into a cache, written down short; every right value is counted by hand."""

from dataclasses import replace

import pytest

from engine.origin import Machine, change, grown, shortened, steps

MACHINE = Machine("0.1", "0.31", "0.30", "metal accelerate", "Apple M4", "macOS 26.1")


def test_that_equal_passes_are_counted_together():
    passes = grown(grown((), 512, 512), 512, 512)
    assert passes == ((1024, 512),)
    assert grown(passes, 100, 100) == ((1024, 512), (100, 100))
    assert grown(passes, 0, 7) == passes
    assert list(steps(((1024, 512), (3, 1)))) == [(512, 512)] * 2 + [(1, 1)] * 3


def test_that_a_cut_pass_is_kept_as_wide_as_it_was():
    assert shortened(((1024, 512), (100, 100)), 700) == ((700, 512),)
    assert list(steps(((700, 512),))) == [(512, 512), (512, 188)]
    # What comes after the cut is not a part of the pass that was cut.
    assert grown(((700, 512),), 512, 512) == ((700, 512), (512, 512))
    assert grown(((1024, 512),), 512, 512) == ((1536, 512),)


def test_that_rows_past_the_prompt_came_one_by_one():
    assert shortened(((40, 40),), 43) == ((40, 40), (3, 1))
    assert shortened(((40, 40), (2, 1)), 43) == ((40, 40), (3, 1))
    assert shortened((), 5) == ((5, 1),)
    assert shortened(((40, 40), (5, 1)), 0) == ()
    assert shortened(((40, 40), (5, 1)), 40) == ((40, 40),)


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"mlx": "0.32"}, "MLX was 0.31 when this was written; it is 0.32 now."),
        ({"program": "0.2"}, "Slipstream was 0.1 when this was written; it is 0.2 now."),
        ({"chip": "Apple M5"}, "The chip was Apple M4 when this was written; it is Apple M5 now."),
        ({}, ""),
    ],
)
def test_that_the_first_change_is_said(changed, sentence):
    assert change(MACHINE, replace(MACHINE, **changed)) == sentence
