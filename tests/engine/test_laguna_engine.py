"""Laguna and its drafter in whole replies, opened from folders in the published layout."""

from itertools import groupby

import pytest

from engine.controls import Controls
from engine.engine import Engine
from engine.events import DraftingState, Loaded, Round
from engine.request import Drafting, ModelChoice, Request, Sampling, Turn
from support.forced import Scheduled, uncached
from support.laguna_folder import VOCAB, write_pair
from support.model_folders import edit_json, linked

SAMPLINGS = [Sampling(), Sampling(temperature=0.7, top_p=0.95, seed=6), Sampling(temperature=1.0, seed=8)]  # fmt: skip
ON, OFF = Drafting("on", copies=False, max_drafts=3), Drafting("off")
ASKED = ("Name a bird.",)


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    return write_pair(tmp_path_factory.mktemp("laguna"))


@pytest.fixture(scope="module")
def engine():
    engine = Engine()
    yield engine
    engine.unload()


def answer(engine, choice, *texts, controls=None, **fields):
    roles = ("user", "assistant")
    turns = tuple(Turn(roles[i % 2], text) for i, text in enumerate(texts or ASKED))
    request = Request(choice, turns, **{"max_tokens": 60, "drafting": ON, **fields})
    return list(engine.reply(request, controls or Controls()))


def truth_of(engine, choice, n=60, sampling=None):
    """Prompt and reply, every token from the whole text fed anew."""
    prompt = answer(engine, choice, max_tokens=1, drafting=OFF)[-1].prompt_ids
    return len(prompt), uncached(engine.model.target.model, prompt, n, sampling)


def force(engine, monkeypatch, truth, schedule):
    """From now on the drafter is right as often as the schedule says."""
    model = engine.model.drafter
    start = type(model).start
    monkeypatch.setattr(
        model, "start", lambda: Scheduled(start(model), truth, schedule, VOCAB), raising=False
    )


def of_drafter(events):
    return [e for e in events if isinstance(e, Round) and e.mode == "drafter"]


@pytest.mark.parametrize("sampling", SAMPLINGS, ids=["greedy", "0.7", "1.0"])
@pytest.mark.parametrize("wish", ["on", "auto"])
def test_that_drafted_plain_and_uncached_are_one_reply(engine, pair, sampling, wish):
    at, truth = truth_of(engine, pair, 60, sampling)
    plain = answer(engine, pair, sampling=sampling, drafting=OFF)[-1]
    drafting = Drafting(wish, max_drafts=15)
    drafted = answer(engine, pair, sampling=sampling, drafting=drafting)
    end = next((i for i, t in enumerate(truth[at:]) if t in (2, 24)), 60)
    assert end > 20
    assert list(plain.token_ids) == truth[at : at + end]
    assert drafted[-1].token_ids == plain.token_ids
    assert drafted[-1].text == plain.text
    assert of_drafter(drafted)


def test_that_the_load_tells_the_drafter_and_its_bytes(engine, pair):
    engine.unload()
    [loaded] = [e for e in answer(engine, pair, max_tokens=2) if isinstance(e, Loaded)]
    assert (loaded.target, loaded.drafter) == ("Laguna-tiny", "Laguna-tiny-DFlash")
    assert loaded.drafting_refused == ""
    assert loaded.drafter_bytes == engine.model.drafter.nbytes == 36_992
    assert loaded.context_limit == 4096


def test_that_the_facts_keep_the_warning_of_the_load(engine, pair, tmp_path):
    other = ModelChoice(pair.target, linked(tmp_path / "Laguna-tiny-DFlash-INT4", pair.drafter))
    [loaded] = [e for e in answer(engine, other, max_tokens=2) if isinstance(e, Loaded)]
    assert loaded.drafting_refused == ""
    assert "its drafter's INT4" in loaded.note
    assert engine.facts("").note == loaded.note
    answer(engine, pair, max_tokens=2)
    assert engine.facts("").note == ""


@pytest.mark.parametrize("sampling", SAMPLINGS[:2], ids=["greedy", "0.7"])
def test_that_every_accept_length_is_right_over_many_windows(engine, pair, monkeypatch, sampling):
    at, truth = truth_of(engine, pair, 90, sampling)
    schedule = [0, 2, 1, 3]
    force(engine, monkeypatch, truth, schedule)
    events = answer(engine, pair, max_tokens=80, sampling=sampling)
    reply = list(events[-1].token_ids)
    assert reply == truth[at : at + len(reply)]
    assert len(reply) > 10 * 6  # windows
    rounds = of_drafter(events)
    whole = [r.accepted for r in rounds if len(r.proposed_ids) == 3 and not r.recheck]
    assert {0, 1, 2, 3} == set(whole)


@pytest.mark.parametrize("place", [5, 6, 7, 8])
def test_that_an_end_token_inside_a_block_ends_the_reply(
    engine, pair, place, monkeypatch, tmp_path
):
    at, truth = truth_of(engine, pair)
    end = truth[at + place]
    assert end not in truth[at : at + place]
    folder = linked(tmp_path / "other", pair.target)
    edit_json(folder / "config.json", lambda config: config.update(eos_token_id=[2, end]))
    other = ModelChoice(folder, pair.drafter)
    answer(engine, other, max_tokens=1)
    force(engine, monkeypatch, truth, [3])
    events = answer(engine, other, conversation="a")
    assert events[-1].reason == "stop"
    assert list(events[-1].token_ids) == truth[at : at + place]
    assert [e.mode for e in events if isinstance(e, Round)][-1] == "drafter"
    session = engine.model.sessions.take("a").session
    assert session.tokens[: at + place] == truth[: at + place]
    assert session.cache.length == len(session.tokens) - 1


@pytest.mark.parametrize("place", [5, 6, 7, 8])
def test_that_a_stop_string_inside_a_block_cuts_there(engine, pair, place, monkeypatch):
    at, truth = truth_of(engine, pair)
    tokenizer = engine.model.tokenizer
    word = tokenizer.decode(truth[at + place : at + place + 2])
    force(engine, monkeypatch, truth, [3])
    drafted = answer(engine, pair, stop=(word,))[-1]
    plain = answer(engine, pair, stop=(word,), drafting=OFF)[-1]
    assert drafted.reason == plain.reason == "stop"
    assert (drafted.token_ids, drafted.text) == (plain.token_ids, plain.text)
    assert tokenizer.decode(truth[at:]).startswith(drafted.text + word)


@pytest.mark.parametrize("budget", [1, 2, 3, 4, 5, 9])
def test_that_a_budget_inside_a_block_is_kept_to_the_token(engine, pair, budget, monkeypatch):
    at, truth = truth_of(engine, pair)
    force(engine, monkeypatch, truth, [3])
    events = answer(engine, pair, max_tokens=budget)
    assert events[-1].reason == "length"
    assert list(events[-1].token_ids) == truth[at : at + budget]
    assert all(len(r.proposed_ids) <= budget - 2 for r in of_drafter(events))


@pytest.mark.parametrize("budget", [10, 11, 12, 13])
def test_that_a_turn_after_a_stop_inside_a_block_is_the_turn_from_nothing(
    engine, pair, budget, monkeypatch
):
    _, truth = truth_of(engine, pair)
    force(engine, monkeypatch, truth, [3])
    first = answer(engine, pair, max_tokens=budget, conversation="b")[-1]
    texts = (*ASKED, first.text, "Another one?")
    monkeypatch.undo()
    warm = answer(engine, pair, *texts, conversation="b")
    cold = answer(engine, pair, *texts, drafting=OFF)[-1]
    assert warm[-1].reused > len(first.prompt_ids) - 3
    assert warm[-1].token_ids == cold.token_ids
    at = len(cold.prompt_ids)
    whole = uncached(engine.model.target.model, cold.prompt_ids, len(cold.token_ids))
    assert list(cold.token_ids) == whole[at:]
    assert of_drafter(warm)
    engine.forget("b")


def test_that_switching_off_and_on_in_the_middle_changes_no_word(engine, pair, monkeypatch):
    at, truth = truth_of(engine, pair)
    force(engine, monkeypatch, truth, [2, 0, 3])
    controls, events = Controls(), []
    request = Request(pair, (Turn("user", ASKED[0]),), max_tokens=60, drafting=ON)
    for event in engine.reply(request, controls):
        events.append(event)
        written = sum(isinstance(e, Round) for e in events)
        controls.drafting = not 6 <= written < 14
    # A busy machine may find plain decoding faster, and say once that it drafts on all the same.
    states = [e.state for e in events if isinstance(e, DraftingState)]
    assert [state for state, _ in groupby(states)][-2:] == ["off", "on"]
    assert states.count("off") == 1
    assert list(events[-1].token_ids) == truth[at : at + len(events[-1].token_ids)]
    modes = [e.mode for e in events if isinstance(e, Round)]
    assert set(modes[7:14]) == {"plain"}
    assert "drafter" in modes[:6]
    assert "drafter" in modes[15:]


@pytest.mark.parametrize("sampling", SAMPLINGS[:2], ids=["greedy", "0.7"])
def test_that_a_chosen_width_beyond_the_trained_block_is_probed_and_used(
    engine, pair, sampling, monkeypatch
):
    engine.unload()  # with its times: then depths 1, 4 and the widest are tried first
    at, truth = truth_of(engine, pair, 100, sampling)
    assert engine.model.drafter.block == 3
    force(engine, monkeypatch, truth, [39])
    wide = Drafting("on", copies=False, max_drafts=39)
    events = answer(engine, pair, sampling=sampling, drafting=wide, max_tokens=90)
    seen = engine.model.trust.gate.at(40)
    assert seen.not_run == ""
    reply = list(events[-1].token_ids)
    assert reply == truth[at : at + len(reply)]
    rounds = of_drafter(events)
    assert max(r.width for r in rounds) == 40
    assert max(r.accepted for r in rounds) > 32  # more than trained, more than copies have


@pytest.mark.parametrize("room", [2, 3, 20, 47])
def test_that_a_wide_block_is_cut_to_the_room_of_the_context(
    engine, pair, room, monkeypatch, tmp_path
):
    at, truth = truth_of(engine, pair)
    folder = linked(tmp_path / "short", pair.target)
    edit_json(
        folder / "config.json", lambda config: config.update(max_position_embeddings=at + room)
    )
    short = ModelChoice(folder, pair.drafter)
    wide = Drafting("on", copies=False, max_drafts=511)
    answer(engine, short, max_tokens=1)
    assert engine.model.target.context_limit == at + room
    force(engine, monkeypatch, truth, [511])
    events = answer(engine, short, drafting=wide, max_tokens=500)
    assert events[-1].reason == "context"
    assert list(events[-1].token_ids) == truth[at : at + room]
    assert all(at + r.width <= at + room for r in of_drafter(events))


def test_that_a_stop_between_rounds_keeps_what_was_committed(engine, pair, monkeypatch):
    at, truth = truth_of(engine, pair)
    force(engine, monkeypatch, truth, [3, 1])
    controls, rounds = Controls(), []
    request = Request(pair, (Turn("user", ASKED[0]),), "c", max_tokens=60, drafting=ON)
    for event in engine.reply(request, controls):
        rounds += [event] if isinstance(event, Round) else []
        controls.stop = len(rounds) == 5
    assert event.reason == "cancelled"
    assert len(rounds) == 5
    written = sum(len(r.committed_ids) for r in rounds)
    assert list(event.token_ids) == truth[at : at + written]
    kept = engine.model.sessions.take("c")
    assert kept.session.cache.length == kept.drafter.length == at + written - 1
