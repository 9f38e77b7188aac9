"""The `ask` command with a scripted engine, as a process where that matters."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from app.__main__ import main
from engine.request import DrafterOptions
from support.scripted import SlowEngine

ROOT = Path(__file__).parents[2]
PROGRAM = """
import sys
sys.path[:0] = [{tests!r}]
from app.__main__ import main
from support.scripted import SlowEngine
code = main(make_engine=lambda: SlowEngine({engine}))
assert not {{"PySide6", "mlx", "mlx_lm", "numpy"}} & set(sys.modules), "brought too much"
sys.exit(code)
"""


@pytest.fixture
def model(tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    return str(folder)


@pytest.fixture
def ask(capsys, model):
    """Ask in this process: the exit code, the events, what was complained, the request."""

    def run(*words, engine=None):
        engine = engine or SlowEngine()
        code = main(["ask", "--target", model, "--json", *words], make_engine=lambda: engine)
        out, err = capsys.readouterr()
        return code, [json.loads(line) for line in out.splitlines()], err, engine.requests

    return run


def process(engine, *words, **options):
    code = PROGRAM.format(tests=str(ROOT / "tests"), engine=engine)
    return subprocess.Popen(
        [sys.executable, "-c", code, "ask", *words],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options,
    )  # fmt: skip


def test_that_every_event_is_one_line_and_the_last_is_finished(ask):
    code, events, err, _ = ask("Hello")
    assert code == 0
    assert err == ""
    kinds = {event["event"] for event in events}
    assert kinds == {
        "load_progress",
        "loaded",
        "prompt_progress",
        "round",
        "text_delta",
        "finished",
    }
    assert events[-1]["event"] == "finished"
    wanted = {
        "reason", "prompt_ids", "token_ids", "text", "rounds",
        "proposed", "accepted", "tokens_per_s", "drafting",
    }  # fmt: skip
    assert wanted <= events[-1].keys()
    rounds = [event for event in events if event["event"] == "round"]
    assert {"mode", "proposed_ids", "committed_ids"} <= rounds[0].keys()
    assert [token for r in rounds for token in r["committed_ids"]] == events[-1]["token_ids"]
    text = "".join(event["text"] for event in events if event["event"] == "text_delta")
    assert text == events[-1]["text"]


def test_that_options_reach_the_engine(ask):
    _, _, _, [request] = ask(
        "Hello", "--system", "Be short.", "--draft", "on", "--copies", "off", "--max-drafts", "9", "--seed", "7",
        "--temperature", "0.5", "--top-p", "0.8", "--top-k", "40", "--min-p", "0.1",
        "--repetition-penalty", "1.1", "--presence-penalty", "0.2", "--frequency-penalty", "0.3",
        "--max-tokens", "12", "--stop", "END", "--stop", "\n\n",
    )  # fmt: skip
    assert [(turn.role, turn.text) for turn in request.turns] == [
        ("system", "Be short."),
        ("user", "Hello"),
    ]
    assert (request.drafting.wish, request.drafting.copies) == ("on", False)
    assert request.drafting.max_drafts == 9
    sampling = request.sampling
    assert (sampling.seed, sampling.temperature, sampling.top_p) == (7, 0.5, 0.8)
    assert (sampling.top_k, sampling.min_p, sampling.repetition_penalty) == (40, 0.1, 1.1)
    assert (sampling.presence_penalty, sampling.frequency_penalty) == (0.2, 0.3)
    assert request.max_tokens == 12
    assert request.stop == ("END", "\n\n")


def test_that_a_drafter_is_run_as_asked_and_options_without_one_are_refused(ask, model):
    options = ("--drafter-bits", "8", "--drafter-confidence", "0.5")
    _, _, _, [request] = ask("Hello", "--drafter", model, *options)
    assert request.model.options == DrafterOptions(8, 0.5)
    for words in (options[:2], options[2:]):
        code, [event], _, requests = ask("Hello", *words)
        assert (code, requests) == (1, [])
        assert "--drafter-bits" in event["message"]
        assert "--drafter" in event["action"]


def test_that_a_seed_nobody_chose_differs_from_run_to_run(ask):
    engine = SlowEngine()
    for _ in range(4):
        ask("Hello", engine=engine)
    assert len({request.sampling.seed for request in engine.requests}) > 1


@pytest.mark.parametrize(
    "words",
    [
        [],
        [""],
        ["  \n"],
        ["Hello", "again"],
        ["Hello", "--draft", "maybe"],
        ["Hello", "--temperature", "nan"],
        ["Hello", "--temperature", "-1"],
        ["Hello", "--top-p", "0"],
        ["Hello", "--top-p", "1.5"],
        ["Hello", "--seed", "-1"],
        ["Hello", "--seed", str(2**64)],
        ["Hello", "--max-tokens", "0"],
        ["Hello", "--max-drafts", "0"],
        ["Hello", "--max-drafts", "512"],
        ["Hello", "--drafter-bits", "8.5"],
        ["Hello", "--drafter-confidence", "1.01"],
        ["Hello", "--max-tok", "5"],
        ["Hello", "--unknown"],
    ],
)
def test_that_misuse_is_one_line_and_asks_nothing(ask, words):
    code, events, err, requests = ask(*words)
    assert code == 2
    assert events == []
    assert requests == []
    assert err.startswith("slipstream")
    assert err.count("\n") == 1


def test_that_an_unknown_command_names_the_known_ones(capsys):
    assert main(["chat"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert all(name in err for name in ("ask", "bench", "check", "doctor"))


def test_that_a_refusal_is_an_event_and_a_failure(ask):
    code, events, _, _ = ask("Hello", engine=SlowEngine(refuse=True))
    assert code == 1
    assert events == [
        {"event": "failed", "code": "no_weights", "message": "There are no weights.",
         "safe": "All is saved.", "action": "Choose another"},
    ]  # fmt: skip


def test_that_a_reply_that_fails_on_the_way_ends_with_failed(ask):
    code, events, _, _ = ask("Hello", engine=SlowEngine(fail_at=3))
    assert code == 1
    assert events[-1]["event"] == "failed"


def test_that_a_folder_that_is_not_there_is_named(capsys, tmp_path):
    missing = tmp_path / "nowhere"
    assert main(["ask", "Hello", "--target", str(missing)], make_engine=SlowEngine) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert str(missing) in err
    assert err.count("\n") == 1


def test_that_without_json_only_the_answer_is_on_standard_output(capsys, model):
    engine = SlowEngine(tokens=4, thinking=1)
    assert main(["ask", "--target", model, "Hello"], make_engine=lambda: engine) == 0
    out, err = capsys.readouterr()
    assert out == "word1 word2 word3 \n"
    assert err == ""


def test_that_a_dash_reads_the_question_from_standard_input(model):
    child = process("tokens=2", "-", "--json", "--target", model, stdin=subprocess.PIPE)
    out, err = child.communicate("Grüße, two\nlines".encode())
    assert (child.returncode, err) == (0, b"")
    assert json.loads(out.splitlines()[-1])["event"] == "finished"


@pytest.mark.parametrize("question", [b"", b"\xff\xfe"])
def test_that_standard_input_without_a_question_is_misuse(model, question):
    child = process("", "-", "--target", model, stdin=subprocess.PIPE)
    out, err = child.communicate(question)
    assert (child.returncode, out) == (2, b"")
    assert err.count(b"\n") == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_that_an_interrupt_stops_the_reply_and_still_finishes(model, number):
    child = process("ms=5, tokens=100000", "Hello", "--json", "--target", model)
    lines = [json.loads(child.stdout.readline())]
    while lines[-1]["event"] != "text_delta":
        lines.append(json.loads(child.stdout.readline()))
    child.send_signal(number)
    lines += [json.loads(line) for line in child.stdout]
    assert child.stderr.read() == b""
    child.stdout.close()
    child.stderr.close()
    assert child.wait() == 130
    assert (lines[-1]["event"], lines[-1]["reason"]) == ("finished", "cancelled")
    text = "".join(line["text"] for line in lines if line["event"] == "text_delta")
    assert lines[-1]["text"] == text


@pytest.mark.parametrize("json_", [[], ["--json"]])
def test_that_a_reader_who_leaves_ends_the_reply_in_silence(model, json_):
    child = process("ms=1, tokens=1000000", "Hello", "--target", model, *json_)
    child.stdout.read(1)
    child.stdout.close()
    assert child.stderr.read() == b""
    child.stderr.close()
    assert child.wait() == 1


def test_that_missing_streams_do_not_stop_a_reply(model):
    code = PROGRAM.format(tests=str(ROOT / "tests"), engine="")
    code = code.replace("code = main", "sys.stdin = sys.stdout = sys.stderr = None\ncode = main")
    child = subprocess.run(
        [sys.executable, "-c", code, "ask", "Hello", "--target", model],
        cwd=ROOT, env=os.environ, capture_output=True, check=False,
    )  # fmt: skip
    assert (child.returncode, child.stdout, child.stderr) == (0, b"", b"")
