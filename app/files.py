"""Files that are whole at any moment, and damaged ones that are kept."""

import os
import time
from pathlib import Path


def write_whole(path: Path, content: bytes) -> None:
    """Replace the file at `path` by `content`: a reader sees the old or the new, never a mix.

    Raises:
        OSError: it could not be written; the old file stands.
    """
    fresh = path.with_name(f"{path.name}.new")
    try:
        with fresh.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
    except OSError:
        fresh.unlink(missing_ok=True)
        raise


def aside_name(path: Path, word: str) -> Path:
    """A name beside `path` that is not taken, with `word` and the time in it."""
    stamp = time.strftime("%Y%m%d-%H%M%S")
    number, name = 1, path.with_name(f"{path.name}.{word}-{stamp}")
    while name.exists():
        number += 1
        name = path.with_name(f"{path.name}.{word}-{stamp}-{number}")
    return name
