"""A paired drafter in whole replies: the starter with random DSpark and z-lab drafters."""

from itertools import groupby

import pytest

from engine.controls import Controls
from engine.engine import Engine
from engine.events import DraftingState, Loaded, Round
from engine.request import Drafting, ModelChoice, Request, Sampling, Turn
from support.drafters import write_drafter
from support.tiny_dspark import DEEPSPEC, ZLAB, random_weights

_SIZES = {
    "hidden_size": 576,
    "num_attention_heads": 9,
    "num_key_value_heads": 3,
    "head_dim": 64,
    "vocab_size": 49152,
    "num_target_layers": 30,
}
_TAPS = {"mask_token_id": 16, "target_layer_ids": [1, 15, 28]}
CONFIGS = {"dspark": DEEPSPEC | _SIZES | _TAPS, "z-lab": ZLAB | _SIZES | {"dflash_config": _TAPS}}


@pytest.fixture(scope="module", params=CONFIGS)
def drafter(request, tmp_path_factory):
    config = CONFIGS[request.param]
    folder = tmp_path_factory.mktemp(request.param)
    return write_drafter(folder, config, random_weights(config, scale=0.02))


@pytest.fixture(scope="module")
def engine():
    engine = Engine()
    yield engine
    engine.unload()


def answer(engine, choice, *texts, controls=None, **fields):
    roles = ("user", "assistant")
    turns = tuple(Turn(roles[i % 2], text) for i, text in enumerate(texts))
    request = Request(choice, turns, **{"max_tokens": 12, **fields})
    return list(engine.reply(request, controls or Controls()))


@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_that_a_paired_drafter_changes_no_word(engine, starter, drafter, temperature):
    sampling = Sampling(temperature=temperature, seed=2)
    pair = ModelChoice(starter, drafter)
    plain = answer(engine, pair, "Name a bird.", sampling=sampling, drafting=Drafting("off"))[-1]
    on = Drafting("on", copies=False)
    events = answer(engine, pair, "Name a bird.", sampling=sampling, drafting=on, conversation="a")
    drafted = events[-1]
    assert drafted.token_ids == plain.token_ids
    rounds = [e for e in events if isinstance(e, Round)]
    assert "drafter" in {r.mode for r in rounds}
    assert max(len(r.proposed_ids) for r in rounds) <= 4
    assert drafted.proposed > 0
    texts = ("Name a bird.", drafted.text, "Another?")
    warm = answer(engine, pair, *texts, sampling=sampling, drafting=on, conversation="a")[-1]
    cold = answer(engine, pair, *texts, sampling=sampling, drafting=Drafting("off"))[-1]
    assert warm.reused > 0
    assert warm.token_ids == cold.token_ids


def test_that_the_load_reports_the_drafter_and_its_bytes(engine, starter, drafter):
    engine.unload()
    events = answer(engine, ModelChoice(starter, drafter), "hi", max_tokens=2)
    [loaded] = [e for e in events if isinstance(e, Loaded)]
    assert loaded.drafter == drafter.name
    assert loaded.drafting_refused == ""
    assert loaded.drafter_bytes > 1e6


def test_that_a_refused_drafter_costs_the_drafts_and_not_the_chat(engine, starter):
    events = answer(engine, ModelChoice(starter, starter), "What is the capital of France?")
    [loaded] = [e for e in events if isinstance(e, Loaded)]
    assert loaded.drafter is None
    assert starter.name in loaded.drafting_refused
    assert "Paris" in events[-1].text


def test_that_switching_off_and_on_in_the_middle_changes_no_word(engine, starter, drafter):
    pair = ModelChoice(starter, drafter)
    plain = answer(engine, pair, "Count to ten.", max_tokens=24, drafting=Drafting("off"))[-1]
    controls, events = Controls(), []
    turns = (Turn("user", "Count to ten."),)
    on = Drafting("on", copies=False)
    for event in engine.reply(Request(pair, turns, max_tokens=24, drafting=on), controls):
        events.append(event)
        written = sum(isinstance(e, Round) for e in events)
        controls.drafting = not 6 <= written < 14
    # A busy machine may find plain decoding faster, and say once that it drafts on all the same.
    states = [e.state for e in events if isinstance(e, DraftingState)]
    assert [state for state, _ in groupby(states)][-2:] == ["off", "on"]
    assert states.count("off") == 1
    assert events[-1].token_ids == plain.token_ids
