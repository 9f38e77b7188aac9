"""Whole replies of the starter, held against uncached decoding and against fresh engines."""

import gc

import mlx.core as mx
import pytest

from engine.controls import Controls
from engine.engine import Engine
from engine.events import (
    DraftingState,
    Failed,
    Finished,
    Loaded,
    PromptProgress,
    Round,
    TextDelta,
)
from engine.request import Drafting, ModelChoice, Request, Sampling, Turn

OFF, ON = Drafting(wish="off"), Drafting(wish="on")
LIST = "Repeat this list: apples, pears, plums, apples, pears, plums, apples, pears, plums."


@pytest.fixture(scope="module")
def engine():
    engine = Engine()
    yield engine
    engine.unload()


def request(starter, *texts, **fields):
    roles = ("user", "assistant")
    turns = tuple(Turn(roles[i % 2], text) for i, text in enumerate(texts))
    return Request(ModelChoice(starter), turns, **{"max_tokens": 24, **fields})


def answer(engine, request, controls=None):
    events = list(engine.reply(request, controls or Controls()))
    assert sum(isinstance(e, Finished | Failed) for e in events) == 1
    return events


def uncached(engine, prompt_ids, count):
    model, tokens = engine.model.target.model, list(prompt_ids)
    for _ in range(count):
        tokens.append(int(mx.argmax(model(mx.array([tokens]))[0, -1]).item()))
    return tuple(tokens[len(prompt_ids) :])


def test_that_the_capital_of_france_is_paris_with_and_without_drafts(engine, starter):
    question = "What is the capital of France?"
    plain = answer(engine, request(starter, question, drafting=OFF))[-1]
    drafted = answer(engine, request(starter, question, drafting=ON))[-1]
    assert "Paris" in plain.text
    assert plain.reason == "stop"
    assert plain.token_ids == drafted.token_ids
    assert plain.token_ids == uncached(engine, plain.prompt_ids, len(plain.token_ids))
    assert (plain.drafting, drafted.drafting) == ("off", "on")


def test_that_copies_are_accepted_and_change_no_word(engine, starter):
    plain = answer(engine, request(starter, LIST, drafting=OFF))[-1]
    events = answer(engine, request(starter, LIST, drafting=ON))
    drafted = events[-1]
    assert drafted.token_ids == plain.token_ids
    assert drafted.accepted > 0
    assert drafted.rounds < plain.rounds
    rounds = [e for e in events if isinstance(e, Round)]
    assert {r.mode for r in rounds} == {"plain", "copy"}
    assert tuple(i for r in rounds for i in r.committed_ids) == drafted.token_ids
    assert [r.index for r in rounds] == list(range(drafted.rounds))
    assert sum(len(r.proposed_ids) for r in rounds) == drafted.proposed
    assert sum(r.accepted for r in rounds) == drafted.accepted
    deltas = [e for e in events if isinstance(e, TextDelta)]
    assert "".join(d.text for d in deltas) == drafted.text
    assert [d.first_token for d in deltas] == sorted(d.first_token for d in deltas)
    assert deltas[-1].last_token == len(drafted.token_ids) - 1


def test_that_sampled_replies_are_the_same_words_with_and_without_drafts(engine, starter):
    sampling = Sampling(temperature=0.9, top_p=0.9, seed=4)
    plain = answer(engine, request(starter, LIST, sampling=sampling, drafting=OFF))[-1]
    drafted = answer(engine, request(starter, LIST, sampling=sampling, drafting=ON))[-1]
    other = answer(
        engine, request(starter, LIST, sampling=Sampling(0.9, 0.9, seed=5), drafting=OFF)
    )[-1]
    assert plain.token_ids == drafted.token_ids
    assert plain.token_ids != other.token_ids


def test_that_a_second_turn_equals_a_fresh_start(engine, starter):
    first = answer(engine, request(starter, "Name two fruits.", conversation="a"))[-1]
    texts = ("Name two fruits.", first.text, "And two more?")
    events = answer(engine, request(starter, *texts, conversation="a"))
    warm = events[-1]
    cold = answer(engine, request(starter, *texts, conversation="b", drafting=OFF))[-1]
    assert warm.prompt_ids == cold.prompt_ids
    assert warm.token_ids == cold.token_ids
    assert cold.reused == 0
    assert warm.reused >= len(first.prompt_ids) + len(first.token_ids) - 1
    progress = [e for e in events if isinstance(e, PromptProgress)]
    assert progress[0].done == progress[0].reused == warm.reused
    edited = answer(engine, request(starter, "Name two animals.", conversation="a"))[-1]
    anew = answer(engine, request(starter, "Name two animals."))[-1]
    assert edited.token_ids == anew.token_ids
    assert 0 < edited.reused < len(edited.prompt_ids)


def test_that_a_stop_string_ends_the_reply_before_it(engine, starter):
    question = "What is the capital of France?"
    for drafting in (OFF, ON):
        events = answer(
            engine,
            request(starter, question, stop=(" Paris",), drafting=drafting, conversation="s"),
        )
        done = events[-1]
        assert (done.text, done.reason) == ("The capital of France is", "stop")
    again = answer(engine, request(starter, question, conversation="s"))[-1]
    assert "Paris" in again.text


def test_that_the_token_limit_ends_the_reply(engine, starter):
    done = answer(engine, request(starter, LIST, max_tokens=5, drafting=ON))[-1]
    assert (len(done.token_ids), done.reason) == (5, "length")


def test_that_stop_keeps_the_text_and_the_next_turn_is_right(engine, starter):
    controls, events = Controls(), []
    asked = request(starter, "Tell me a long story.", conversation="c", max_tokens=200)
    for event in engine.reply(asked, controls):
        events.append(event)
        controls.stop = sum(isinstance(e, Round) for e in events) >= 6
    stopped = events[-1]
    assert stopped.reason == "cancelled"
    assert 6 <= len(stopped.token_ids) <= 7
    texts = ("Tell me a long story.", stopped.text, "Go on.")
    warm = answer(engine, request(starter, *texts, conversation="c", max_tokens=8))[-1]
    cold = answer(engine, request(starter, *texts, max_tokens=8))[-1]
    assert warm.token_ids == cold.token_ids


def test_that_stop_before_the_first_token_writes_nothing(engine, starter):
    # Case O-22: the prompt is longer than one chunk, and Stop comes while it is read.
    controls, events = Controls(), []
    asked = request(starter, "word " * 1500, conversation="d")
    for event in engine.reply(asked, controls):
        events.append(event)
        controls.stop = isinstance(event, PromptProgress)
    assert (events[-1].reason, events[-1].token_ids) == ("cancelled", ())
    warm = answer(engine, request(starter, "hi", conversation="d", max_tokens=8))[-1]
    cold = answer(engine, request(starter, "hi", max_tokens=8))[-1]
    assert warm.token_ids == cold.token_ids


def test_that_the_switch_works_in_the_middle_of_an_answer(engine, starter):
    plain = answer(engine, request(starter, LIST, drafting=OFF, max_tokens=40))[-1]
    controls, events = Controls(), []
    for event in engine.reply(request(starter, LIST, drafting=ON, max_tokens=40), controls):
        events.append(event)
        rounds = [e for e in events if isinstance(e, Round)]
        if isinstance(event, Round) and event.mode == "copy" and controls.drafting is None:
            controls.drafting = False
            switched_at = len(rounds)
    assert all(r.mode == "plain" for r in rounds[switched_at:])
    states = [e.state for e in events if isinstance(e, DraftingState)]
    assert states == ["off"]
    assert events[-1].token_ids == plain.token_ids
    assert events[-1].drafting == "off"


def test_that_stop_while_loading_writes_nothing_and_holds_no_memory(engine, starter):
    # Case O-22, while the model is loading.
    engine.unload()
    gc.collect()
    controls, events = Controls(), []
    for event in engine.reply(request(starter, "hi"), controls):
        events.append(event)
        controls.stop = True
    assert (events[-1].reason, events[-1].token_ids) == ("cancelled", ())
    assert engine.loaded is None
    engine.unload()
    assert engine.memory().active < 1e6
    assert answer(engine, request(starter, "hi", max_tokens=2))[-1].reason == "length"


def test_that_a_conversation_too_long_is_refused_with_its_numbers(engine, starter):
    failed = answer(engine, request(starter, "word " * 8300))[-1]
    assert isinstance(failed, Failed)
    assert failed.code == "context_full"
    assert "8,192" in failed.message


def test_that_a_refused_model_leaves_the_loaded_one(engine, starter, tmp_path):
    answer(engine, request(starter, "hi", max_tokens=2))
    before = mx.get_active_memory()
    failed = list(engine.load(ModelChoice(tmp_path), Controls()))[-1]
    assert isinstance(failed, Failed)
    assert engine.loaded == ModelChoice(starter)
    assert abs(mx.get_active_memory() - before) < 20e6
    events = answer(engine, request(starter, "hi", max_tokens=2))
    assert not any(isinstance(e, Loaded) for e in events)


def test_that_unloading_gives_the_memory_back(engine, starter):
    # Case O-24. The last test of this file: no other model is loaded in this process.
    answer(engine, request(starter, "hi", max_tokens=4, conversation="x"))
    engine.unload()
    gc.collect()
    engine.unload()
    memory = engine.memory()
    assert memory.active < 1e6
    assert memory.cache < 1e6
