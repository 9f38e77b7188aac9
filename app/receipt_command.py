"""`slipstream check --receipt`: a saved receipt, held against this machine once more."""

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from app import receipts
from app.problem import ProblemError
from app.receipts import Receipt, receipt_of
from app.terminal import FAILED, INTERRUPTED, OK, Terminal
from engine.controls import Controls
from engine.events import Rechecked, RecheckProgress
from engine.origin import Written
from engine.request import ModelChoice


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this part of the command."""
    parser.add_argument_group("receipt").add_argument(
        "--receipt",
        type=Path,
        metavar="FILE",
        help="instead: write the reply of a saved receipt again, plain, and compare its tokens; "
        "--target says where its model is now",
    )


def run(args: argparse.Namespace, terminal: Terminal, make_engine: Callable[[], Any]) -> int:
    """Check again, print, and return the exit code: 0 only if the reply is the same."""
    try:
        saved = receipts.read(args.receipt)
    except ProblemError as error:
        problem = error.problem
        if args.json:
            terminal.json({"error": "receipt", "message": problem.sentence})
        terminal.note(f"slipstream check: {problem.sentence} {problem.action}.")
        return FAILED
    receipt = saved
    if saved.written is not None:
        choice = ModelChoice(args.target or Path(saved.written.origin.target))
        try:
            found = checked(make_engine(), saved.written, choice, Controls(), terminal)
        except KeyboardInterrupt:
            terminal.note("slipstream check: interrupted; the answer counts as not checked.")
            return INTERRUPTED
        assert found is not None, "nobody stopped it"
        receipt = replace(found, before=saved.before)
    if args.json:
        terminal.json(as_json(receipt))
    else:
        terminal.line(sentence_of(receipt))
    return OK if receipt.verdict == "same" and not terminal.closed else FAILED


def checked(
    engine: Any,  # noqa: ANN401  `EngineLike`, or what a test gives
    written: Written,
    choice: ModelChoice,
    controls: Controls,
    terminal: Terminal,
) -> Receipt | None:
    """What decoding a reply again finds, its progress shown; None if it was stopped."""
    found: Rechecked | None = None
    event: Rechecked | RecheckProgress
    for event in engine.recheck(written, choice, controls):
        if isinstance(event, Rechecked):
            found = event
        terminal.status(
            "Writing it again without the drafter… "
            f"{event.matched:,} of {event.total:,} tokens match so far."
        )
    terminal.status("")
    return None if found is None else receipt_of(found, written, time.time())


def as_json(receipt: Receipt) -> dict[str, Any]:
    """The verdict, and what identifies the reply, without its ids."""
    plain = asdict(replace(receipt, written=None)) | {"ids_sha256": receipt.ids_sha256}
    origin = None if receipt.written is None else asdict(receipt.written.origin)
    return plain | {"written": origin, "sentence": sentence_of(receipt)}


def sentence_of(receipt: Receipt) -> str:
    """The verdict as a person is told."""
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(receipt.checked))
    match receipt.verdict:
        case "same":
            said = (
                f"Same as without drafting: {receipt.tokens:,} of {receipt.total:,} tokens. "
                f"Checked on this machine, {when}."
            )
        case "differs":
            said = _differs(receipt)
        case "cannot":
            return f"Can't be checked: {receipt.reason[:1].lower()}{receipt.reason[1:]}"
    if receipt.before:
        said += f" The {receipt.before:,} tokens from before it was continued are not part of it."
    return said


def _differs(receipt: Receipt) -> str:
    at = receipt.tokens if receipt.at is None else receipt.at
    where = f"at token {at + 1:,}" if at < receipt.total else f"at its end, after {at:,} tokens"
    gap = "" if receipt.gap is None else f" Score gap {receipt.gap:.2g}."
    drafted, plain = (
        json.dumps(text, ensure_ascii=False) for text in (receipt.drafted, receipt.plain)
    )
    return f"Differs {where}. With drafting {drafted}, without {plain}.{gap}"
