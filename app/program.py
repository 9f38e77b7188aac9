"""The program without its windows: what it is made of, in the order in which it is made."""

import gc
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial

from app import catalogue
from app.catalogue import Catalogue
from app.chat import Chat
from app.confined import Confined
from app.folders import Folders
from app.gates import Gates
from app.inspection import Inspection
from app.log import logging_to
from app.opening import Opened, open_store
from app.problem import Problem
from app.reply import EngineLike
from app.run_mark import RunMark
from app.settings import SettingsFile
from app.store import ConversationStore
from app.version import program_version

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Program:
    """What a front end needs. After a crash (`crashed`) nothing is to be loaded by itself."""

    chat: Chat
    inspection: Inspection
    catalogue: Catalogue
    settings: SettingsFile
    folders: Folders
    problems: tuple[Problem, ...]
    crashed: bool


@asynccontextmanager
async def running(
    folders: Folders, *, engine: Callable[[], EngineLike] | None = None
) -> AsyncGenerator[Program, None]:
    """Open everything; on the way out stop the replies, save them, and close, store first.

    It opens whatever state the disk is in: what is wrong is among the program's `problems`.
    `engine` makes the engine on its thread, when it is first needed.
    """
    problems: list[Problem] = []
    with ExitStack() as stack:
        mark = _begin(folders, stack, problems)
        settings = SettingsFile(folders.config / "settings.json")
        if settings.problem is not None:
            problems.append(settings.problem)
        known = catalogue.read()
        if known.problem is not None:
            problems.append(known.problem)
        found: list[Opened] = []

        def make_store() -> ConversationStore:
            found.append(open_store(folders.data, is_alone=mark is None or mark.is_alone))
            return found[0].store

        store = Confined("store", make_store, ConversationStore.close)
        problems += await store.call(lambda _: found[0].problems)
        crashed = mark is not None and mark.crashed
        if crashed:
            problems.append(_crash(found[0].unfinished))
        engines = Confined(
            "engine", engine or partial(_real_engine, folders), lambda engine: engine.close()
        )
        chat = Chat(engines, store, settings, gc.collect)
        try:
            inspection = Inspection(engines, chat, known)
            yield Program(chat, inspection, known, settings, folders, tuple(problems), crashed)
        finally:
            try:
                await chat.close()
            finally:
                await store.close()
                if mark is not None:
                    mark.clear()
                await engines.close()


def _begin(folders: Folders, stack: ExitStack, problems: list[Problem]) -> RunMark | None:
    """Make the folders, start the log and set the mark; what the disk refuses is a problem."""
    try:
        folders.make()
        stack.enter_context(logging_to(folders.logs))
        return RunMark(folders.data)
    except OSError as error:
        problems.append(Problem.from_exception(error))
        return None


def _crash(unfinished: int) -> Problem:
    while_answering = " while answering" if unfinished else ""
    return Problem(
        "Slipstream closed unexpectedly",
        f"The app closed unexpectedly{while_answering}.",
        "Your text is here up to the last second. The model was not reloaded.",
        "Load it",
    )


def _real_engine(folders: Folders) -> EngineLike:
    """The engine, imported where it is made: MLX belongs to that thread and is slow to import."""
    from engine import backend

    backend.prepare()
    from engine.engine import Engine

    return Engine(Gates(folders.cache / "exactness"), program_version())
