"""Replies of LFM2 pairs, whose memory of a text can be cut at a few places only, checked."""

import pytest

from engine.controls import Controls
from engine.drafters import identity
from engine.events import Rechecked
from engine.origin import Written
from engine.request import ModelChoice
from support.lfm2_replies import LENGTH, QUESTION, SAMPLINGS, Folders

LONG = "Why is the sea salt, and not the rivers that run into it from every side of the land?"


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    made = Folders(tmp_path_factory.mktemp("lfm2"))
    yield made
    made.engine.unload()


def checked(engine, reply, choice):
    written = Written(reply.origin, reply.prompt_ids, reply.token_ids, reply.end_id, reply.passes)
    *_, end = engine.recheck(written, choice, Controls())
    assert isinstance(end, Rechecked)
    return end


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("name", ["lfm2", "lfm2_moe"])
def test_that_a_pair_writes_what_its_target_writes(folders, name, sampling):
    engine, used = folders.engine, SAMPLINGS[sampling]
    pair = folders.pair(name, sampling=used)

    def reply(*texts, **more):
        return folders.reply(pair, *texts, sampling=used, conversation=sampling, **more)[-1]

    first = reply()
    assert first.accepted > 5
    second = reply(QUESTION, first.text, LONG)
    assert second.reused > 0
    edited = reply(QUESTION, first.text, LONG[:40] + "?")
    assert edited.reused > 0
    other = reply(LONG)
    again = reply(LONG, max_tokens=LENGTH // 2)
    for each in (first, second, edited, other, again):
        total = len(each.token_ids)
        assert checked(engine, each, pair) == Rechecked(total, total)
        assert total > 0
        truth = folders.uncached(each.prompt_ids, min(8, total), used)
        assert each.token_ids[:8] == truth
        assert sum(rows for rows, _ in each.passes) == len(each.prompt_ids) - 1
    assert first.origin.drafter == str(pair.drafter)


def test_that_the_drafter_is_named_by_what_is_in_it(folders):
    pair, other = folders.pair("lfm2"), folders.pair("lfm2", share=0.3)
    one, two = (folders.reply(choice)[-1].origin for choice in (pair, other))
    assert one.target_id == two.target_id
    assert one.drafter_id == identity(pair.drafter)
    assert two.drafter_id == identity(other.drafter)
    assert len({one.drafter_id, two.drafter_id, one.target_id, ""}) == 4


def test_that_a_check_does_without_the_drafter(folders):
    pair = folders.pair("lfm2")
    reply = folders.reply(pair)[-1]
    folders.reply(ModelChoice(folders.target("lfm2_moe")))  # another model is loaded
    end = checked(folders.engine, reply, ModelChoice(pair.target))
    assert end == Rechecked(len(reply.token_ids), len(reply.token_ids))
    assert folders.engine.loaded == ModelChoice(pair.target)
