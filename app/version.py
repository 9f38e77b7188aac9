"""Which version of the program this is."""

import tomllib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


def program_version() -> str:
    """The installed version, or that of the checkout the program runs from."""
    try:
        return version("slipstream-chat")
    except PackageNotFoundError:
        project = Path(__file__).parents[1] / "pyproject.toml"
        if not project.is_file():
            return "unknown"
        return str(tomllib.loads(project.read_text(encoding="utf-8"))["project"]["version"])


def installed(distribution: str) -> str | None:
    """The version of an installed distribution, found without importing it."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None
