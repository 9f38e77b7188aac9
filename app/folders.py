"""Where things live."""

import os
from dataclasses import dataclass
from pathlib import Path

from platformdirs import PlatformDirs

HOME_VARIABLE = "SLIPSTREAM_HOME"


@dataclass(frozen=True, slots=True)
class Folders:
    """The four folders of the program: conversations, settings, what can be made again, logs."""

    data: Path
    config: Path
    cache: Path
    logs: Path

    @staticmethod
    def standard() -> "Folders":
        """The places of this system, or those below the folder that SLIPSTREAM_HOME names."""
        if root := os.environ.get(HOME_VARIABLE):
            return Folders.below(Path(root).expanduser())
        dirs = PlatformDirs("Slipstream", appauthor=False)
        return Folders(
            dirs.user_data_path, dirs.user_config_path, dirs.user_cache_path, dirs.user_log_path
        )

    @staticmethod
    def below(root: Path) -> "Folders":
        """All four below one folder."""
        return Folders(root / "data", root / "config", root / "cache", root / "logs")

    def make(self) -> None:
        """Create those that are missing, readable by this person only.

        Raises:
            OSError: one could not be created.
        """
        for folder in (self.data, self.config, self.cache, self.logs):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
