"""`slipstream check`: is checking several tokens at once exact for this model on this machine?"""

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from app import check_replies, receipt_command
from app.command_line import add_model, chosen_model, whole
from app.folders import Folders
from app.gates import Gates
from app.terminal import FAILED, OK, Terminal, failed, sentence
from engine.backend import prepare
from engine.errors import EngineError
from engine.request import Exactness, ModelChoice

if TYPE_CHECKING:
    from engine.exactness import Gate

_WIDEST = 8


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    add_model(parser)
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")
    parser.add_argument("--mode", choices=("exact", "guarded", "fast"), default="guarded")
    parser.add_argument(
        "--widest", type=whole(2, 64), default=_WIDEST, metavar="W", help="measure 2 to W rows"
    )
    parser.add_argument("--again", action="store_true", help="measure even if it was before")
    check_replies.add_options(parser)
    receipt_command.add_options(parser)


def run(args: argparse.Namespace, terminal: Terminal, make_engine: Callable[[], Any]) -> int:
    """Measure or recall, print, and return the exit code; a fault is a failure."""
    if args.receipt is not None:
        return receipt_command.run(args, terminal, make_engine)
    try:
        if args.replies:
            return check_replies.run(args, chosen_model(args), terminal, make_engine)
        key, gate = _gate(chosen_model(args), args.widest, again=args.again, terminal=terminal)
    except EngineError as error:
        event = failed(error)
        if args.json:
            terminal.json({"error": event.code, "message": sentence(event)})
        terminal.note(f"slipstream check: {sentence(event)}")
        return FAILED
    mode = cast("Exactness", args.mode)
    if args.json:
        terminal.json(_report(key, gate, mode))
    else:
        terminal.write(_text(gate, mode))
    return FAILED if gate.fault or terminal.closed else OK


def _gate(
    choice: ModelChoice, widest: int, *, again: bool, terminal: Terminal
) -> "tuple[str, Gate]":
    """The key and the gate of a model.

    Raises:
        EngineError: the model cannot be used.
    """
    backend = prepare()
    from engine import exactness  # brings MLX
    from engine.loading import load_target
    from engine.target import Target

    def show(done: int, total: int) -> None:
        terminal.status(f"Loading the target… {100 * done // max(total, 1)} %")

    loaded = load_target(choice.target, show)
    target = Target(loaded.model, loaded.config)
    terminal.status("Comparing…")
    key = exactness.key(loaded.identity, target, f"{backend.name} {backend.blas}")
    gates = Gates(Folders.standard().cache / "exactness")
    gate = None if again else gates.recall(key)
    missing = [w for w in range(2, widest + 1) if gate is None or gate.at(w).not_run]
    if missing:
        measured = exactness.measure(target, missing)
        gate = measured if gate is None else gate.merged(measured)
        gates.remember(key, gate)
    assert gate is not None
    terminal.status("")
    return key, gate


def _report(key: str, gate: "Gate", mode: Exactness) -> dict[str, Any]:
    """What `--json` prints."""
    return {
        "exact_width": gate.exact_width,
        "widths": [
            {
                "width": seen.width,
                "equal": seen.equal,
                "max_difference": _finite(seen.max_difference),
                "first_row": seen.first_row,
                "suspect": seen.suspect or None,
                "not_run": seen.not_run or None,
                "margin": _finite(gate.margin(seen.width)),
            }
            for seen in gate.widths
        ],
        "mode": mode,
        "margin": _finite(_margin(gate, mode)),
        "key": key,
        "fault": gate.fault or None,
        "spread": gate.spread,
        "dtype": gate.dtype,
        "prompts": gate.prompts,
    }


def _margin(gate: "Gate", mode: Exactness) -> float:
    """Below this top-2 gap a token is not trusted at the widest pass that `mode` makes."""
    if mode == "fast" or not gate.widths:
        return 0.0
    widest = gate.widths[-1].width
    return gate.margin(gate.exact_width if mode == "exact" else widest)


def _text(gate: "Gate", mode: Exactness) -> str:
    lines = [f"{'rows':>4}  {'equal':<5}  largest difference  first row that differs"]
    for seen in gate.widths:
        if seen.not_run:
            lines.append(f"{seen.width:>4}  not measured: {seen.not_run}")
            continue
        first = "" if seen.first_row is None else f"{seen.first_row} ({seen.suspect})"
        equal = "yes" if seen.equal else "no"
        lines.append(f"{seen.width:>4}  {equal:<5}  {seen.max_difference:<18.3g}  {first}".rstrip())
    if gate.fault:
        lines.append(f"Drafting is refused. {gate.fault}")
    elif gate.exact_width == gate.widths[-1].width:
        lines.append("Equal to the last bit at every width measured.")
    else:
        lines.append(
            f"Equal to the last bit up to {gate.exact_width} rows at once; wider, rounding differs "
            f"and {mode} mode "
            + {
                "exact": "goes no wider.",
                "guarded": f"settles gaps below {_margin(gate, mode):.2g} with a step of one row.",
                "fast": "accepts that an answer may differ at near-ties.",
            }[mode]
        )
    return "\n".join(lines) + "\n"


def _finite(value: float) -> float | None:
    """`value`, or None where JSON has no number for it."""
    return value if abs(value) < float("inf") else None
