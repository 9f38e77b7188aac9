"""The log file, which also works when there is no stdout and no stderr.

Logs are for us: no prompt text, no tokens, and the home folder is written as `~`.
"""

import faulthandler
import logging
import os
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from logging.handlers import RotatingFileHandler
from pathlib import Path
from types import TracebackType

NAME = "slipstream.log"
CRASHES = "crashes.log"
_BYTES, _FILES = 1_000_000, 3


def mend_streams() -> None:
    """Give a windowed program, which has none, a stdout and a stderr that swallow all.

    Call it before anything is imported that might print (tqdm #1523).
    """
    if sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison]  None in a bundle
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  lives as long as we
    if sys.stderr is None:  # pyright: ignore[reportUnnecessaryComparison]  None in a bundle
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  lives as long as we


@contextmanager
def logging_to(folder: Path) -> Generator[None]:
    """Log to files in `folder`, also what nobody caught and native aborts, until the block ends.

    Raises:
        OSError: the file cannot be written.
    """
    handler = RotatingFileHandler(
        folder / NAME, maxBytes=_BYTES, backupCount=_FILES, encoding="utf-8"
    )
    handler.setFormatter(_Discreet("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    hook, thread_hook = sys.excepthook, threading.excepthook

    def note(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        logging.getLogger("slipstream").error("Nobody caught this.", exc_info=(kind, error, trace))
        hook(kind, error, trace)

    def note_thread(args: threading.ExceptHookArgs) -> None:
        logging.getLogger("slipstream").error(
            "Nobody caught this on a thread.", exc_info=args.exc_value
        )
        thread_hook(args)

    sys.excepthook, threading.excepthook = note, note_thread
    try:
        with _crashes_in(folder):
            yield
    finally:
        if sys.excepthook is note:
            sys.excepthook = hook
        if threading.excepthook is note_thread:
            threading.excepthook = thread_hook
        root.removeHandler(handler)
        root.setLevel(level)
        handler.close()


@contextmanager
def _crashes_in(folder: Path) -> Generator[None]:
    """Let a native abort write its stacks to a file, unless somebody watches for it already."""
    if faulthandler.is_enabled():
        yield
        return
    with (folder / CRASHES).open("a", encoding="utf-8") as file:
        faulthandler.enable(file)
        try:
            yield
        finally:
            faulthandler.disable()


class _Discreet(logging.Formatter):
    """A formatter that writes the home folder as `~`."""

    def format(self, record: logging.LogRecord) -> str:
        return super().format(record).replace(str(Path.home()), "~")
