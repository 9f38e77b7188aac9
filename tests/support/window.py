"""The real window over the real store, with an engine that plays a script."""

import pytest

from app.folders import Folders
from app.program import running
from support.scripted import words
from ui.main_window import MainWindow
from ui.tasks import Tasks
from ui.theme import Themes


@pytest.fixture
def in_window(loop, qtbot, errors, home):
    """`in_window(engine, scene)` opens the program, runs `await scene(window)` and closes in order."""

    def play(engine, scene):
        async def run():
            async with running(Folders.below(home), engine=lambda: engine) as program:
                windows = []

                def report(error):
                    errors.append(error)
                    windows[0].report(error)

                tasks = Tasks(report)
                window = MainWindow(program, tasks, Themes())
                windows.append(window)
                window.resize(1180, 780)
                window.show()
                try:
                    return await scene(window)
                finally:
                    window.keep_place()
                    window.hide()
                    await tasks.cancel()
                    window.deleteLater()

        return loop.run_until_complete(run())

    return play


@pytest.fixture
def answered(until):
    """`await answered(window, text)` sends `text` and returns when its answer is over."""

    async def send(window, text):
        window.view.composer.write(text)
        window.view.composer.button.click()
        await until(lambda: window.view.is_answering)
        await until(lambda: not window.view.is_answering)

    return send


def text_of(tokens):
    return "".join(words(n) for n in range(tokens))


async def stored(window):
    chat = window.view._chat
    return [
        [(m.role, m.text, m.state) for m in await chat.messages(one.id)]
        for one in await chat.conversations()
    ]


def write_and_send(window, text):
    window.view.composer.write(text)
    window.view.composer.button.click()


def running_text(window):
    reply = window.view.following.reply
    events = reply.events_so_far if reply else []
    return "".join(getattr(event, "text", "") for event in events)
