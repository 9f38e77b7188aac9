"""Short words for scenes with replies."""

import asyncio

from support.scripted import words


def text_of(first, last):
    """What the scripted tokens `first` to `last` - 1 write."""
    return "".join(words(n) for n in range(first, last))


async def sent(program, text="Why?"):
    """The reply to `text` in a new conversation, not yet run."""
    conversation = await program.chat.new()
    return await program.chat.send(conversation.id, text)


def start(coroutine):
    """A task that runs `coroutine`."""
    return asyncio.get_running_loop().create_task(coroutine)


async def stored(program, reply):
    """The message of `reply` as it is on disk."""
    return await program.chat.message(reply.message)


async def answer(reply):
    """The result of `reply`, run to its end."""
    await reply.run(None)
    return reply.result


async def talk(chat, *questions):
    """A new conversation in which `questions` were asked and answered."""
    conversation = (await chat.new()).id
    for question in questions:
        await answer(await chat.send(conversation, question))
    return conversation
