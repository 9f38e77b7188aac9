"""`slipstream bench`: how fast this machine writes, with and without drafting."""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from app.command_line import add_model, chosen_model, whole
from app.terminal import FAILED, OK, Terminal, failed, sentence
from engine import bench
from engine.backend import prepare
from engine.bench_modes import guarded_against_fast
from engine.bench_panels import PANELS
from engine.bench_turns import second_turn
from engine.errors import EngineError
from engine.request import ModelChoice

_PROBE = "Write a Python function that tells whether a number is prime, with a docstring."
_WIN = 1.05  # drafting wins where it is this much faster


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    add_model(parser)
    add = parser.add_argument
    add("--json", action="store_true", help="print the figures as JSON")
    add(
        "--panel",
        action="append",
        choices=[panel.name for panel in PANELS],
        help="measure only this; repeatable",
    )
    add("--repeats", type=whole(1, 1000), default=3, metavar="N")
    add("--max-tokens", type=whole(2, 10**5), default=128, metavar="N", help="of each reply")
    add("--draft", choices=("auto", "on"), default="auto")
    add("--all", action="store_true", help="everything that follows, too")
    add("--plain-against-mlx-lm", action="store_true", help="plain against mlx-lm's own loop")
    add("--second-turn", action="store_true", help="the first token of a second turn")
    add("--modes", action="store_true", help="Guarded against Fast")
    add(
        "--probe",
        nargs="?",
        const=_PROBE,
        metavar="PROMPT",
        help="replay a reply: blocks against single steps, and the drafter beside it",
    )
    add("--widths", action="store_true", help="what a pass of W rows costs, and the exactness gate")


def run(args: argparse.Namespace, terminal: Terminal, make_engine: Callable[[], Any]) -> int:
    """Measure, print, and return the exit code; tokens that differ are a failure."""
    try:
        report = _measure(args, chosen_model(args), terminal, make_engine)
    except EngineError as error:
        event = failed(error)
        if args.json:
            terminal.json({"error": event.code, "message": sentence(event)})
        terminal.note(f"slipstream bench: {sentence(event)}")
        return FAILED
    terminal.status("")
    if args.json:
        terminal.json(report)
    else:
        terminal.write(_text(report))
    return OK if report["same_tokens"] and not terminal.closed else FAILED


def _measure(
    args: argparse.Namespace,
    model: ModelChoice,
    terminal: Terminal,
    make_engine: Callable[[], Any],
) -> dict[str, Any]:
    backend = prepare()
    terminal.status("Loading…")
    engine = make_engine()
    bench.warm_up(engine, model)
    results: list[bench.PanelResult] = []
    for panel in PANELS:
        if args.panel and panel.name not in args.panel:
            continue
        terminal.status(f"Measuring {panel.name}…")
        for step in bench.run_panel(
            engine,
            model,
            panel,
            repeats=args.repeats,
            max_tokens=args.max_tokens,
            wish=args.draft,
        ):
            if isinstance(step, int):
                terminal.status(f"Measuring {panel.name}: {step} of {args.repeats}")
            else:
                results.append(step)
    report = _report(results) | {"backend": backend.name, "blas": backend.blas}
    if args.all or args.second_turn:
        terminal.status("Measuring a second turn…")
        report["second_turn"] = asdict(second_turn(engine, model, args.repeats))
    if args.all or args.plain_against_mlx_lm:
        from engine.bench_plain import against_mlx_lm  # brings MLX

        terminal.status("Measuring mlx-lm's own loop…")
        report["plain_against_mlx_lm"] = asdict(against_mlx_lm(engine, model, repeats=args.repeats))
    if args.all or args.modes:
        terminal.status("Measuring Guarded against Fast…")
        report["modes"] = [asdict(m) for m in guarded_against_fast(engine, model, args.repeats)]
    if args.all or args.probe:
        from engine.bench_probe import probe

        terminal.status("Replaying a reply…")
        report["probe"] = asdict(probe(engine, model, args.probe or _PROBE, args.max_tokens))
    if args.all or args.widths:
        from engine.bench_plain import costs

        terminal.status("Measuring what a wider pass costs…")
        report["passes"] = asdict(costs(engine))
    return report


def _report(results: Sequence[bench.PanelResult]) -> dict[str, Any]:
    """The panels, and all of them taken together."""
    whole_run = bench.together(results)
    winners = [panel.name for panel in results if panel.ratio.median >= _WIN]
    return {
        "ratio": asdict(whole_run.ratio),
        "plain": asdict(whole_run.plain),
        "drafted": asdict(whole_run.drafted),
        "panels": [asdict(panel) | {"wins": panel.name in winners} for panel in results],
        "same_tokens": all(panel.same_tokens for panel in results),
        "verdict": f"Drafting wins on: {', '.join(winners)}." if winners else "No width wins here.",
        "load": bench.load_average(),
    }


def _text(report: dict[str, Any]) -> str:
    lines = [
        f"{'':<12} {'plain':>8} {'drafted':>8}   {'ratio (min to max)':<22} {'right':>9}  same"
    ]
    for panel in report["panels"]:
        right = f"{panel['accepted']}/{panel['proposed']}"
        lines.append(
            f"{panel['name']:<12} {panel['plain']['median']:>8.1f} "
            f"{panel['drafted']['median']:>8.1f}   {_spread(panel['ratio']):<22} {right:>9}  "
            f"{'yes' if panel['same_tokens'] else 'NO'}"
        )
    lines.append(f"{'together':<12} {'':>17}   {_spread(report['ratio'])}")
    if turn := report.get("second_turn"):
        lines.append(
            f"second turn of {turn['tokens']} tokens: first token in "
            f"{turn['warm']['median']:.2f} s, cold {turn['cold']['median']:.2f} s, "
            f"{_spread(turn['ratio'])} times sooner"
        )
    if plain := report.get("plain_against_mlx_lm"):
        lines.append(
            f"plain against mlx-lm: {plain['ours']['median']:.1f} and "
            f"{plain['theirs']['median']:.1f} tokens/s, ratio {_spread(plain['ratio'])}, "
            f"{'same' if plain['same_tokens'] else 'OTHER'} tokens"
        )
    lines += [
        f"Guarded over Fast, {modes['name']}: {_spread(modes['ratio'])}, "
        f"{modes['rechecked']} of {modes['rounds']} rounds re-checked"
        for modes in report.get("modes", ())
    ]
    if probe := report.get("probe"):
        lines += _probe_lines(probe)
    if passes := report.get("passes"):
        lines += _pass_lines(passes)
    lines.append(report["verdict"])
    if report["load"] is not None:
        lines.append(f"Load average of the machine: {report['load']}. Rates are tokens per second.")
    return "\n".join(lines) + "\n"


def _probe_lines(probe: dict[str, Any]) -> list[str]:
    differing, shadow = probe["disagreements"], probe["shadow"]
    lines = [
        f"replay of {probe['tokens']} tokens in blocks of {probe['width']} rows: "
        f"{len(differing)} would be chosen otherwise"
    ]
    lines += [
        f"  token {each['at']}, row {each['row']}: {each['chain_id']} or {each['block_id']}, "
        f"the two best {each['margin']:.3g} apart"
        for each in differing
    ]
    if shadow is None:
        return lines
    rates = [
        f"{right / asked:.2f}" if asked else "-"
        for right, asked in zip(shadow["right_at"], shadow["asked_at"], strict=True)
    ]
    none, some, whole = shadow["rounds"]
    times = ", ".join(
        f"{what} {shadow[name]['median']:.1f} ms"
        for what, name in (
            ("describe the guesses", "draft_build_ms"),
            ("the check", "verify_build_ms"),
            ("wait", "sync_ms"),
        )
    )
    return [
        *lines,
        f"drafter beside it, right by position: {' '.join(rates)}",
        f"its rounds: {none} accepted none, {some} some, {whole} all; "
        f"{shadow['accepted']} of {shadow['proposed']} guesses",
        f"a round's time: {times}",
    ]


def _pass_lines(passes: dict[str, Any]) -> list[str]:
    lines = [
        f"a pass of {each['width']:>2} rows: {each['ms']['median']:>6.1f} ms, "
        f"pays from {each['break_even']:.2f} tokens per round"
        for each in passes["passes"]
    ]
    return [
        *lines,
        f"exactness gate: {passes['gate_s']:.2f} s, exact up to {passes['exact_width']}",
    ]


def _spread(spread: dict[str, Any]) -> str:
    return f"{spread['median']:.2f} ({spread['min']:.2f} to {spread['max']:.2f})"
