"""Whole replies of LFM2 folders with DSpark folders: every one is the uncached one."""

from itertools import groupby

import mlx.core as mx
import pytest

from engine.controls import Controls
from engine.events import DraftingState, Finished, Loaded, Round
from engine.request import DrafterOptions, Drafting, ModelChoice, Request, Sampling, Turn
from support.lfm2_folder import FOLDERS, write_knowing
from support.lfm2_replies import LENGTH, OFF, ON, QUESTION, SAMPLINGS, Folders, rounds, text_of
from support.model_folders import edit_json, linked
from support.perturbed import PerturbedPart

PAIRS = [(name, taps) for name in FOLDERS for taps in ((0, 2), (1, 3))]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    made = Folders(tmp_path_factory.mktemp("pairs"))
    yield made
    made.engine.unload()


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize(("name", "taps"), PAIRS, ids=str)
def test_that_drafted_is_plain_is_uncached_over_two_turns(name, taps, sampling, folders):
    sampling = SAMPLINGS[sampling]
    pair = folders.pair(name, taps, sampling)
    said = folders.reply(pair, sampling=sampling, conversation="a")
    [loaded] = [e for e in said if isinstance(e, Loaded)] or [folders.engine.model.report]
    assert (loaded.drafter, loaded.drafting_refused) == (pair.drafter.name, "")
    plain = folders.reply(pair, sampling=sampling, drafting=OFF)
    first = said[-1]
    truth = folders.uncached(first.prompt_ids, len(first.token_ids), sampling)
    assert first.token_ids == plain[-1].token_ids == truth
    assert text_of(said) == text_of(plain)
    accepted = {r.accepted for r in rounds(said)}
    assert {0} < accepted  # misses and hits
    assert rounds(plain) == []
    texts = (QUESTION, first.text, "And the rivers?")
    warm = folders.reply(pair, *texts, sampling=sampling, conversation="a")
    cold = folders.reply(pair, *texts, sampling=sampling, drafting=OFF)
    second = warm[-1]
    truth = folders.uncached(second.prompt_ids, len(second.token_ids), sampling)
    assert second.reused > 0
    assert rounds(warm)
    assert second.token_ids == cold[-1].token_ids == truth
    folders.engine.forget("a")


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("name", FOLDERS)
def test_that_a_stop_string_inside_a_block_ends_the_plain_reply_there(name, sampling, folders):
    sampling = SAMPLINGS[sampling]
    pair = folders.pair(name, sampling=sampling, share=1.0)
    whole = folders.reply(pair, sampling=sampling)
    text = text_of(whole)
    inside = [r for r in rounds(whole) if r.accepted >= 2]
    assert inside
    for at in (9, 14, 17):
        stop = text[at : at + 3]
        drafted = folders.reply(pair, sampling=sampling, stop=(stop,), conversation="s")
        plain = folders.reply(pair, sampling=sampling, stop=(stop,), drafting=OFF)
        assert drafted[-1].reason == plain[-1].reason == "stop"
        assert text_of(drafted) == text_of(plain) == text[: text.index(stop)]
        assert drafted[-1].token_ids == plain[-1].token_ids
        texts = (QUESTION, drafted[-1].text, "Go on.")
        warm = folders.reply(pair, *texts, sampling=sampling, conversation="s")[-1]
        truth = folders.uncached(warm.prompt_ids, len(warm.token_ids), sampling)
        assert warm.token_ids == truth
        folders.engine.forget("s")


@pytest.mark.parametrize("name", FOLDERS)
@pytest.mark.parametrize("at", range(8, 14))
def test_that_an_end_token_at_any_slot_of_a_block_ends_the_reply(name, at, folders, tmp_path):
    pair = folders.pair(name, share=1.0)
    ids = folders.reply(pair, drafting=OFF)[-1].token_ids
    end = ids[at]
    first = ids.index(end)
    target = linked(tmp_path / "target", pair.target)
    edit_json(target / "generation_config.json", lambda said: said.update(eos_token_id=[7, end]))
    ending = ModelChoice(target, pair.drafter)
    drafted = folders.reply(ending, conversation="e")[-1]
    assert (drafted.reason, drafted.token_ids) == ("stop", ids[:first])
    texts = (QUESTION, drafted.text, "Go on.")
    warm = folders.reply(ending, *texts, conversation="e", max_tokens=12)[-1]
    assert warm.token_ids == folders.uncached(warm.prompt_ids, len(warm.token_ids), Sampling())


@pytest.mark.parametrize("budget", [1, 2, 3, 6])
def test_that_no_reply_is_longer_than_its_budget(budget, folders):
    pair = folders.pair("lfm2", share=1.0)
    whole = folders.reply(pair, drafting=OFF)[-1].token_ids
    said = folders.reply(pair, max_tokens=budget)[-1]
    assert (said.reason, said.token_ids) == ("length", whole[:budget])


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("name", FOLDERS)
def test_that_switching_in_the_middle_changes_no_word(name, sampling, folders):
    sampling = SAMPLINGS[sampling]
    pair = folders.pair(name, sampling=sampling)
    plain = folders.reply(pair, sampling=sampling, drafting=OFF)[-1]
    controls, events, written = Controls(), [], 0
    turns = (Turn("user", QUESTION),)
    request = Request(pair, turns, sampling=sampling, drafting=ON, max_tokens=LENGTH)
    for event in folders.engine.reply(request, controls):
        events.append(event)
        written += len(event.committed_ids) if isinstance(event, Round) else 0
        controls.drafting = not 10 <= written < 22
    # A busy machine may find plain decoding faster, and say once that it drafts on all the same.
    states = [e.state for e in events if isinstance(e, DraftingState)]
    assert [state for state, _ in groupby(states)][-2:] == ["off", "on"]
    assert states.count("off") == 1
    modes = [r.mode for r in events if isinstance(r, Round)]
    switched = modes[modes.index("drafter") :]
    assert switched.index("plain") < len(switched) - 1 - switched[::-1].index("drafter")
    assert events[-1].token_ids == plain.token_ids


def test_that_a_reply_with_the_guard_has_the_tokens_of_one_without(folders):
    pair = folders.pair("lfm2_moe", share=0.3)
    plain = folders.reply(pair, drafting=OFF, max_tokens=120)[-1]
    for drafting in (Drafting("auto", copies=False), Drafting("auto"), Drafting("on")):
        assert folders.reply(pair, drafting=drafting, max_tokens=120)[-1].token_ids == (
            plain.token_ids
        )


def test_that_leaving_while_rows_are_staged_gives_all_memory_back(folders):
    pair = folders.pair("lfm2")
    mx.clear_cache()
    folders.engine.unload()
    before = mx.get_active_memory()
    controls = Controls()
    request = Request(pair, (Turn("user", QUESTION),), drafting=ON, conversation="u")
    seen = 0
    for event in folders.engine.reply(request, controls):
        seen += isinstance(event, Round)
        controls.stop = seen >= 6
    assert isinstance(event, Finished)
    assert folders.engine.model.sessions.take("u").drafter.staged > 0
    folders.engine.unload()
    assert mx.get_active_memory() <= before


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize(
    "options", [DrafterOptions(8), DrafterOptions(0, 0.4), DrafterOptions(8, 0.9)], ids=str
)
def test_that_a_drafter_run_otherwise_writes_the_same_words(options, sampling, folders):
    sampling = SAMPLINGS[sampling]
    released = folders.pair("lfm2", sampling=sampling)
    pair = ModelChoice(released.target, released.drafter, options)
    plain = folders.reply(released, sampling=sampling, drafting=OFF)[-1]
    whole = folders.engine.model.drafter.nbytes
    drafted = folders.reply(pair, sampling=sampling)
    [loaded] = [e for e in drafted if isinstance(e, Loaded)]  # other options are another load
    assert (loaded.drafter, loaded.drafting_refused) == (pair.drafter.name, "")
    assert (loaded.drafter_bytes < 0.6 * whole) == bool(options.bits)
    assert drafted[-1].token_ids == plain.token_ids
    assert rounds(drafted)
    assert rounds(folders.reply(pair, sampling=sampling, drafting=Drafting("on", max_drafts=9)))


@pytest.mark.parametrize("bits", [4, 16])
def test_that_an_option_it_cannot_do_costs_the_drafter_and_says_so(bits, folders):
    released = folders.pair("lfm2")
    pair = ModelChoice(released.target, released.drafter, DrafterOptions(bits))
    events = folders.reply(pair)
    [loaded] = [e for e in events if isinstance(e, Loaded)]
    assert loaded.drafter is None
    assert f"not in {bits}" in loaded.drafting_refused
    assert events[-1].token_ids == folders.reply(released, drafting=OFF)[-1].token_ids


def test_that_nine_drafts_are_made_where_nine_are_asked_for(folders, tmp_path):
    pair = folders.pair("lfm2", share=1.0)
    truth = folders.reply(pair, drafting=OFF)[-1]
    told = [*truth.prompt_ids[-1:], *truth.token_ids]
    wide = write_knowing(tmp_path / "drafter", (0, 2), [told], 1.0, block_size=9)
    wide_pair = ModelChoice(pair.target, wide)
    for drafting in (Drafting("on", copies=False, max_drafts=9), ON):
        folders.engine.unload()  # each depth is tried once, while nothing is timed
        events = folders.reply(wide_pair, drafting=drafting)
        assert max(len(r.proposed_ids) for r in rounds(events)) == drafting.max_drafts
        assert events[-1].token_ids == truth.token_ids
    assert ON.max_drafts == 7


@pytest.mark.parametrize("name", FOLDERS)
def test_that_one_ulp_in_wide_passes_costs_speed_at_most(name, folders):
    pair = folders.pair(name)
    plain = folders.reply(pair, drafting=OFF)[-1].token_ids
    layers = folders.engine.model.target.model.model.layers
    layers[1].feed_forward = PerturbedPart(layers[1].feed_forward, range(2, 33))
    guarded = folders.reply(pair)
    exact = folders.reply(pair, drafting=Drafting("on", copies=False, exactness="exact"))
    assert folders.engine.model.trust.gate.exact_width == 1
    folders.engine.unload()
    assert guarded[-1].token_ids == exact[-1].token_ids == plain
    assert rounds(guarded)
    assert rounds(exact) == []  # no width is exact here, and so nothing is drafted
