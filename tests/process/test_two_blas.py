"""Both situations that a Mac may be in, for real: with one BLAS wide passes are exact here, with
the other they are not. Each runs in a process of its own, for MLX takes its BLAS when it is loaded.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from engine.backend import prepare
from support.cut_starter import cut_starter
from support.tiny_chat import tiny_chat

ROOT = Path(__file__).parents[2]
pytestmark = [
    pytest.mark.skipif(prepare().blas != "openblas", reason="there are not two BLAS libraries"),
    pytest.mark.timeout(600),
]


@pytest.fixture(scope="module")
def cut(starter, tmp_path_factory):
    return cut_starter(tmp_path_factory.mktemp("cut") / "starter", starter)


@pytest.fixture(scope="module")
def chat(starter, tmp_path_factory):
    return tiny_chat(tmp_path_factory.mktemp("chat") / "tiny", starter)


def check(blas, model, *words):
    run = subprocess.run(
        [sys.executable, "-m", "app", "check", "--json", "--target", str(model), *words],
        cwd=ROOT, env=os.environ | {"SLIPSTREAM_BLAS": blas},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def assert_rounded(report):
    """Every pass of 4 rows or more is a little off, as the kernels of OpenBLAS make it."""
    # Fewer rows are equal or not, depending on the processor and the shapes.
    assert report["exact_width"] <= 3
    wide = [seen for seen in report["widths"] if seen["width"] >= 4]
    assert not any(seen["equal"] for seen in wide)
    assert all(1e-7 < seen["max_difference"] < 1e-3 for seen in wide)
    assert {seen["suspect"] for seen in wide} == {"kernels"}
    assert {seen["first_row"] for seen in wide} == {0}
    assert report["fault"] is None
    assert report["margin"] == pytest.approx(4 * wide[-1]["max_difference"])


def assert_exact(report):
    assert report["exact_width"] == 8
    assert [seen["equal"] for seen in report["widths"]] == [True] * 7
    assert {seen["max_difference"] for seen in report["widths"]} == {0}
    assert {seen["first_row"] for seen in report["widths"]} == {None}


def test_that_real_weights_are_exact_with_one_blas_and_nearly_so_with_the_other(cut):
    reference, fast = check("reference", cut), check("openblas", cut)
    assert reference["key"] != fast["key"]
    assert reference["prompts"] == fast["prompts"] == [8, 48]
    assert_exact(reference)
    assert_rounded(fast)


def test_that_exact_mode_drafts_where_passes_are_exact(chat):
    words = ["--replies", "2", "--temperatures", "0,1", "--max-tokens", "40"]
    report = check("reference", chat, *words, "--modes", "exact,guarded")
    assert report["exact_width"] == 8
    assert report["all_equal"]
    for mode in report["modes"]:
        assert (mode["replies"], mode["equal"]) == (4, 4)
        assert mode["drafted"] > 0
        assert mode["accepted"] > 10
        assert mode["rechecked"] == 0


@pytest.mark.slow
def test_that_the_starter_is_exact_with_one_blas_and_nearly_so_with_the_other(starter):
    assert_exact(check("reference", starter))
    assert_rounded(check("openblas", starter))


@pytest.mark.slow
def test_that_the_starter_drafts_in_exact_mode_where_passes_are_exact(starter):
    words = ["--replies", "1", "--temperatures", "0", "--max-tokens", "24", "--modes", "exact"]
    report = check("reference", starter, *words)
    [exact] = report["modes"]
    assert (exact["replies"], exact["equal"]) == (1, 1)
    assert exact["drafted"] > 0
