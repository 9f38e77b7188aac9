"""Rules for single fields of a config.json: type, bounds, choices."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, TypeGuard, cast

Kind: TypeAlias = Literal["int", "float", "bool", "text", "ints", "texts", "object"]

_NOUNS: dict[Kind, str] = {
    "int": "an integer",
    "float": "a number",
    "bool": "true or false",
    "text": "text",
    "ints": "a list of integers",
    "texts": "a list of texts",
    "object": "an object",
}


@dataclass(frozen=True, slots=True)
class Rule:
    """What a field may hold.

    Attributes:
        low: smallest number allowed; of lists, smallest element.
        high: largest number allowed; of lists, largest element.
        choices: the only texts allowed, when there are any.
        nullable: null is as good as a missing field.
    """

    kind: Kind
    low: float = -math.inf
    high: float = math.inf
    choices: tuple[str, ...] = ()
    nullable: bool = False

    @property
    def allowed(self) -> str:
        """The rule in words: "an integer from 1 to 1,024"."""
        if self.choices:
            prefix = "a list of " if self.kind == "texts" else ""
            return prefix + " or ".join(self.choices)
        words = _NOUNS[self.kind]
        if self.low > -math.inf:
            words += f" from {_number(self.low)} to {_number(self.high)}"
        return words + " or null" * self.nullable

    def admits(self, value: object) -> bool:
        """Whether a field that is there may have this value."""
        return (value is None and self.nullable) or _CHECKS[self.kind](self, value)

    def bounds(self, number: float) -> bool:
        """Whether a number lies within the bounds; a NaN does not."""
        return self.low <= number <= self.high


def shown(value: object) -> str:
    """A value as a short text for a message."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    return printable(f'"{value}"' if isinstance(value, str) else f"{value}")


def printable(text: str) -> str:
    """Text of a foreign file as part of one line."""
    text = text if len(text) <= 80 else text[:77] + "…"
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)


def is_integer(value: object) -> TypeGuard[int]:
    """Whether it is a JSON integer; true and false are not."""
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: object) -> TypeGuard[float]:
    return is_integer(value) or (isinstance(value, float) and math.isfinite(value))


def _chosen(rule: Rule, value: object) -> bool:
    return isinstance(value, str) and (not rule.choices or value in rule.choices)


def _all(value: object, one: Callable[[Any], bool]) -> bool:
    return isinstance(value, list) and all(one(element) for element in cast("list[Any]", value))


_CHECKS: dict[Kind, Callable[[Rule, object], bool]] = {
    "int": lambda rule, value: is_integer(value) and rule.bounds(value),
    "float": lambda rule, value: _is_number(value) and rule.bounds(value),
    "bool": lambda _, value: isinstance(value, bool),
    "text": _chosen,
    "ints": lambda rule, value: _all(value, lambda n: is_integer(n) and rule.bounds(n)),
    "texts": lambda rule, value: _all(value, lambda text: _chosen(rule, text)),
    "object": lambda _, value: isinstance(value, dict),
}


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"
