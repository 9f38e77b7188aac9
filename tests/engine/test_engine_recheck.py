"""Whole replies of an engine, checked by it: a small model under the starter's tokenizer."""

import pickle
import shutil
from dataclasses import replace

import mlx.core as mx
import pytest

from engine.controls import Controls
from engine.engine import Engine
from engine.events import Finished, Loaded, PromptProgress, Rechecked, RecheckProgress, Round
from engine.origin import Written
from engine.request import Drafting, ModelChoice, Request, Sampling, Turn
from engine.sampling import draw
from support.tiny_chat import tiny_chat

ON = Drafting("on")
QUESTION, OTHER = "Say it, say it, say it again.", "And once more, say it again."
FRUIT = "Repeat this list: apples, pears, plums, apples, pears, plums, apples, pears, plums."
SAMPLINGS = {
    "greedy": Sampling(),
    "0.8": Sampling(0.8, 0.95, seed=4),
    "penalties": Sampling(0.8, 0.95, repetition_penalty=1.1, presence_penalty=0.2, seed=4),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory, starter):
    return tiny_chat(tmp_path_factory.mktemp("chat") / "model", starter)


@pytest.fixture(scope="module")
def engine():
    engine = Engine(program="1.0")
    yield engine
    engine.unload()


def answer(engine, folder, *texts, controls=None, **fields):
    """All events; `texts` are turns, the user's first."""
    turns = tuple(Turn(("user", "assistant")[i % 2], text) for i, text in enumerate(texts))
    fields = {"max_tokens": 40, "drafting": ON, "conversation": "1", **fields}
    return list(engine.reply(Request(ModelChoice(folder), turns, **fields), controls or Controls()))


def written(finished):
    return Written(
        finished.origin, finished.prompt_ids, finished.token_ids, finished.end_id, finished.passes
    )


def checked(engine, reply, folder=None):
    events = list(engine.recheck(reply, ModelChoice(folder), Controls()))
    assert isinstance(events[-1], Rechecked)
    return events[-1]


def same(engine, finished, folder):
    total = len(finished.token_ids)
    assert checked(engine, written(finished), folder) == Rechecked(total, total)
    assert total > 0


def uncached(engine, finished, count):
    """The oracle: the whole text fed anew for each token."""
    model, tokens = engine.model.target.model, list(finished.prompt_ids)
    for i in range(count):
        row = model(mx.array([tokens]))[0, -1:]
        ids, _ = draw(row, i, finished.origin.sampling, tokens)
        tokens.append(int(ids[0].item()))
    return tokens[len(finished.prompt_ids) :]


@pytest.mark.parametrize("name", SAMPLINGS)
def test_that_drafted_replies_of_a_whole_conversation_are_the_same(engine, folder, name):
    engine.forget("1")
    sampling = SAMPLINGS[name]
    events = answer(engine, folder, QUESTION, sampling=sampling)
    first = events[-1]
    if name == "greedy":
        assert sum(r.accepted for r in events if isinstance(r, Round)) > 5
    second = answer(engine, folder, QUESTION, first.text, OTHER, sampling=sampling)[-1]
    assert second.reused > 30
    again = answer(engine, folder, QUESTION, sampling=replace(sampling, seed=5))[-1]
    edited = answer(engine, folder, QUESTION, first.text, "Say no.", sampling=sampling)[-1]
    goes_on = answer(engine, folder, QUESTION, first.text, sampling=sampling, continue_last=True)[
        -1
    ]
    for reply in (goes_on, first, edited, second, again):
        same(engine, reply, folder)
        assert list(reply.token_ids[:12]) == uncached(engine, reply, min(12, len(reply.token_ids)))


def test_that_rows_say_how_they_came_in(engine, folder):
    engine.forget("1")
    first = answer(engine, folder, QUESTION, drafting=Drafting("off"))[-1]
    prompt = len(first.prompt_ids)
    assert first.passes == ((prompt - 1, prompt - 1),)
    cut = answer(engine, folder, QUESTION[:-3] + "never.")[-1]
    assert cut.passes[0] == (cut.reused, prompt - 1)
    assert 0 < cut.reused < prompt - 1


@pytest.mark.parametrize("name", ["greedy", "0.8"])
def test_that_the_second_turn_of_the_starter_is_the_same(starter, name):
    engine, fields = Engine(), {"sampling": SAMPLINGS[name], "max_tokens": 12}
    first = answer(engine, starter, FRUIT, **fields)[-1]
    events = answer(engine, starter, FRUIT, first.text, FRUIT, **fields)
    second, prompt = events[-1], len(first.prompt_ids)
    reused = next(e for e in events if isinstance(e, PromptProgress)).reused
    assert reused == second.reused > prompt + 5
    new = len(second.prompt_ids) - 1 - reused
    assert second.passes == ((prompt - 1, prompt - 1), (reused - prompt + 1, 1), (new, new))
    assert second.accepted > 0
    assert list(second.token_ids[:3]) == uncached(engine, second, 3)
    same(engine, second, starter)
    engine.unload()


def test_that_a_stopped_reply_and_one_that_ended_itself_are_the_same(engine, folder):
    controls, seen = Controls(), []
    request = Request(ModelChoice(folder), (Turn("user", QUESTION),), "2", drafting=ON)
    for event in engine.reply(request, controls):
        seen.append(event)
        controls.stop = controls.stop or sum(isinstance(e, Round) for e in seen) > 6
    stopped = seen[-1]
    assert (stopped.reason, stopped.end_id) == ("cancelled", None)
    same(engine, stopped, folder)
    # An end token is drawn where the model's own end ids say so: make one of a token it writes.
    text = engine.model.tokenizer
    usual, text.end_ids = text.end_ids, frozenset({stopped.token_ids[4]})
    try:
        ended = answer(engine, folder, QUESTION, conversation="2")[-1]
    finally:
        text.end_ids = usual
    at = stopped.token_ids.index(stopped.token_ids[4])
    assert (ended.reason, ended.end_id) == ("stop", stopped.token_ids[4])
    assert ended.token_ids == stopped.token_ids[:at]
    if at:
        same(engine, ended, folder)
    gone_on = replace(written(stopped), token_ids=stopped.token_ids[:6], end_id=2)
    found = checked(engine, gone_on, folder)
    assert (found.matched, found.total, found.at) == (6, 6, 6)
    assert found.drafted == "<|im_end|>"
    assert found.plain == text.decode([stopped.token_ids[6]])


def test_that_a_reply_ended_by_a_stop_string_is_the_same(engine, folder):
    text = answer(engine, folder, QUESTION)[-1].text
    ended = answer(engine, folder, QUESTION, stop=(text[20:26],))[-1]
    assert (ended.reason, ended.end_id) == ("stop", None)
    same(engine, ended, folder)


def test_that_a_planted_token_is_told_in_words(engine, folder):
    reply = answer(engine, folder, QUESTION)[-1]
    truth, decode = reply.token_ids, engine.model.tokenizer.decode
    planted = (truth[9] + 1) % 49_152
    found = checked(
        engine, replace(written(reply), token_ids=(*truth[:9], planted, *truth[10:])), folder
    )
    assert (found.at, found.drafted, found.plain) == (9, decode([planted]), decode([truth[9]]))
    assert found.gap > 0


def test_that_a_check_leaves_what_is_kept_as_it_is(engine, folder):
    reply = answer(engine, folder, QUESTION)[-1]
    sessions = engine.model.sessions
    kept = sessions._kept["1"]

    def state():
        guard, times = pickle.dumps(kept.guard), pickle.dumps(sessions.times)
        return (list(sessions._kept), sessions.nbytes, list(kept.session.tokens),
                kept.session.cache.length, guard, times)  # fmt: skip

    before, active = state(), engine.memory().active
    same(engine, reply, folder)
    assert state() == before
    assert engine.memory().cache == 0
    assert engine.memory().active == active
    events = engine.recheck(written(reply), ModelChoice(folder), Controls())
    for _ in range(5):
        next(events)
    events.close()
    assert engine.memory().active == active
    assert state() == before


def test_that_another_model_of_the_same_folder_is_no_verdict(engine, folder, tmp_path, starter):
    reply = answer(engine, folder, QUESTION)[-1]
    other = tiny_chat(tmp_path / "model", starter, seed=8)
    fresh = Engine(program="1.0")
    found = checked(fresh, written(reply), other)
    assert found == Rechecked(
        0, len(reply.token_ids), reason="The model file changed since this was written."
    )
    moved = tmp_path / "moved"
    shutil.copytree(folder, moved, symlinks=True)
    same(fresh, reply, moved)
    fresh.unload()


def test_that_a_model_that_cannot_be_loaded_is_no_verdict(engine, folder, tmp_path):
    reply = answer(engine, folder, QUESTION)[-1]
    fresh = Engine(program="1.0")
    found = checked(fresh, written(reply), tmp_path / "nothing")
    assert (found.matched, found.at) == (0, None)
    assert found.reason.endswith(".")
    assert fresh.loaded is None


@pytest.mark.parametrize("stop_at", [0, 2])
def test_that_a_stop_while_loading_ends_it(engine, folder, stop_at):
    reply = answer(engine, folder, QUESTION)[-1]
    fresh, controls, seen = Engine(program="1.0"), Controls(), []
    controls.stop = stop_at == 0
    for event in fresh.recheck(written(reply), ModelChoice(folder), controls):
        seen.append(event)
        controls.stop = len(seen) >= stop_at
    assert set(seen) <= {RecheckProgress(0, len(reply.token_ids))}
    fresh.unload()


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"mlx": "0.1"}, "MLX was 0.1 when this was written; it is {mlx} now."),
        ({"program": "0.9"}, "Slipstream was 0.9 when this was written; it is 1.0 now."),
        (
            {"backend": "metal"},
            "The back end was metal when this was written; it is {backend} now.",
        ),
    ],
)
def test_that_what_another_version_wrote_is_no_verdict(engine, folder, changes, reason):
    reply = answer(engine, folder, QUESTION)[-1]
    here = reply.origin.machine
    then = replace(reply.origin, machine=replace(here, **changes))
    found = checked(engine, replace(written(reply), origin=then), folder)
    assert found.reason == reason.format(mlx=here.mlx, backend=here.backend)


def test_that_a_reply_says_what_wrote_it(engine, folder):
    events = answer(engine, folder, QUESTION, sampling=SAMPLINGS["0.8"])
    origin = events[-1].origin
    assert (origin.target, origin.drafter, origin.drafter_id) == (str(folder), None, "")
    assert (origin.target_id, len(origin.target_id)) == (engine.model.identity, 64)
    assert (origin.exactness, origin.sampling) == ("guarded", SAMPLINGS["0.8"])
    assert origin.machine.program == "1.0"
    assert isinstance(events[-1], Finished)
    assert not any(isinstance(e, Loaded) for e in events)
