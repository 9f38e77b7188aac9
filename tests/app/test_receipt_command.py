"""`check --receipt` and `ask --receipt` on a small real model and on a scripted one."""

import json
import time
from dataclasses import replace

import pytest

from app import receipts
from app.__main__ import main
from app.receipt_command import sentence_of
from app.receipts import Receipt, receipt_to_json
from engine.engine import Engine
from support.checked import CheckedEngine
from support.tiny_chat import tiny_chat

QUESTION = ("Say it, say it, say it again.", "--draft", "on", "--max-tokens", "30", "--seed", "3")


@pytest.fixture(scope="module")
def model(tmp_path_factory, starter):
    return tiny_chat(tmp_path_factory.mktemp("model") / "model", starter)


@pytest.fixture(scope="module")
def engine():
    engine = Engine()
    yield engine
    engine.unload()


@pytest.fixture
def run(capsys, engine):
    """Run it in this process: the exit code, the lines of standard output, standard error."""

    def run(*words, engine=engine):
        code = main([str(word) for word in words], make_engine=lambda: engine)
        out, err = capsys.readouterr()
        return code, out.splitlines(), err

    return run


@pytest.fixture
def saved(run, model, tmp_path):
    """The file of a receipt that `ask` has saved, and what it printed."""
    file = tmp_path / "receipt.json"
    code, lines, err = run("ask", "--target", model, "--json", *QUESTION, "--receipt", file)
    assert (code, err) == (0, "")
    return file, [json.loads(line) for line in lines]


def test_that_ask_saves_what_it_found(saved):
    file, events = saved
    finished, told = events[-2:]
    assert told["event"] == "receipt"
    assert (told["verdict"], told["tokens"], told["total"]) == ("same", 30, 30)
    assert told["written"] == finished["origin"]
    receipt = receipts.read(file)
    assert list(receipt.written.token_ids) == finished["token_ids"]
    assert list(receipt.written.prompt_ids) == finished["prompt_ids"]
    assert told["ids_sha256"] == receipt.ids_sha256
    assert finished["accepted"] > 0


def test_that_a_saved_receipt_is_verified_again(saved, run):
    file, _ = saved
    code, lines, err = run("check", "--receipt", file)
    day = time.strftime("%Y-%m-%d")
    assert code == 0
    assert lines[0].startswith(
        f"Same as without drafting: 30 of 30 tokens. Checked on this machine, {day} "
    )
    assert (len(lines), err) == (1, "")
    code, lines, _ = run("check", "--receipt", file, "--json")
    report = json.loads(lines[0])
    assert (code, report["verdict"], report["tokens"]) == (0, "same", 30)
    assert report["written"]["machine"]["mlx"]


def test_that_another_token_in_the_file_is_a_difference(saved, run, engine):
    file, _ = saved
    receipt = receipts.read(file)
    truth = receipt.written.token_ids
    planted = (*truth[:7], (truth[7] + 1) % 49_152, *truth[8:])
    changed = replace(receipt, written=replace(receipt.written, token_ids=planted))
    file.write_text(receipt_to_json(changed))
    code, lines, _ = run("check", "--receipt", file)
    said, other = (
        json.dumps(engine.model.tokenizer.decode([t]), ensure_ascii=False)
        for t in (planted[7], truth[7])
    )
    assert code == 1
    assert lines[0].startswith(f"Differs at token 8. With drafting {said}, without {other}.")
    code, lines, _ = run("check", "--receipt", file, "--json")
    assert (code, json.loads(lines[0])["at"]) == (1, 7)


@pytest.mark.parametrize("what", ["tampered", "nothing", "foreign", "folder"])
def test_that_a_file_that_is_no_receipt_is_refused_in_one_sentence(saved, run, tmp_path, what):
    file, _ = saved
    if what == "tampered":
        file.write_text(file.read_text().replace('"token_ids": [', '"token_ids": [9, '))
    elif what == "foreign":
        file.write_text("{}")
    else:
        file = tmp_path / "nothing" if what == "nothing" else tmp_path
    code, lines, err = run("check", "--receipt", file)
    assert (code, lines) == (1, [])
    assert err.startswith("slipstream check: ")
    assert err.count("\n") == 1
    code, lines, _ = run("check", "--receipt", file, "--json")
    assert (code, json.loads(lines[0])["error"]) == (1, "receipt")


def test_that_a_model_that_moved_is_named_by_its_folder(saved, run, tmp_path, starter):
    file, _ = saved
    receipt = receipts.read(file)
    gone = replace(receipt.written.origin, target=str(tmp_path / "gone"))
    file.write_text(
        receipt_to_json(replace(receipt, written=replace(receipt.written, origin=gone)))
    )
    code, lines, _ = run("check", "--receipt", file)
    assert code == 1
    assert lines[0].startswith("Can't be checked: ")
    code, lines, _ = run("check", "--receipt", file, "--target", receipt.written.origin.target)
    assert (code, lines[0][:4]) == (0, "Same")
    other = tiny_chat(tmp_path / "other", starter, seed=8)
    code, lines, _ = run("check", "--receipt", file, "--target", other)
    assert (code, lines) == (
        1, ["Can't be checked: the model file changed since this was written."],
    )  # fmt: skip


def test_that_ask_says_it_when_the_check_finds_a_difference(run, tmp_path):
    scripted, file = CheckedEngine(tokens=6, differs_at=4), tmp_path / "r.json"
    words = ("ask", "--target", tmp_path, "Why?", "--receipt", file)
    code, lines, err = run(*words, engine=scripted)
    assert (code, lines) == (1, ["word0 word1 word2 word3 word4 word5 "])
    assert 'Differs at token 5. With drafting " however", without " but". Score gap 0.031.' in err
    assert receipts.read(file).at == 4
    code, _, err = run(*words[:-1], tmp_path / "no" / "r.json", engine=CheckedEngine(tokens=6))
    assert code == 1
    assert "is not there" in err


def test_that_ask_says_it_when_there_is_nothing_to_check(run, tmp_path):
    words = ("ask", "--target", tmp_path, "Why?", "--receipt", tmp_path / "r.json")
    code, _, err = run(*words, engine=CheckedEngine(tokens=0))
    assert code == 1
    assert "nothing to check" in err
    assert not (tmp_path / "r.json").exists()


def test_that_a_check_that_is_interrupted_is_no_verdict(run, tmp_path):
    class Interrupted(CheckedEngine):
        def recheck(self, written, choice, controls):
            yield next(super().recheck(written, choice, controls))
            raise KeyboardInterrupt

    class Stopped(CheckedEngine):
        def recheck(self, written, choice, controls):
            controls.stop = True
            return super().recheck(written, choice, controls)

    file = tmp_path / "r.json"
    words = ("ask", "--target", tmp_path, "Why?", "--receipt", file)
    assert run(*words, engine=Stopped(tokens=6))[0] == 130
    assert not file.exists()
    assert run(*words, engine=CheckedEngine(tokens=6))[0] == 0
    code, lines, err = run("check", "--receipt", file, engine=Interrupted())
    assert (code, lines) == (130, [])
    assert "not checked" in err


def test_that_a_receipt_of_an_answer_that_cannot_be_checked_says_why(run, tmp_path):
    file = tmp_path / "r.json"
    cannot = Receipt("cannot", 0, 9, None, "", "", None, "It broke off.", 1.75e9)
    receipts.save(cannot, file)
    code, lines, _ = run("check", "--receipt", file, engine=None)
    assert (code, lines) == (1, ["Can't be checked: it broke off."])


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"at": 387, "gap": 0.0312, "drafted": " however", "plain": " but"},
         'Differs at token 388. With drafting " however", without " but". Score gap 0.031.'),
        ({"at": 912, "drafted": "<|im_end|>", "plain": "\x1b[1m"},
         'Differs at its end, after 912 tokens. With drafting "<|im_end|>", without "\\u001b[1m".'),
        ({"at": 1_200, "total": 2_000, "before": 3_100},
         'Differs at token 1,201. With drafting "", without "".'
         " The 3,100 tokens from before it was continued are not part of it."),
    ],
)  # fmt: skip
def test_that_a_difference_is_told_as_one(changes, sentence):
    usual = Receipt("differs", 0, 912, 0, "", "", None, "", 1.75e9)
    assert sentence_of(replace(usual, **changes)) == sentence
