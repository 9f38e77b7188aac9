"""A drafter or a target whose numbers break, in whole replies of real folders."""

import mlx.core as mx
import pytest

from engine.controls import Controls
from engine.events import DraftingState, Failed, Loaded, Round
from engine.request import Drafting, ModelChoice, Request, Turn
from support.lfm2_folder import FOLDERS
from support.lfm2_replies import LENGTH, OFF, ON, QUESTION, SAMPLINGS, Folders, rounds, text_of

# Every number in these files is finite, and so they are accepted; what is computed is not.
HUGE = {
    "scores": ("norm.weight", 1e38),
    "chain": ("markov_head.markov_w1.weight", 3e38),
    "context": ("fc.weight", 3e38),
    "block": ("layers.1.mlp.down_proj.weight", 1e38),
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    made = Folders(tmp_path_factory.mktemp("pairs"))
    yield made
    made.engine.unload()


def blown_up(pair, part, folder):
    """The pair with a drafter folder in which one tensor is huge."""
    name, factor = HUGE[part]
    folder.mkdir()
    (folder / "config.json").write_bytes((pair.drafter / "config.json").read_bytes())
    tensors = mx.load(str(pair.drafter / "model.safetensors"))
    tensors[name] = mx.clip(tensors[name] * factor, -3e38, 3e38)
    mx.save_safetensors(str(folder / "model.safetensors"), tensors)
    return ModelChoice(pair.target, folder)


def while_written(folders, pair, after, plant, **fields):
    """A reply; `plant(drafter, target)` is called once `after` rounds of the drafter were made."""
    request = Request(
        pair, (Turn("user", QUESTION),), **{"max_tokens": LENGTH, "drafting": ON, **fields}
    )
    events = []
    for event in folders.engine.reply(request, Controls()):
        events.append(event)
        done = len(rounds(events)) if request.drafting == ON else len(rounds(events, "plain"))
        if isinstance(event, Round) and done == after:
            plant(folders.engine.model.drafter, folders.engine.model.target.model)
    folders.engine.unload()
    return events


def said_so(events):
    return [e for e in events if isinstance(e, DraftingState) and "numbers were broken" in e.reason]


def ids_of(events):
    return events[-1].token_ids


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("part", HUGE)
@pytest.mark.parametrize("name", FOLDERS)
def test_that_a_drafter_that_overflows_costs_its_drafts_only(
    name, part, sampling, folders, tmp_path
):
    sampling = SAMPLINGS[sampling]
    pair = folders.pair(name, sampling=sampling)
    plain = folders.reply(pair, sampling=sampling, drafting=OFF)
    broken = blown_up(pair, part, tmp_path / "drafter")
    events = folders.reply(broken, sampling=sampling)
    [loaded] = [e for e in events if isinstance(e, Loaded)]
    assert loaded.drafting_refused == ""
    assert ids_of(events) == ids_of(plain)
    assert text_of(events) == text_of(plain)
    [state] = said_so(events)
    assert state.state == "off"
    [only] = rounds(events)
    assert (only.proposed_ids, only.accepted) == ((), 0)
    with_copies = folders.reply(broken, sampling=sampling, drafting=Drafting("on"))
    assert [state.state for state in said_so(with_copies)] == ["on"]
    assert ids_of(with_copies) == ids_of(plain)


def _fill(module, name, value):
    setattr(module, name, mx.full(getattr(module, name).shape, value))


def _say(drafter, token):
    drafter._drawn = lambda scores, context, i: mx.array([token], mx.uint32)


PLANTED = {
    "nan in the context": lambda d, _: _fill(d.model.fc, "weight", float("nan")),
    "inf in the context": lambda d, _: _fill(d.model.fc, "weight", float("inf")),
    "nan in the scores": lambda d, _: _fill(d.model.norm, "weight", float("nan")),
    "nan in the chain": lambda d, _: _fill(d.model.markov_head.markov_w2, "weight", float("nan")),
    "inf in the chain": lambda d, _: _fill(d.model.markov_head.markov_w1, "weight", float("inf")),
    "an id past the vocabulary": lambda d, _: _say(d, 320),
    "an id past any": lambda d, _: _say(d, 2**32 - 1),
}


@pytest.mark.parametrize("planted", PLANTED)
@pytest.mark.parametrize("name", FOLDERS)
@pytest.mark.parametrize("sampling", ["greedy", "0.7"])
def test_that_numbers_that_break_in_the_middle_are_dropped(planted, name, sampling, folders):
    sampling = SAMPLINGS[sampling]
    pair = folders.pair(name, sampling=sampling)
    plain = folders.reply(pair, sampling=sampling, drafting=OFF)
    events = while_written(folders, pair, 3, PLANTED[planted], sampling=sampling)
    assert ids_of(events) == ids_of(plain)
    assert len(said_so(events)) == 1
    assert len(rounds(events)) == 4  # the fourth was dropped
    assert rounds(events)[-1].proposed_ids == ()
    assert all(r.proposed_ids for r in rounds(events)[:3])


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
@pytest.mark.parametrize("drafting", [ON, OFF], ids=["drafted", "plain"])
@pytest.mark.parametrize("name", FOLDERS)
def test_that_a_target_that_breaks_ends_the_reply_and_keeps_its_text(
    name, drafting, value, folders
):
    pair = folders.pair(name)
    plain = folders.reply(pair, drafting=OFF)

    def plant(_, target):
        _fill(target.model.embedding_norm, "weight", value)

    events = while_written(folders, pair, 4, plant, drafting=drafting)
    assert isinstance(events[-1], Failed)
    assert "not finite" in events[-1].message
    assert said_so(events) == []
    written = [i for r in events if isinstance(r, Round) for i in r.committed_ids]
    assert tuple(written) == ids_of(plain)[: len(written)]
    assert len(written) >= 4
    assert text_of(plain).startswith(text_of(events))
    assert folders.reply(pair)[-1].token_ids == ids_of(plain)  # the next one, loaded anew
