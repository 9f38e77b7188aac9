"""Standard output and standard error of one command."""

import io
import json
import os
import re
import sys
from dataclasses import asdict, fields, is_dataclass
from pathlib import Path
from typing import Any, TextIO

from engine.errors import EngineError
from engine.events import Event, Failed

OK, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130


class Terminal:
    """Where a command writes. Either stream may be None, as in a bundle, or closed by its reader.

    Attributes:
        closed: whether the reader of standard output is gone; what is written then is dropped.
    """

    def __init__(self, out: TextIO | None, err: TextIO | None) -> None:
        self._out, self._err = out, err
        self._status = ""
        self.closed = False
        for stream in (out, err):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")  # a reply may hold any character

    @classmethod
    def standard(cls) -> "Terminal":
        """The streams of this process."""
        return cls(sys.stdout, sys.stderr)

    @property
    def shows_status(self) -> bool:
        """Whether somebody can watch a line on standard error change."""
        return _is_tty(self._err)

    @property
    def shares_screen(self) -> bool:
        """Whether standard output goes to a screen too, where a changing line would cut through."""
        return _is_tty(self._out)

    def write(self, text: str) -> None:
        """Write to standard output at once."""
        if self.closed or self._out is None:
            return
        try:
            self._out.write(text)
            self._out.flush()
        except (BrokenPipeError, ValueError):  # ValueError: the stream itself was closed
            self.closed = True
            _discard(self._out)

    def line(self, text: str = "") -> None:
        """Write one line to standard output."""
        self.write(text + "\n")

    def json(self, value: dict[str, Any]) -> None:
        """Write one line of JSON, ASCII only, so that every reader and encoding takes it."""
        self.line(json.dumps(value, default=_plain))

    def note(self, text: str) -> None:
        """Write one line to standard error."""
        self.status("")
        self._complain(text + "\n")

    def status(self, text: str) -> None:
        """Show `text` in place of the status before, on a screen only; empty takes it away."""
        if not self.shows_status or text == self._status:
            return
        self._complain(f"\r\x1b[K{text}" if text else "\r\x1b[K")
        self._status = text

    def _complain(self, text: str) -> None:
        if self._err is None:
            return
        try:
            self._err.write(text)
            self._err.flush()
        except (BrokenPipeError, ValueError):
            _discard(self._err)
            self._err = None


def as_json(event: Event) -> dict[str, Any]:
    """The JSON of an event: its name in snake case and every field."""
    name = re.sub(r"(?<!^)(?=[A-Z])", "_", type(event).__name__).lower()
    return {"event": name} | {f.name: getattr(event, f.name) for f in fields(event)}


def failed(error: EngineError) -> Failed:
    """The event that says what `error` says."""
    return Failed(error.code, error.message, error.safe, error.action)


def sentence(event: Failed) -> str:
    """What happened, what is safe, what to do."""
    return " ".join(part for part in (event.message, event.safe, event.action) if part)


def _plain(value: object) -> object:
    if isinstance(value, Path):
        return str(value)
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


def _is_tty(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # closed
        return False


def _discard(stream: TextIO) -> None:
    """Let what is still buffered go nowhere, or Python complains about it at exit."""
    try:
        number = stream.fileno()
    except (OSError, ValueError):
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, number)
    os.close(nowhere)
