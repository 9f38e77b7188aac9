"""Measured exactness, remembered on disk until anything it depends on changes."""

import contextlib
import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from engine.exactness import Gate


class Gates:
    """One file for each key, in `folder`; a file that cannot be read is measured anew."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def recall(self, key: str) -> "Gate | None":
        """The gate measured under `key`, or None."""
        from engine.exactness import Gate, Width  # brings MLX

        try:
            found: Any = json.loads(self._file(key).read_text(encoding="utf-8"))
            widths = tuple(Width(**width) for width in found.pop("widths"))
            prompts = tuple(cast("list[int]", found.pop("prompts")))
            return Gate(widths=widths, prompts=prompts, **found)
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return None

    def remember(self, key: str, gate: "Gate") -> None:
        """Keep `gate`; a disk that is full or read-only only means that it is measured again."""
        file = self._file(key)
        part = file.with_suffix(f".{os.getpid()}.part")
        with contextlib.suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            part.write_text(json.dumps(asdict(gate)), encoding="utf-8")
            part.replace(file)

    def _file(self, key: str) -> Path:
        return self._folder / f"{key}.json"
