"""The `slipstream` command: the window, or one of the commands for the terminal."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from app.display import no_window
from app.terminal import FAILED, INTERRUPTED, USAGE, Terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from engine.engine import Engine

COMMANDS = {
    "ask": "ask one question; the reply is streamed",
    "bench": "measure decoding with and without drafting, in turns",
    "check": "measure whether checking several tokens at once is exact on this machine",
    "models": "list the known pairs of model and drafter, with their licences",
    "doctor": "say what this machine has, what is missing, and try the engine",
}


def main(
    arguments: Sequence[str] | None = None, make_engine: Callable[[], Any] | None = None
) -> int:
    """Run the command line and return the exit code; without arguments open the window.

    Args:
        arguments: the words after the command; those of this process if None.
        make_engine: what makes the engine; tests give a scripted one.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    terminal = Terminal.standard()
    if not words:
        if why := no_window(os.environ):
            terminal.note(f"slipstream: {why}")
            return FAILED
        return _open_window(terminal)
    try:
        return _command(words, terminal, make_engine or _engine)
    except KeyboardInterrupt:
        terminal.note("slipstream: interrupted.")
        return INTERRUPTED


def _open_window(terminal: Terminal) -> int:
    """Run the window until it is closed."""
    try:
        from ui.__main__ import main as open_window  # the one place where app knows the window
    except ImportError as error:
        if "shared object file" not in str(error):  # not the system's fault but a bug of ours
            raise
        terminal.note(
            f"slipstream: a library that the window needs is missing ({error}); "
            "run make setup, or chat in the terminal with slipstream ask."
        )
        return FAILED
    return open_window()


def _command(words: list[str], terminal: Terminal, make_engine: Callable[[], Any]) -> int:
    """Run the command named by the first word."""
    from app import ask, bench_command, check_command, doctor, models_command
    from app.command_line import Parser
    from app.version import program_version

    if not words[0].startswith("-") and words[0] not in COMMANDS:
        terminal.note(
            f"slipstream: there is no command {words[0]!r}; "
            f"the commands are {', '.join(COMMANDS)}, and none opens the window."
        )
        return USAGE
    parser = Parser(
        prog="slipstream",
        description="Chat with models on your own machine. Without a command, opens the window.",
    )
    parser.add_argument("--version", action="version", version=f"Slipstream {program_version()}")
    commands = parser.add_subparsers(dest="command", required=True, parser_class=Parser)
    modules = {
        "ask": ask,
        "bench": bench_command,
        "check": check_command,
        "models": models_command,
        "doctor": doctor,
    }
    for name, module in modules.items():
        text = COMMANDS[name]
        module.add_options(
            commands.add_parser(
                name, help=text, description=f"{text.capitalize()}.", allow_abbrev=False
            )
        )
    try:
        args = parser.parse_args(words)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else USAGE
    return modules[args.command].run(args, terminal, make_engine)


def _engine() -> Engine:
    """The engine; importing it takes seconds."""
    from engine.backend import prepare

    prepare()
    from app.folders import Folders
    from app.gates import Gates
    from app.version import program_version
    from engine.engine import Engine

    return Engine(Gates(Folders.standard().cache / "exactness"), program_version())


if __name__ == "__main__":
    sys.exit(main())
