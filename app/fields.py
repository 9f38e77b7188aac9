"""JSON objects read into typed values within bounds, with a sentence for each value refused."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar, cast

C = TypeVar("C", bound=str)
D = TypeVar("D")


class Fields:
    """The fields of one JSON object. A value that is missing gives the default.

    A value of the wrong kind or out of bounds gives the default too and adds a sentence to
    `complaints`, which the parts of an object share.
    """

    def __init__(self, values: object, name: str = "", complaints: list[str] | None = None) -> None:
        self.complaints: list[str] = [] if complaints is None else complaints
        self._name = name
        if not isinstance(values, Mapping):
            self.complaints.append(f"{name or 'The content'} is not an object.")
            values = {}
        self._values = cast("Mapping[str, Any]", values)  # Any: JSON from outside

    def need(self, *keys: str) -> None:
        """Complain about each of `keys` that is missing."""
        for key in keys:
            if key not in self._values:
                self._refuse(key, "is missing", None)

    def part(self, key: str) -> "Fields":
        """The object at `key`."""
        return Fields(self._values.get(key, {}), self._full(key), self.complaints)

    def maybe_part(self, key: str) -> "Fields | None":
        """The object at `key`, or null."""
        return None if self._values.get(key) is None else self.part(key)

    def parts(self, key: str) -> "tuple[Fields, ...]":
        """The objects in the list at `key`; numbered from 1 in complaints."""
        value = self._values.get(key, ())
        if not isinstance(value, list | tuple):
            return self._refuse(key, "is not a list", ())
        items = cast("list[object]", value)
        return tuple(
            Fields(item, f"{self._full(key)}.{number}", self.complaints)
            for number, item in enumerate(items, 1)
        )

    def number(self, key: str, default: float, low: float, high: float) -> float:
        """A number between `low` and `high`, ends included."""
        value = self._values.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return self._refuse(key, "is not a number", default)
        if not low <= value <= high:  # a NaN is refused here too
            return self._refuse(key, f"is not between {low:g} and {high:g}", default)
        return float(value)

    def integer(self, key: str, default: int, low: int, high: int) -> int:
        """A whole number between `low` and `high`, ends included."""
        value = self._values.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int):
            return self._refuse(key, "is not a whole number", default)
        if not low <= value <= high:
            return self._refuse(key, f"is not between {low} and {high}", default)
        return value

    def optional(self, key: str, low: int, high: int) -> int | None:
        """A whole number between `low` and `high`, or null."""
        if self._values.get(key) is None:
            return None
        before = len(self.complaints)
        value = self.integer(key, low, low, high)
        return value if len(self.complaints) == before else None

    def optional_number(self, key: str, low: float, high: float) -> float | None:
        """A number between `low` and `high`, or null."""
        return None if self._values.get(key) is None else self.number(key, low, low, high)

    def ids(self, key: str) -> tuple[int, ...]:
        """A list of token ids."""
        ids = _whole_numbers(self._values.get(key, ()))
        return self._refuse(key, "is not a list of token ids", ()) if ids is None else ids

    def pairs(self, key: str) -> tuple[tuple[int, int], ...]:
        """A list of pairs of whole numbers, none of them 0."""
        value = self._values.get(key, ())
        items = cast("list[object]", value) if isinstance(value, list | tuple) else [None]
        pairs = [_whole_numbers(item) for item in items]
        found = [(pair[0], pair[1]) for pair in pairs if pair and len(pair) == 2 and all(pair)]
        if len(found) == len(items):
            return tuple(found)
        return self._refuse(key, "is not a list of pairs", ())

    def flag(self, key: str, default: bool) -> bool:
        """True or false."""
        value = self._values.get(key, default)
        return value if isinstance(value, bool) else self._refuse(key, "is not a flag", default)

    def choice(self, key: str, default: C, options: tuple[C, ...]) -> C:
        """One of the words in `options`."""
        value = self._values.get(key, default)
        if value not in options:
            return self._refuse(key, f"is not one of {', '.join(options)}", default)
        return cast("C", value)

    def maybe_choice(self, key: str, options: tuple[str, ...]) -> str | None:
        """One of the words in `options`, or null."""
        if self._values.get(key) is None:
            return None
        value = self.choice(key, "", options)
        return value or None

    def text(self, key: str, default: str = "") -> str:
        """Any text."""
        value = self._values.get(key, default)
        return value if isinstance(value, str) else self._refuse(key, "is not text", default)

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts, none of them empty."""
        value = self._values.get(key, ())
        if isinstance(value, list | tuple):
            items = cast("list[object]", value)
            texts = tuple(item for item in items if isinstance(item, str) and item)
            if len(texts) == len(items):
                return texts
        return self._refuse(key, "is not a list of texts", ())

    def path(self, key: str) -> Path | None:
        """A path, or null."""
        value = self._values.get(key)
        if value is None:
            return None
        return Path(value) if isinstance(value, str) else self._refuse(key, "is not a path", None)

    def maybe(self, key: str) -> bool | None:
        """True, false or null."""
        value = self._values.get(key)
        if value is None or isinstance(value, bool):
            return value
        return self._refuse(key, "is not a flag", None)

    def _refuse(self, key: str, reason: str, default: D) -> D:
        self.complaints.append(f"{self._full(key)} {reason}.")
        return default

    def _full(self, key: str) -> str:
        return f"{self._name}.{key}" if self._name else key


def parsed(content: bytes | str) -> object:
    """The JSON value in `content`.

    Raises:
        ValueError: it is not JSON, or not UTF-8, or nested without end.
    """
    try:
        return cast("object", json.loads(content))
    except RecursionError as error:
        raise ValueError("The content is nested too deeply.") from error


def _whole_numbers(value: object) -> tuple[int, ...] | None:
    """A list of whole numbers from 0 to 2**32 - 1; None if it is something else."""
    if not isinstance(value, list | tuple):
        return None
    items = cast("list[object]", value)
    numbers = tuple(item for item in items if type(item) is int and 0 <= item < 2**32)
    return numbers if len(numbers) == len(items) else None
