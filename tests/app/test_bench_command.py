"""The `bench` command with a scripted engine."""

import json

import pytest

from app.__main__ import main
from engine.events import Finished
from support.scripted import SlowEngine


class Wavering(SlowEngine):
    """Says something else when it drafts."""

    def reply(self, request, controls):
        for event in super().reply(request, controls):
            if isinstance(event, Finished) and request.drafting.wish != "off":
                event = Finished("stop", (), (1,), "", 1, 0, 0, None, "on")
            yield event


@pytest.fixture
def bench(capsys, tmp_path):
    """Run it in this process: the exit code and what it printed."""

    def run(engine, *words):
        words = ["bench", "--target", str(tmp_path), *words]
        code = main(words, make_engine=lambda: engine)
        return code, *capsys.readouterr()

    return run


def test_that_the_report_has_the_whole_and_every_panel(bench):
    code, out, err = bench(SlowEngine(), "--json", "--repeats", "2", "--second-turn")
    assert (code, err) == (0, "")
    report = json.loads(out)
    for part in ("ratio", "plain", "drafted"):
        assert report[part]["min"] <= report[part]["median"] <= report[part]["max"]
    assert [panel["name"] for panel in report["panels"]] == [
        "copy", "copy-heavy", "code-twice", "prose",
    ]  # fmt: skip
    assert all(panel["same_tokens"] for panel in report["panels"])
    assert report["second_turn"]["ratio"]["n"] == 2
    assert {"verdict", "load", "backend", "blas"} <= report.keys()


def test_that_guarded_is_told_against_fast(bench):
    code, out, _ = bench(SlowEngine(), "--repeats", "2", "--panel", "copy", "--modes", "--json")
    assert code == 0
    greedy, sampled = json.loads(out)["modes"]
    assert (greedy["name"], sampled["name"]) == ("greedy", "sampled")
    assert greedy["ratio"]["n"] == greedy["guarded"]["n"] == greedy["fast"]["n"] == 8
    assert greedy["same_tokens"] is True
    _, out, _ = bench(SlowEngine(), "--repeats", "1", "--panel", "copy", "--modes")
    assert "Guarded over Fast, greedy: " in out
    assert "Guarded over Fast, sampled: " in out
    assert "0 of 28 rounds re-checked" in out  # ten tokens in seven rounds, by the script


def test_that_only_the_panels_asked_for_are_measured(bench):
    engine = SlowEngine()
    _, out, _ = bench(engine, "--json", "--repeats", "1", "--panel", "copy", "--max-tokens", "9")
    assert [panel["name"] for panel in json.loads(out)["panels"]] == ["copy"]
    assert {request.max_tokens for request in engine.requests[2:]} == {9}


def test_that_other_tokens_are_a_failure_and_say_so(bench):
    code, out, _ = bench(Wavering(), "--repeats", "1", "--panel", "copy")
    assert code == 1
    assert "NO" in out.splitlines()[1]


def test_that_a_reply_that_fails_is_one_sentence(bench):
    code, out, err = bench(SlowEngine(fail_at=2), "--repeats", "1")
    assert (code, out) == (1, "")
    assert (
        err == "slipstream bench: The script fails here. Everything up to here is saved. Continue\n"
    )


def test_that_an_unknown_panel_is_misuse(bench):
    engine = SlowEngine()
    code, out, err = bench(engine, "--panel", "poems")
    assert (code, out, engine.requests) == (2, "", [])
    assert err.count("\n") == 1
