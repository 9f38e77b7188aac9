"""`check --replies` in this process, with a small model that can be chatted with."""

import json

import pytest

from app.__main__ import main
from engine.agreement import Agreement, Counts, Difference
from engine.engine import Engine
from support.tiny_chat import tiny_chat

DIFFERENCE = Difference(1, 0.7, 12, 345, None, 0.0023)
SEEN = Agreement(
    5,
    6,
    (
        Counts("guarded", 3, 3, 384, 200, 50, 4, 160, 120),
        Counts("fast", 2, 1, 256, 100, 40, 0, 90, 80, DIFFERENCE),
    ),
    3,
)


@pytest.fixture(scope="module")
def folder(starter, tmp_path_factory):
    return str(tiny_chat(tmp_path_factory.mktemp("chat") / "tiny", starter))


@pytest.fixture
def check(capsys, folder):
    """Run it: the exit code and both outputs."""

    def run(*words, engine=None):
        made = engine or Engine()
        code = main(["check", "--target", folder, *words], make_engine=lambda: made)
        made.unload()
        return code, *capsys.readouterr()

    return run


def seeing(monkeypatch, *seen, error=None):
    """Have the comparison see this."""

    def compare(engine, model, plan):
        yield from seen
        if error is not None:
            raise error

    monkeypatch.setattr("engine.agreement.compare", compare)


def test_that_the_report_counts_every_mode(check):
    words = ["--replies", "2", "--temperatures", "0,1", "--modes", "exact, fast", "--json"]
    code, out, err = check(*words, "--max-tokens", "20")
    assert (code, err) == (0, "")
    report = json.loads(out)
    assert (report["done"], report["total"]) == (12, 12)
    assert report["temperatures"] == [0, 1]
    assert report["all_equal"] is True
    assert [mode["mode"] for mode in report["modes"]] == ["exact", "fast"]
    assert all(mode["replies"] == mode["equal"] == 4 for mode in report["modes"])
    assert all(mode["tokens"] == 80 and mode["first"] is None for mode in report["modes"])
    assert report["modes"][1]["drafted"] > 0
    assert report["modes"][1]["recheck_share"] == 0
    assert 0 < report["modes"][1]["acceptance"] <= 1
    assert report["exact_width"] >= 1


def test_that_a_difference_is_told_with_its_place_tokens_and_gap(check, monkeypatch):
    seeing(monkeypatch, SEEN)
    code, out, _ = check("--replies", "1")
    assert code == 0  # Fast promises nothing
    assert "guarded: 3 of 3 replies equal plain decoding, 384 tokens\n" in out
    assert "200 rounds, 50 drafted, 4 re-checked (2.00 %); 120 of 160 guesses right\n" in out
    assert "prompt 1, temperature 0.7, token 12: the end instead of token 345, gap 0.0023" in out
    report = json.loads(check("--replies", "1", "--json")[1])
    assert report["all_equal"] is False
    assert report["modes"][1]["first"] == {
        "prompt": 1, "temperature": 0.7, "at": 12,
        "plain_id": 345, "drafted_id": None, "gap": 0.0023,
    }  # fmt: skip


def test_that_a_difference_where_none_may_be_is_a_failure(check, monkeypatch):
    seeing(monkeypatch, Agreement(2, 2, (Counts("guarded", 1, 0, 8, first=DIFFERENCE),)))
    assert check("--replies", "1")[0] == 1


def test_that_an_interruption_reports_what_there_is(check, monkeypatch):
    seeing(monkeypatch, SEEN, error=KeyboardInterrupt())
    code, out, err = check("--replies", "1")
    assert code == 130
    assert "3 of 3 replies" in out
    assert out.endswith("Only 5 of 6 replies were written.\n")
    assert err == "slipstream check: interrupted.\n"
    seeing(monkeypatch, error=KeyboardInterrupt())
    assert check("--replies", "1")[:2] == (130, "")


def test_that_a_model_that_cannot_be_used_is_one_sentence(capsys, tmp_path):
    assert main(["check", "--target", str(tmp_path), "--replies", "1"], make_engine=Engine) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("slipstream check: ")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    "words", [["--replies", "0"], ["--modes", "quick"], ["--temperatures", "0;1"]]
)
def test_that_what_makes_no_sense_is_misuse(check, words):
    assert check(*words)[0] == 2
