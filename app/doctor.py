"""`slipstream doctor`: what this machine has, what is missing, and whether the engine works."""

import argparse
import ctypes
import os
import platform
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import resources
from app.folders import Folders
from app.terminal import FAILED, OK, Terminal
from app.version import installed, program_version
from engine.backend import Backend, prepare
from engine.controls import Controls
from engine.errors import EngineError
from engine.events import Failed, Finished
from engine.request import Drafting, ModelChoice, Request, Turn

_QUESTION = "What is the capital of France?"
_TOKENS = 16
_ROOM = 500 * 2**20  # bytes
# What the window needs of a Linux system, and the package of Debian and Ubuntu that has it.
_QT_LIBRARIES = {
    "libEGL.so.1": "libegl1",
    "libGL.so.1": "libgl1",
    "libxkbcommon.so.0": "libxkbcommon0",
    "libfontconfig.so.1": "libfontconfig1",
    "libdbus-1.so.3": "libdbus-1-3",
    "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
    "libxcb-icccm.so.4": "libxcb-icccm4",
    "libxcb-keysyms.so.1": "libxcb-keysyms1",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is not as it should be, and the one thing to do about it.

    `stops` says that chatting is impossible until it is done; otherwise it is only slower or less.
    """

    what: str
    action: str
    stops: bool = False


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")
    parser.add_argument("--no-test", action="store_true", help="do not try the engine")


def run(args: argparse.Namespace, terminal: Terminal, make_engine: Callable[[], Any]) -> int:
    """Look, print, and return the exit code: 0 when chatting is possible."""
    backend, folders = prepare(), Folders.standard()
    problems = [*_system(backend), *_qt(), *_disk(folders.data)]
    starter = _starter()
    if starter is None:
        problems.append(
            Finding(
                "The starter model is not there.", "Run make setup in the checkout.", stops=True
            )
        )
    test: dict[str, Any] | None = None
    if not args.no_test and starter is not None and not any(p.stops for p in problems):
        terminal.status("Trying the engine…")
        test = _self_test(make_engine, starter)
        terminal.status("")
        if test["problem"]:
            problems.append(Finding(test["problem"], "Reinstall with make setup.", stops=True))
        elif fault := test["exactness"]["fault"]:
            problems.append(Finding(f"Drafting is refused. {fault}", "Report this, please."))
    report = _report(backend, folders, starter, test, problems)
    if args.json:
        terminal.json(report)
    else:
        terminal.write(_text(report))
    return OK if report["ok"] and not terminal.closed else FAILED


def _report(
    backend: Backend,
    folders: Folders,
    starter: Path | None,
    test: dict[str, Any] | None,
    problems: list[Finding],
) -> dict[str, Any]:
    return {
        "ok": not any(problem.stops for problem in problems),
        "version": program_version(),
        "python": platform.python_version(),
        "qt": installed("PySide6_Essentials"),
        "mlx": installed("mlx"),
        "mlx_lm": installed("mlx-lm"),
        "backend": backend.name,
        "blas": backend.blas,
        "compiler": backend.compiler,
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "cpus": os.cpu_count(),
        "display": _has_display(),
        "starter": None if starter is None else str(starter),
        "data_dir": str(folders.data),
        "log_dir": str(folders.logs),
        "self_test": test,
        "problems": [asdict(problem) for problem in problems],
    }


def _system(backend: Backend) -> Iterator[Finding]:
    if not (3, 11) <= sys.version_info[:2] <= (3, 13):
        yield Finding(
            f"Python {platform.python_version()} was never tried with this program.",
            "Use Python 3.11, 3.12 or 3.13.",
        )
    for name in ("mlx", "mlx-lm", "PySide6_Essentials", "qasync", "huggingface_hub"):
        if installed(name) is None:
            stops = name in ("mlx", "mlx-lm")
            yield Finding(f"The package {name} is not installed.", "Run make setup.", stops)
    if sys.platform == "linux":
        if backend.blas == "reference":
            yield Finding(
                "Without OpenBLAS the model answers many times slower.",
                "sudo apt-get install libopenblas0-pthread",
            )
        if not backend.compiler:
            yield Finding(
                "Without a C++ compiler MLX cannot fuse its CPU kernels and is slower.",
                "sudo apt-get install g++",
            )
    elif sys.platform == "darwin" and platform.machine() != "arm64":
        yield Finding(
            "MLX needs a Mac with Apple silicon, or Linux.", "Use such a machine.", stops=True
        )


def _qt() -> Iterator[Finding]:
    """What keeps the window from opening; the terminal works without it."""
    qt = installed("PySide6_Essentials")
    if qt is not None and sys.version_info[:2] == (3, 11) and qt.startswith("6.12"):
        yield Finding(f"PySide6 {qt} aborts on Python 3.11.", "Install PySide6_Essentials 6.11.")
    if sys.platform != "linux":
        return
    missing = [package for name, package in _QT_LIBRARIES.items() if not _loads(name)]
    if missing:
        yield Finding(
            "The window lacks libraries of the system; the terminal works.",
            f"sudo apt-get install {' '.join(missing)}",
        )


def _disk(data: Path) -> Iterator[Finding]:
    """Whether conversations can be saved."""
    there = data
    while not there.exists() and there != there.parent:
        there = there.parent
    if not (there.is_dir() and os.access(there, os.W_OK)):
        yield Finding(
            f"Conversations cannot be saved: {there} is not writable.",
            "Make the folder writable, or set SLIPSTREAM_HOME to one that is.",
            stops=True,
        )
    elif (free := shutil.disk_usage(there).free) < _ROOM:
        yield Finding(
            f"The disk that holds conversations has {free / 2**20:.0f} MB left.", "Free some space."
        )


def _starter() -> Path | None:
    folder = resources.path("starter")
    needed = ("config.json", "model.safetensors", "tokenizer.json")
    return folder if all((folder / name).is_file() for name in needed) else None


def _exactness(engine: Any) -> dict[str, Any]:  # noqa: ANN401 its import takes seconds
    """What was measured before about the starter's wide passes; nothing is measured now."""
    gate = None if engine.model is None else engine.model.trust.gate
    if gate is None:
        return {"measured": False, "exact_width": None, "max_difference": None, "fault": None}
    ran = [seen for seen in gate.widths if not seen.not_run]
    return {
        "measured": True,
        "exact_width": gate.exact_width,
        "widest": max((seen.width for seen in ran), default=1),
        "max_difference": max((seen.max_difference for seen in ran), default=0.0),
        "fault": gate.fault or None,
    }


def _exactness_text(known: dict[str, Any]) -> str:
    if not known["measured"]:
        return "not measured yet; slipstream check measures it"
    if known["exact_width"] >= known["widest"]:
        return f"equal to the last bit up to {known['widest']} rows at once"
    equal = "none" if known["exact_width"] == 1 else f"up to {known['exact_width']}"
    return (
        f"equal to the last bit: {equal}; "
        f"up to {known['widest']} rows at once scores differ by {known['max_difference']:.2g}"
    )


def _self_test(make_engine: Callable[[], Any], starter: Path) -> dict[str, Any]:
    """Ask the starter something, with and without drafting: the same tokens must come."""
    begin = time.perf_counter()
    result: dict[str, Any] = {"problem": "", "text": "", "same_tokens": None, "tokens_per_s": None}
    try:
        engine = make_engine()
        drafted, plain = (_answer(engine, starter, Drafting(wish)) for wish in ("on", "off"))
    except (EngineError, ImportError, RuntimeError, OSError) as error:
        return result | {"problem": f"The engine does not work: {error}"}
    same = drafted.token_ids == plain.token_ids
    return result | {
        "problem": "" if same else "Drafting changed the tokens of a reply.",
        "text": plain.text,
        "same_tokens": same,
        "tokens_per_s": plain.tokens_per_s,
        "exactness": _exactness(engine),
        "seconds": round(time.perf_counter() - begin, 2),
    }


def _answer(engine: Any, starter: Path, drafting: Drafting) -> Finished:  # noqa: ANN401 its import takes seconds
    """A short greedy reply.

    Raises:
        EngineError: the engine could not give one.
    """
    request = Request(
        ModelChoice(starter), (Turn("user", _QUESTION),), drafting=drafting, max_tokens=_TOKENS
    )
    last = [*engine.reply(request, Controls())][-1]
    if isinstance(last, Failed):
        raise EngineError(last.code, last.message, safe=last.safe, action=last.action)
    return last


def _word(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else str(value)


def _has_display() -> bool:
    if sys.platform != "linux":
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _loads(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def _text(report: dict[str, Any]) -> str:
    shown = {k: v for k, v in report.items() if k not in ("ok", "problems", "self_test")}
    lines = [f"{name.replace('_', ' '):<10} {_word(value)}" for name, value in shown.items()]
    test = report["self_test"]
    if test and not test["problem"]:
        lines.append(f"{'self-test':<10} passed in {test['seconds']} s")
        lines.append(f"{'exactness':<10} {_exactness_text(test['exactness'])}")
    lines += [f"- {problem['what']} {problem['action']}" for problem in report["problems"]]
    lines.append("Ready to chat." if report["ok"] else "Chatting is not possible yet.")
    return "\n".join(lines) + "\n"
