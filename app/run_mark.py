"""A mark on disk that tells the next run how this one ended."""

import fcntl
from pathlib import Path
from typing import IO

NAME = "running"


class RunMark:
    """A file that is locked while the program runs and removed when it ends in order.

    `is_alone` says whether no other run holds it; `crashed` whether the run before was killed or
    crashed. The lock goes with the process, however that ends.
    """

    def __init__(self, folder: Path) -> None:
        """Lock the mark in `folder`.

        Raises:
            OSError: it cannot be written.
        """
        self._path = folder / NAME
        existed = self._path.exists()
        self._file: IO[str] = self._path.open("a", encoding="ascii")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self.is_alone = True
        except BlockingIOError:
            self.is_alone = False
        self.crashed = self.is_alone and existed

    def clear(self) -> None:
        """Say that this run ended in order."""
        if self.is_alone:
            self._path.unlink(missing_ok=True)
        self._file.close()
