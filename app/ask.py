"""`slipstream ask`: one question, one reply."""

import argparse
import contextlib
import shutil
import signal
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

from app import receipts
from app.command_line import add_model, any_seed, chosen_model, number, whole
from app.problem import ProblemError
from app.receipt_command import as_json as as_receipt
from app.receipt_command import checked, sentence_of
from app.terminal import FAILED, INTERRUPTED, OK, USAGE, Terminal, as_json, failed, sentence
from app.terminal_strip import Strip, summary
from engine.controls import Controls
from engine.errors import EngineError
from engine.events import (
    DraftingState,
    Event,
    Failed,
    Finished,
    Loaded,
    LoadProgress,
    PromptProgress,
    Round,
    TextDelta,
)
from engine.request import Drafting, Request, Sampling, Turn

MakeEngine = Callable[[], Any]


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.add_argument("question", help="the question; - reads it from standard input")
    parser.add_argument("--json", action="store_true", help="print one event per line")
    add_model(parser)
    add = parser.add_argument
    add("--system", default="", metavar="TEXT", help="what the model is told before the question")
    add("--draft", choices=("auto", "on", "off"), default="auto", help="on: never pause")
    add(
        "--exactness",
        choices=("exact", "guarded", "fast"),
        default="guarded",
        help="exact: no wider than measured to be equal; guarded: near-ties are settled one by one",
    )
    add("--copies", choices=("on", "off"), default="on", help="guess what stood in the text before")
    add(
        "--max-drafts",
        type=whole(1, 511),
        default=Drafting().max_drafts,
        metavar="N",
        help="of a drafter in one round; DSpark goes as far as it was trained for",
    )
    add("--max-tokens", type=whole(1, 10**6), default=1024, metavar="N")
    add("--stop", action="append", default=[], metavar="TEXT", help="end there; repeatable")
    add("--thinking", choices=("on", "off"), help="where the model can think")
    add(
        "--receipt",
        type=Path,
        metavar="FILE",
        help="write the reply again without drafts and save whether it is the same",
    )
    add("--plain-text", action="store_true", help="a model without a chat format writes on")
    _add_sampling(parser)


def run(args: argparse.Namespace, terminal: Terminal, make_engine: MakeEngine) -> int:
    """Ask, print, and return the exit code."""
    question = _question(args.question)
    if question is None or not question.strip():
        terminal.note("slipstream ask: the question is empty or not UTF-8 text.")
        return USAGE
    controls = Controls()
    with _interrupts(controls):
        last: Event | None = None
        show = _Json(terminal) if args.json else _Text(terminal)
        verified = True
        try:
            request, engine = _request(args, question), make_engine()
            for event in engine.reply(request, controls):
                last = event
                show.event(event)
                controls.stop = controls.stop or terminal.closed
            if args.receipt is not None and isinstance(last, Finished):
                verified = _verified(engine, last, args, controls, terminal)
        except EngineError as error:
            last = failed(error)
            show.event(last)
    if isinstance(last, Finished) and not terminal.closed:
        if last.reason == "cancelled" or (controls.stop and not verified):
            return INTERRUPTED
        return OK if verified else FAILED
    return FAILED


def _verified(
    engine: Any,  # noqa: ANN401  `EngineLike`, or what a test gives
    finished: Finished,
    args: argparse.Namespace,
    controls: Controls,
    terminal: Terminal,
) -> bool:
    """Check the reply and save its receipt; whether it is the same and is saved."""
    written = receipts.written_of(finished)
    if written is None or not written.token_ids:
        terminal.note("slipstream ask: there is nothing to check, so no receipt was saved.")
        return False
    receipt = checked(engine, written, chosen_model(args), controls, terminal)
    if receipt is None:
        terminal.note("slipstream ask: the check was stopped, so no receipt was saved.")
        return False
    if args.json:
        terminal.json({"event": "receipt"} | as_receipt(receipt))
    else:
        terminal.note(sentence_of(receipt))
    try:
        receipts.save(receipt, args.receipt)
    except ProblemError as error:
        terminal.note(f"slipstream ask: {error.problem.sentence}")
        return False
    return receipt.verdict == "same"


class _Json:
    """Every event as a line of JSON."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal

    def event(self, event: Event) -> None:
        """Print `event`."""
        self._terminal.json(as_json(event))


class _Text:
    """The answer on standard output; the strip, thinking and all else on standard error."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._strip = Strip()
        self._ends_line = True

    def event(self, event: Event) -> None:
        """Print what a person wants to see of `event`."""
        match event:
            case LoadProgress(part, done, total):
                self._terminal.status(f"Loading the {part}… {_percent(done, total)}")
            case Loaded(drafting_refused=reason, note=note) if reason or note:
                self._terminal.note(reason or note)
            case PromptProgress():
                self._reading(event)
            case TextDelta(channel, text):
                self._text(channel, text)
            case Round():
                self._strip.add(event)
                if not self._terminal.shares_screen:
                    self._terminal.status(self._strip.line(_columns()))
            case DraftingState() | Loaded():
                pass  # the summary says how drafting ended
            case Finished():
                self._end(event)
            case Failed():
                self._new_line()
                self._terminal.note(f"slipstream ask: {sentence(event)}")

    def _reading(self, event: PromptProgress) -> None:
        for note in event.notes:
            self._terminal.note(note)
        done, total = event.done, event.total
        self._terminal.status(f"Reading {done:,} of {total:,}" if done < total else "")

    def _text(self, channel: str, text: str) -> None:
        if channel == "thinking":
            self._terminal.status("Thinking…")
            return
        if self._terminal.shares_screen:
            self._terminal.status("")
        self._terminal.write(text)
        self._ends_line = text.endswith("\n") if text else self._ends_line

    def _end(self, finished: Finished) -> None:
        self._new_line()
        self._terminal.status("")
        if self._terminal.shows_status:
            if self._terminal.shares_screen:
                self._terminal.note(self._strip.line(_columns()))
            self._terminal.note(f"{summary(finished)} · seed {finished.seed}")

    def _new_line(self) -> None:
        if not self._ends_line:
            self._terminal.line()
            self._ends_line = True


def _add_sampling(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    any_penalty = number(-1e6, 1e6)
    add("--seed", type=whole(0, 2**64 - 1), metavar="N", help="repeats a reply; told at its end")
    add("--temperature", type=number(0, 100), default=0.7, metavar="X", help="0: always the best")
    add("--top-p", type=number(0, 1, open_low=True), default=0.95, metavar="X")
    add("--top-k", type=whole(0, 2**31 - 1), default=0, metavar="N", help="0: all")
    add("--min-p", type=number(0, 1), default=0.0, metavar="X")
    add("--repetition-penalty", type=number(0, 100, open_low=True), default=1.0, metavar="X")
    add("--presence-penalty", type=any_penalty, default=0.0, metavar="X")
    add("--frequency-penalty", type=any_penalty, default=0.0, metavar="X")


def _request(args: argparse.Namespace, question: str) -> Request:
    """What the options ask for.

    Raises:
        ModelRefused: a model folder is not there.
    """
    turns = (Turn("system", args.system),) if args.system else ()
    return Request(
        model=chosen_model(args),
        turns=(*turns, Turn("user", question)),
        sampling=Sampling(
            temperature=args.temperature,
            top_p=args.top_p,
            top_k=args.top_k,
            min_p=args.min_p,
            repetition_penalty=args.repetition_penalty,
            presence_penalty=args.presence_penalty,
            frequency_penalty=args.frequency_penalty,
            seed=any_seed() if args.seed is None else args.seed,
        ),
        drafting=Drafting(args.draft, args.copies == "on", args.max_drafts, args.exactness),
        max_tokens=args.max_tokens,
        stop=tuple(args.stop),
        thinking=None if args.thinking is None else args.thinking == "on",
        plain_text=args.plain_text,
    )


def _question(argument: str) -> str | None:
    """The question, or None when standard input holds none."""
    if argument != "-":
        return argument
    if sys.stdin is None or sys.stdin.closed:  # pyright: ignore[reportUnnecessaryComparison] None without a console
        return None
    try:
        return sys.stdin.buffer.read().decode()
    except UnicodeDecodeError:
        return None


@contextlib.contextmanager
def _interrupts(controls: Controls) -> Generator[None]:
    """Let the first Ctrl+C or request to end stop the reply in order, and the second at once."""

    def stop(number: int, _frame: object) -> None:
        if controls.stop and number == signal.SIGINT:
            raise KeyboardInterrupt
        controls.stop = True

    before = {n: signal.signal(n, stop) for n in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _columns() -> int:
    return shutil.get_terminal_size().columns


def _percent(done: int, total: int) -> str:
    return f"{100 * done // total} %" if total else ""
