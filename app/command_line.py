"""What the commands of the terminal share: their parser and the options that pick a model."""

import argparse
import random
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import resources
from app.terminal import USAGE
from engine.errors import ModelRefused
from engine.request import DrafterOptions, ModelChoice

STARTER = "starter"


class Parser(argparse.ArgumentParser):
    """A parser that says in one sentence what is wrong."""

    def error(self, message: str) -> NoReturn:
        """End the process with the usage code."""
        self.exit(USAGE, f"{self.prog}: {message}. See {self.prog} --help.\n")


def add_model(parser: argparse.ArgumentParser) -> None:
    """Add --model, --target and --drafter."""
    parser.add_argument(
        "--model", metavar="NAME", default=STARTER, help="starter, or a model folder"
    )
    parser.add_argument("--target", metavar="DIR", type=Path, help="the folder of the model")
    parser.add_argument("--drafter", metavar="DIR", type=Path, help="the folder of its drafter")
    parser.add_argument(
        "--drafter-bits",
        metavar="N",
        type=whole(0, 16),
        default=0,
        help="0: the drafter as released; 8: packed in 8 bits",
    )
    parser.add_argument(
        "--drafter-confidence",
        metavar="X",
        type=number(0, 1),
        default=0.0,
        help="end drafts where the drafter believes less than this in all of them; 0: never",
    )


def chosen_model(args: argparse.Namespace) -> ModelChoice:
    """The folders that the options name.

    Raises:
        ModelRefused: a folder is not there, or options name no drafter.
    """
    target: Path | None = args.target
    if target is None:
        target = resources.path("starter") if args.model == STARTER else Path(args.model)
        if args.model == STARTER and not (target / "config.json").is_file():
            raise ModelRefused(
                "starter_missing",
                "The starter model is not on this machine yet.",
                action="Run make setup in the checkout, or name a folder with --target.",
            )
    for folder in (target, args.drafter):
        if folder is not None and not folder.is_dir():
            raise ModelRefused(
                "model_missing",
                f"There is no folder {folder}.",
                action="Name the folder that holds config.json and the weights.",
            )
    options = DrafterOptions(args.drafter_bits, args.drafter_confidence)
    if args.drafter is None and options != DrafterOptions():
        raise ModelRefused(
            "drafter_missing",
            "--drafter-bits and --drafter-confidence say how a drafter is run, but none is named.",
            action="Name its folder with --drafter, or leave them out.",
        )
    return ModelChoice(target, args.drafter, options)


def number(low: float, high: float, *, open_low: bool = False) -> Callable[[str], float]:
    """A type for argparse: a number from `low` to `high`, without `low` itself if `open_low`."""

    def parse(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not (low <= value <= high) or (open_low and value == low):
            bound = "above" if open_low else "from"
            raise argparse.ArgumentTypeError(
                f"{text!r} is not a number {bound} {low:g} to {high:g}"
            )
        return value

    return parse


def whole(low: int, high: int) -> Callable[[str], int]:
    """A type for argparse: a whole number from `low` to `high`."""

    def parse(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = low - 1
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {low} to {high}")
        return value

    return parse


def any_seed() -> int:
    """A seed nobody chose."""
    return random.SystemRandom().randrange(2**32)
