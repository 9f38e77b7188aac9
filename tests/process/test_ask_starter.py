"""`slipstream ask` as a person runs it: a process, the starter, a reply."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
QUESTION = "What is the capital of France?"
COPYING = "Repeat the text between the lines word for word and then stop.\n---\nThe rain falls on the hills and flows down to the sea.\n---"


def start(*words):
    return subprocess.Popen(
        [sys.executable, "-m", "app", "ask", "--json", *words],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ask(*words):
    child = start(*words)
    out, err = child.communicate()
    assert (child.returncode, err) == (0, "")
    events = [json.loads(line) for line in out.splitlines()]
    assert events[-1]["event"] == "finished"
    return events


@pytest.fixture(scope="module")
def greedy(starter):
    """The same question, greedy, with drafting on and off."""
    return {
        wish: ask(QUESTION, "--temperature", "0", "--max-tokens", "48", "--draft", wish)
        for wish in ("on", "off")
    }


def test_that_the_starter_knows_paris_with_drafting_and_without(greedy):
    for events in greedy.values():
        assert "Paris" in events[-1]["text"]
    assert greedy["on"][-1]["token_ids"] == greedy["off"][-1]["token_ids"]
    assert greedy["on"][-1]["prompt_ids"] == greedy["off"][-1]["prompt_ids"]


def test_that_the_events_of_a_reply_add_up(greedy):
    for events in greedy.values():
        last = events[-1]
        rounds = [event for event in events if event["event"] == "round"]
        deltas = [event for event in events if event["event"] == "text_delta"]
        assert "".join(delta["text"] for delta in deltas) == last["text"]
        assert len(rounds) == last["rounds"]
        assert sum(len(r["proposed_ids"]) for r in rounds) == last["proposed"]
        assert sum(r["accepted"] for r in rounds) == last["accepted"]
        committed = [token for r in rounds for token in r["committed_ids"]]
        assert committed[: len(last["token_ids"])] == last["token_ids"]


def test_that_off_means_that_nothing_is_proposed(greedy):
    last = greedy["off"][-1]
    assert (last["proposed"], last["drafting"]) == (0, "off")
    assert {e["mode"] for e in greedy["off"] if e["event"] == "round"} == {"plain"}


def test_that_copies_are_proposed_and_change_no_token(starter):
    words = (COPYING, "--seed", "5", "--temperature", "0.5", "--max-tokens", "32")
    drafted = ask(*words, "--draft", "on")[-1]
    plain = ask(*words, "--draft", "off")[-1]
    without = ask(*words, "--draft", "on", "--copies", "off")[-1]
    assert drafted["accepted"] > 0
    assert without["proposed"] == 0
    assert drafted["token_ids"] == plain["token_ids"] == without["token_ids"]
    assert drafted["seed"] == 5


def test_that_an_interrupt_still_prints_the_end_of_a_real_reply(starter):
    child = start("Write a long story about a river.", "--max-tokens", "4000")
    lines = []
    for line in child.stdout:
        lines.append(json.loads(line))
        if lines[-1]["event"] == "text_delta":
            child.send_signal(signal.SIGINT)
            break
    lines += [json.loads(line) for line in child.stdout]
    err = child.stderr.read()
    child.stdout.close()
    child.stderr.close()
    assert (child.wait(), err) == (130, "")
    assert (lines[-1]["event"], lines[-1]["reason"]) == ("finished", "cancelled")


def test_that_a_stop_string_ends_the_reply_before_it(starter):
    last = ask(QUESTION, "--temperature", "0", "--stop", "Paris")[-1]
    assert last["reason"] == "stop"
    assert "Paris" not in last["text"]
    assert last["text"]
