"""Pairs whose new chats begin without drafting."""

from dataclasses import replace
from pathlib import Path

import resources
from app.conversation import Message, Pair, Settings
from app.pairs import pair_of, pair_that_wrote, seeded, switched
from app.settings import AppSettings
from engine.events import Finished
from engine.origin import Origin
from engine.request import Drafting, Sampling
from support.checked import MACHINE
from support.scripted import SlowEngine

MODEL, DRAFTER = Path("/models/a"), Path("/models/b")
CHOSEN = Settings(MODEL, DRAFTER, drafting=Drafting("on", max_drafts=3, exactness="exact"))


def written_by(target, drafter):
    origin = Origin(str(target), "", drafter and str(drafter), "", MACHINE, "guarded", Sampling())
    done = Finished("stop", (1,), (2,), "", 1, 1, 1, None, "on", origin=origin)
    return Message(2, 1, 1, "assistant", "Because.", "stop", 0.0, finished=done)


def test_that_an_answer_tells_the_pair_that_a_chat_would_have_to_choose():
    assert pair_that_wrote(written_by(MODEL, DRAFTER)) == pair_of(CHOSEN) == Pair(MODEL, DRAFTER)
    assert pair_that_wrote(written_by(resources.path("starter"), None)) == pair_of(Settings())
    assert pair_that_wrote(replace(written_by(MODEL, None), finished=None)) is None


def test_that_only_the_switch_of_the_pair_that_was_turned_off_changes():
    app = switched(AppSettings(), Pair(MODEL, DRAFTER), on=False)
    plain = Drafting("off", max_drafts=3, exactness="exact")
    assert seeded(app, CHOSEN) == replace(CHOSEN, drafting=plain)
    for other in (Settings(), Settings(MODEL), replace(CHOSEN, target=DRAFTER)):
        assert seeded(app, other) == other
    assert seeded(AppSettings(), CHOSEN) == CHOSEN


def test_that_switching_twice_is_once_and_back_leaves_nothing():
    pair, other = Pair(MODEL, DRAFTER), Pair(None, None)
    app = switched(switched(AppSettings(), other, on=False), pair, on=False)
    assert switched(app, pair, on=False) == app
    assert switched(app, pair, on=True).plain_pairs == (other,)
    assert switched(switched(app, pair, on=True), other, on=True) == AppSettings()


def test_that_a_new_conversation_begins_as_its_pair_was_switched(play):
    async def scene(program):
        program.settings.write(switched(AppSettings(), Pair(None, None), on=False))
        usual = await program.chat.new()
        chosen = await program.chat.new(CHOSEN)
        program.settings.write(AppSettings())
        after = await program.chat.new()
        return [one.settings.drafting.wish for one in (usual, chosen, after)]

    assert play(SlowEngine(), scene) == ["off", "on", "auto"]
