import asyncio
from contextlib import closing

import pytest

from app.conversation import Settings
from app.folders import Folders
from app.program import running
from app.store import ConversationStore


@pytest.fixture
def folders(tmp_path):
    return Folders.below(tmp_path / "home")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "conversations.db"


@pytest.fixture
def store(path):
    with closing(ConversationStore(path)) as store:
        yield store


@pytest.fixture
def talk(store):
    """A conversation with one question and its open reply: (conversation, question, reply)."""
    conversation = store.add_conversation(Settings())
    question, reply = store.add_turn(conversation.id, None, "Why?", "Why?")
    return conversation.id, question, reply


async def in_time(awaitable, seconds=60.0):
    return await asyncio.wait_for(awaitable, seconds)


@pytest.fixture
def play(folders):
    """`play(engine, scene)`: run the coroutine function `scene(program)` in a running program."""

    def play(engine, scene):
        async def main():
            async with running(folders, engine=lambda: engine) as program:
                return await in_time(scene(program))

        return asyncio.run(main())

    return play
