"""Files that ship with the program."""

from pathlib import Path


def path(name: str) -> Path:
    """Where the shipped file or folder `name` is; the same in a checkout, a wheel and a bundle."""
    return Path(__file__).parent / name
