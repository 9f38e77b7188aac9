"""`slipstream models`: the known pairs, their licences, and what is on this machine of them."""

import argparse
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

import resources
from app import catalogue
from app.catalogue import Catalogue, Found, Half, Licence, Pair
from app.folders import Folders
from app.opening import NAME
from app.store import ConversationStore
from app.terminal import FAILED, OK, Terminal

SEE_PAGE = "see the model's page"
_HEAD = ("model ← drafter", "size", "licence", "by others", "here")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.add_argument("--json", action="store_true", help="print all that is known as JSON")
    parser.add_argument(
        "folders", metavar="DIR", nargs="*", type=Path, help="say what these folders are, too"
    )


def run(args: argparse.Namespace, terminal: Terminal, _make_engine: Callable[[], Any]) -> int:
    """Print the catalogue; a damaged one or a folder without a model is a failure."""
    known = catalogue.read()
    chosen = [resources.path("starter"), *_chosen(Folders.standard().data / NAME)]
    found = {folder: known.find(folder) for folder in dict.fromkeys((*chosen, *args.folders))}
    here = [one for one in found.values() if one is not None]
    missing = [folder for folder in args.folders if found[folder] is None]
    if args.json:
        terminal.json(_report(known, here, missing))
    else:
        terminal.write(_text(known, here))
    if known.problem is not None:
        problem = known.problem
        terminal.note(f"slipstream models: {problem.sentence} {problem.safe} {problem.action}.")
    for folder in missing:
        terminal.note(f"slipstream models: there is no model and no drafter in {_line(folder)}.")
    return FAILED if known.problem is not None or missing or terminal.closed else OK


def _chosen(store: Path) -> list[Path]:
    """The folders that conversations use; none of a store that is not there or cannot be read."""
    if not store.is_file():
        return []
    try:
        with closing(ConversationStore.copied(store)) as copy:
            settings = [conversation.settings for conversation in copy.conversations()]
    except sqlite3.Error:
        return []
    folders = [folder for one in settings for folder in (one.target, one.drafter)]
    return [folder for folder in folders if folder is not None]


def _report(known: Catalogue, here: list[Found], missing: list[Path]) -> dict[str, Any]:
    """What `--json` prints."""
    return {
        "pairs": [
            asdict(pair) | {"here": [one.folder for one in here if one.pair is pair]}
            for pair in known.pairs
        ],
        "folders": [
            {
                "folder": one.folder,
                "is_drafter": one.is_drafter,
                "name": None if one.pair is None else one.pair.name,
                "repository": None if one.half is None else one.half.repositories[0],
                "licence": None if one.licence is None else asdict(one.licence),
                "says_its_folder": one.stated is not None,
            }
            for one in here
        ],
        "missing": missing,
        "problem": None if known.problem is None else known.problem.sentence,
    }


def _text(known: Catalogue, here: list[Found]) -> str:
    rows = [_HEAD, *(row for pair in known.pairs for row in _rows(pair, here))]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD))]
    lines: list[str] = []
    if known.pairs:
        lines += [_joined(row, widths) for row in rows]
        lines += ["", *_licences(known), "", *_notes(known), ""]
    lines += ["On this machine, of the folders that are chosen:"]
    lines += [f"  {_said(one)}" for one in here] or ["  none"]
    return "\n".join(lines) + "\n"


def _joined(row: tuple[str, ...], widths: list[int]) -> str:
    """A row of the table, its number to the right."""
    cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
    cells[1] = row[1].rjust(widths[1])
    return "  ".join(cells).rstrip()


def _rows(pair: Pair, here: Iterable[Found]) -> list[tuple[str, ...]]:
    """A line for the model and one for each drafter; the gain is that of the first."""
    there = [one.half for one in here]
    rows = [_row("", pair.target, "", is_here=pair.target in there)]
    if not pair.drafters:
        return [*rows, ("  no drafter is known", "", "", "", "")]
    gain = pair.gain
    numbers = [] if gain is None else [f"{gain.low:.1f}", f"{gain.high:.1f}"]
    faster = " to ".join(dict.fromkeys(numbers)) + " ×" * bool(numbers)
    for drafter in pair.drafters:
        rows.append(_row("  ← ", drafter, faster, is_here=drafter in there))
        faster = ""
    return rows


def _row(mark: str, half: Half, faster: str, *, is_here: bool) -> tuple[str, ...]:
    licence = SEE_PAGE if half.licence is None else half.licence.name
    name = f"{mark}{half.repositories[0]}"
    return name, _size(half.parameters), licence, faster, "yes" if is_here else ""


def _size(parameters: int | None) -> str:
    if parameters is None:
        return ""
    if parameters >= 1e9:
        return f"{parameters / 1e9:.1f} B"
    return f"{parameters / 1e6:.0f} M"


def _licences(known: Catalogue) -> list[str]:
    """What each licence asks, and what none means."""
    lines = [f"{licence.name}: {licence.terms}" for licence in known.licences.values()]
    page = f'"{SEE_PAGE}": no licence is known here. Look before you use it.'
    return [*lines, page[0].upper() + page[1:]]


def _notes(known: Catalogue) -> list[str]:
    """What others measured, and that nothing of this is shipped."""
    dense = [pair.gain for pair in known.pairs if pair.gain is not None and not pair.mixture]
    low, high = min(gain.low for gain in dense), max(gain.high for gain in dense)
    mixtures = ", ".join(pair.name for pair in known.pairs if pair.mixture and pair.drafters)
    return [
        f"Others report {low:.1f} to {high:.1f} times the plain speed on Apple silicon for dense "
        "models,",
        f"and little or nothing for mixtures of experts ({mixtures}).",
        "None of it was measured here; slipstream bench measures your own pair.",
        "Only the starter comes with Slipstream. Name folders with --target and --drafter.",
    ]


def _said(found: Found) -> str:
    """One folder in one line."""
    what = "drafter" if found.is_drafter else "model"
    half = found.half
    name = f"like {half.repositories[0]}" if half is not None else "not in this list"
    return f"{what:<7}  {_line(found.folder)}: {name}; {_licence(found.licence, found)}"


def _licence(licence: Licence | None, found: Found) -> str:
    if licence is None:
        return SEE_PAGE
    return f"{licence.name}, says its folder" if found.stated is not None else licence.name


def _line(folder: Path) -> str:
    """A path as part of one line, whatever its letters are."""
    return "".join(
        letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in str(folder)
    )
