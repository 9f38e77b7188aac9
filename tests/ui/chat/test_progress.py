from engine.events import Failed, Finished, Loaded, LoadProgress, PromptProgress, Round, TextDelta
from ui import wording
from ui.chat.progress import Progress

ROUND = Round(0, "copy", (1, 2), 2, (1, 2, 3), None, None, None, 1.0, 2.0, 3)


def after(*events):
    progress = Progress("Small")
    for event in events:
        progress = progress.after(event)
    return progress


def test_that_the_note_follows_what_happens_before_the_first_word():
    assert Progress("Small").waiting(True).note == wording.NOTE_WAITING
    assert Progress("Small").waiting(False).note == wording.NOTE_STARTING
    assert after(LoadProgress("target", 41, 100)).note == "Loading Small… 41 %"
    assert after(Loaded("a", None, 1, 0, 8192)).note == wording.NOTE_STARTING
    assert after(PromptProgress(1204, 3980, 0)).note == "Reading 1,204 of 3,980 tokens"
    assert after(PromptProgress(1204, 3980, 0), TextDelta("answer", "a", 0, 0)).note == ""
    assert after(PromptProgress(1, 2, 0), Failed("a", "b", "c", "d")).note == ""


def test_that_a_load_of_unknown_size_divides_by_nothing():
    assert after(LoadProgress("target", 0, 0)).note == "Loading Small… 0 %"


def test_that_the_context_counts_prompt_and_answer():
    progress = after(Loaded("a", None, 1, 0, 8192), PromptProgress(0, 100, 0), ROUND, ROUND)
    assert (progress.used, progress.limit) == (106, 8192)
    end = Finished("stop", (), (), "", 2, 4, 4, None, "on", context_used=105, context_limit=8192)
    assert progress.after(end).used == 105
