"""O-20, the part of the store: leaving while a reply is loading, reading or being written.

borgbase/vorta #684, JeanExtreme002/PyMemoryEditor #45. The window's part is in another file.
"""

import asyncio

import pytest

from app.folders import Folders
from app.program import running
from engine.events import LoadProgress, PromptProgress, TextDelta
from support.scripted import SlowEngine, words


@pytest.mark.parametrize(
    ("moment", "least"),
    [(LoadProgress, 0), (PromptProgress, 0), (TextDelta, 10)],
    ids=["loading", "reading", "writing"],
)
def test_that_leaving_saves_the_question_and_what_was_answered_as_stopped(tmp_path, moment, least):
    folders = Folders.below(tmp_path / "home")

    async def first():
        engine = SlowEngine(20, 2_000, load_ms=50, prompt_ms=50)
        async with running(folders, engine=lambda: engine) as program:
            reply = await program.chat.send((await program.chat.new()).id, "Why?")
            reached = asyncio.Event()

            async def show(batch):
                if sum(isinstance(e, moment) for e in reply.events_so_far) >= max(least, 1):
                    reached.set()

            task = asyncio.get_running_loop().create_task(reply.run(show))
            await reached.wait()
            task.cancel()  # as the window does when it is closed
            await asyncio.wait([task])
        return reply.conversation

    async def second(conversation):
        async with running(folders, engine=SlowEngine) as program:
            return program.problems, await program.chat.messages(conversation)

    problems, (question, answer) = asyncio.run(second(asyncio.run(first())))
    assert problems == ()
    assert (question.text, answer.state) == ("Why?", "cancelled")
    assert answer.text.startswith("".join(words(n) for n in range(least)))
    assert bool(answer.text) == bool(least)
