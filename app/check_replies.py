"""`slipstream check --replies`: are drafted replies the plain ones, over any number of prompts?"""

import argparse
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from app.command_line import number, whole
from app.terminal import FAILED, INTERRUPTED, OK, Terminal
from engine.request import Exactness, ModelChoice

if TYPE_CHECKING:
    from engine.agreement import Agreement, Counts, Difference

_MODES = ("guarded", "exact", "fast")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this part of the command."""
    add = parser.add_argument_group("replies").add_argument
    add(
        "--replies",
        type=whole(1, 10**6),
        metavar="N",
        help="instead: write the replies to N prompts plain and drafted, and compare their tokens",
    )
    add("--temperatures", type=_list(number(0, 100)), default=(0.0, 0.7, 1.0), metavar="X,Y,…")
    add("--modes", type=_list(_mode), default=("guarded", "exact"), metavar="MODE,…")
    add("--max-tokens", type=whole(1, 10**5), default=128, metavar="N", help="of each reply")
    add("--draft", choices=("auto", "on"), default="on", help="on: the guard never pauses")


def run(
    args: argparse.Namespace,
    model: ModelChoice,
    terminal: Terminal,
    make_engine: Callable[[], Any],
) -> int:
    """Write and compare, print, and return the exit code: a difference outside Fast is a failure.

    Interrupted, it reports what it has.

    Raises:
        EngineError: the model cannot be used, or a reply failed.
    """
    terminal.status("Loading…")
    engine = make_engine()
    from engine.agreement import Plan, compare  # brings MLX

    plan = Plan(args.replies, args.temperatures, args.modes, args.max_tokens, args.draft)
    seen: Agreement | None = None
    try:
        for seen in compare(engine, model, plan):
            terminal.status(_progress(seen))
    except KeyboardInterrupt:
        terminal.note("slipstream check: interrupted.")
        if seen is not None:
            _print(seen, args, terminal)
        return INTERRUPTED
    terminal.status("")
    assert seen is not None
    _print(seen, args, terminal)
    promised = [each for each in seen.counts if each.mode != "fast"]
    kept = all(each.equal == each.replies for each in promised)
    return OK if kept and not terminal.closed else FAILED


def _print(seen: "Agreement", args: argparse.Namespace, terminal: Terminal) -> None:
    if args.json:
        terminal.json(_report(seen, args))
    else:
        terminal.write(_text(seen))


def _report(seen: "Agreement", args: argparse.Namespace) -> dict[str, Any]:
    return {
        "prompts": args.replies,
        "temperatures": args.temperatures,
        "max_tokens": args.max_tokens,
        "draft": args.draft,
        "done": seen.done,
        "total": seen.total,
        "exact_width": seen.exact_width,
        "all_equal": seen.all_equal,
        "modes": [
            asdict(each)
            | {
                "recheck_share": _share(each.rechecked, each.rounds),
                "acceptance": _share(each.accepted, each.proposed),
            }
            for each in seen.counts
        ],
    }


def _text(seen: "Agreement") -> str:
    lines: list[str] = []
    for each in seen.counts:
        lines.append(
            f"{each.mode}: {each.equal:,} of {each.replies:,} replies equal plain decoding, "
            f"{each.tokens:,} tokens"
        )
        lines.append(_rounds(each))
        if each.first is not None:
            lines.append(_first(each.first))
    if seen.done < seen.total:
        lines.append(f"Only {seen.done:,} of {seen.total:,} replies were written.")
    return "\n".join(lines) + "\n"


def _rounds(counts: "Counts") -> str:
    again = f"{counts.rechecked:,} re-checked"
    if counts.rounds:
        again += f" ({100 * counts.rechecked / counts.rounds:.2f} %)"
    right = f"{counts.accepted:,} of {counts.proposed:,} guesses right"
    return f"  {counts.rounds:,} rounds, {counts.drafted:,} drafted, {again}; {right}"


def _first(found: "Difference") -> str:
    plain, drafted = (
        "the end" if token is None else f"token {token}"
        for token in (found.plain_id, found.drafted_id)
    )
    return (
        f"  first difference: prompt {found.prompt}, temperature {found.temperature:g}, "
        f"token {found.at}: {drafted} instead of {plain}, gap {found.gap:.2g}"
    )


def _progress(seen: "Agreement") -> str:
    kept = ", ".join(f"{each.mode} {each.equal}/{each.replies}" for each in seen.counts)
    return f"Reply {seen.done:,} of {seen.total:,}; equal: {kept}"


def _share(part: int, whole_: int) -> float | None:
    return part / whole_ if whole_ else None


def _list(one: Callable[[str], Any]) -> Callable[[str], tuple[Any, ...]]:
    """A type for argparse: several values with commas between them."""

    def parse(text: str) -> tuple[Any, ...]:
        return tuple(one(part.strip()) for part in text.split(","))

    return parse


def _mode(text: str) -> Exactness:
    if text not in _MODES:
        raise argparse.ArgumentTypeError(f"{text!r} is not one of {', '.join(_MODES)}")
    return text
