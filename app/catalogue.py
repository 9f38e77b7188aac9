"""The known pairs of model and drafter, and what a chosen folder is of them.

A folder is known by its config.json, never by its name: a model by `model_type`, `hidden_size`,
`num_hidden_layers`, `vocab_size` and, where two differ in nothing else, `max_position_embeddings`;
a drafter by `architectures`, `hidden_size`, `vocab_size` and `num_target_layers`. These are the
sizes of a family: a fine-tune has them too.
"""

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import resources
from app import licence_file
from app.fields import Fields, parsed
from app.problem import Problem
from engine import config
from engine.errors import ModelRefused
from engine.fields import printable

NAME = "catalogue.json"
_WHOLE = 2**40
_START = 200  # characters of a licence file in which its name has to stand
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Licence:
    """A licence by its name, and in a sentence what it asks; no terms where they are not known."""

    name: str
    terms: str = ""


@dataclass(frozen=True, slots=True)
class Shape:
    """What config.json has to say; None of a number means any.

    Attributes:
        kind: `model_type` of a model, one of the `architectures` of a drafter.
        layers: of the model; a drafter gives it as `num_target_layers`.
        context: `max_position_embeddings`.
    """

    kind: str
    hidden_size: int | None
    layers: int | None
    vocab_size: int | None
    context: int | None


@dataclass(frozen=True, slots=True)
class Half:
    """A model or a drafter as its publisher names it.

    Attributes:
        repositories: the published one first, then others of the same sizes.
        licence: None if nobody said which.
        parameters: None if nobody said how many; `active` are those used for one token.
        source: where all this is from.
    """

    repositories: tuple[str, ...]
    licence: Licence | None
    parameters: int | None
    active: int | None
    shape: Shape
    source: str


@dataclass(frozen=True, slots=True)
class Gain:
    """How many times faster others measured drafting to be, and on what."""

    low: float
    high: float
    on: str
    source: str


@dataclass(frozen=True, slots=True)
class Memory:
    """The most memory, in gigabytes, that others saw a pair take, and what they ran."""

    gigabytes: float
    of: str
    source: str


@dataclass(frozen=True, slots=True)
class Pair:
    """A model with its known drafters. A `mixture` routes each token to a few experts.

    `gain` and `memory` were measured with the first drafter.
    """

    name: str
    mixture: bool
    target: Half
    drafters: tuple[Half, ...]
    gain: Gain | None
    memory: Memory | None


@dataclass(frozen=True, slots=True)
class Found:
    """What a folder is.

    Attributes:
        is_drafter: it is one by its config, known or not.
        pair: the one it belongs to, and `half` what it is of it.
        stated: the licence that the folder itself names.
        licence: that one, else the published one, else None.
    """

    folder: Path
    is_drafter: bool
    pair: Pair | None
    half: Half | None
    stated: Licence | None

    @property
    def licence(self) -> Licence | None:
        """What the folder says of itself counts before what is known of its like."""
        return self.stated or (None if self.half is None else self.half.licence)


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The known pairs; `problem` says why there are none.

    Attributes:
        licences: by the short name that model pages use.
        titles: what a text of a licence begins with.
    """

    pairs: tuple[Pair, ...] = ()
    licences: Mapping[str, Licence] = field(default_factory=dict[str, Licence])
    titles: tuple[tuple[str, Licence], ...] = ()
    problem: Problem | None = None

    def find(self, folder: Path) -> Found | None:
        """What the folder of a model or a drafter is; None if it is neither."""
        try:
            if not (folder / config.NAME).is_file():  # nor a pipe, which would never end
                return None
            fields = config.parse(folder)
        except (ModelRefused, OSError):
            return None
        is_drafter = bool(config.drafter_kind(fields))
        fits = _is_drafter if is_drafter else _is_target
        pair, half = next(
            (
                (pair, half)
                for pair in self.pairs
                for half in (pair.drafters if is_drafter else (pair.target,))
                if fits(fields, half.shape)
            ),
            (None, None),
        )
        return Found(folder, is_drafter, pair, half, self._named(licence_file.stated(folder)))

    def _named(self, text: str) -> Licence | None:
        """The licence that a text begins with, or its first line; None of no text."""
        start = " ".join(text.split())[:_START].casefold()
        if start in self.licences:
            return self.licences[start]
        places = [
            (match.start(), licence)
            for words, licence in self.titles
            if (match := re.search(rf"(?<!\w){re.escape(words)}(?!\w)", start))
        ]
        if places:
            return min(places, key=lambda place: place[0])[1]
        title = printable(licence_file.title(text))
        return Licence(title) if title else None


def read(path: Path | None = None) -> Catalogue:
    """The catalogue that ships with the program, or the one at `path`.

    A damaged one is empty and says so: nothing depends on it but suggestions.
    """
    try:
        fields = Fields(parsed((path or resources.path(NAME)).read_bytes()))
        found = _catalogue(fields)
        complaints = fields.complaints
    except (OSError, ValueError) as error:
        found, complaints = Catalogue(), [f"{type(error).__name__}."]
    if not complaints:
        return found
    _log.warning("The catalogue is damaged: %s", " ".join(complaints))
    problem = Problem(
        "The list of known models is damaged",
        f"Nothing is suggested, and licences are named only where a folder does: {complaints[0]}",
        "Your own folders work as before.",
        "Install Slipstream again",
    )
    return Catalogue(problem=problem)


def _catalogue(fields: Fields) -> Catalogue:
    fields.need("licences", "pairs")
    licences: dict[str, Licence] = {}
    titles: list[tuple[str, Licence]] = []
    for one in fields.parts("licences"):
        one.need("id", "name", "aliases", "terms", "source")
        licence = Licence(one.text("name"), one.text("terms"))
        licences[one.text("id")] = licence
        names = (licence.name, *one.texts("aliases"))
        titles += [(name.casefold(), licence) for name in names]
    pairs = tuple(_pair(one, licences) for one in fields.parts("pairs"))
    return Catalogue(pairs, licences, tuple(titles))


def _pair(fields: Fields, licences: Mapping[str, Licence]) -> Pair:
    fields.need("name", "mixture", "target", "drafters", "gain", "memory")
    gain, memory = fields.maybe_part("gain"), fields.maybe_part("memory")
    return Pair(
        fields.text("name"),
        fields.flag("mixture", False),
        _half(fields.part("target"), licences),
        tuple(_half(drafter, licences) for drafter in fields.parts("drafters")),
        None if gain is None else _gain(gain),
        None if memory is None else _memory(memory),
    )


def _half(fields: Fields, licences: Mapping[str, Licence]) -> Half:
    fields.need("repositories", "licence", "parameters", "shape", "source")
    shape, licence = fields.part("shape"), fields.maybe_choice("licence", tuple(licences))
    shape.need("kind", "layers")
    return Half(
        fields.texts("repositories"),
        None if licence is None else licences[licence],
        fields.optional("parameters", 1, _WHOLE),
        fields.optional("active", 1, _WHOLE),
        Shape(
            shape.text("kind"),
            shape.optional("hidden_size", 1, _WHOLE),
            shape.optional("layers", 1, _WHOLE),
            shape.optional("vocab_size", 1, _WHOLE),
            shape.optional("context", 1, _WHOLE),
        ),
        fields.text("source"),
    )


def _gain(fields: Fields) -> Gain:
    fields.need("low", "high", "on", "source")
    low = fields.number("low", 0.1, 0.1, 100)
    high = fields.number("high", low, low, 100)
    return Gain(low, high, fields.text("on"), fields.text("source"))


def _memory(fields: Fields) -> Memory:
    fields.need("gigabytes", "of", "source")
    return Memory(fields.number("gigabytes", 1, 0, 4096), fields.text("of"), fields.text("source"))


def _is_target(fields: Mapping[str, Any], shape: Shape) -> bool:
    layers = fields.get("num_hidden_layers")
    return fields.get("model_type") == shape.kind and _fits(fields, shape, layers)


def _is_drafter(fields: Mapping[str, Any], shape: Shape) -> bool:
    nested, names = fields.get("dflash_config"), fields.get("architectures")
    drafting = {**fields, **(cast("dict[str, Any]", nested) if isinstance(nested, dict) else {})}
    return (
        isinstance(names, list)
        and shape.kind in cast("list[Any]", names)
        and _fits(fields, shape, drafting.get("num_target_layers"))
    )


def _fits(fields: Mapping[str, Any], shape: Shape, layers: object) -> bool:
    sizes = (
        (shape.layers, layers),
        (shape.hidden_size, fields.get("hidden_size")),
        (shape.vocab_size, fields.get("vocab_size")),
        (shape.context, fields.get("max_position_embeddings")),
    )
    return all(wanted is None or wanted == found for wanted, found in sizes)
