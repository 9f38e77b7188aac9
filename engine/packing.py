"""Quantised tensors: how config.json says they are packed, and how they are."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from engine.config import NAME, missing, refuse
from engine.errors import ModelRefused
from engine.fields import Rule, is_integer

_BITS = (2, 3, 4, 5, 6, 8)
_GROUPS = (16, 32, 64, 128)
_MODES = Rule("text", choices=("affine", "mxfp4", "mxfp8", "nvfp4"))
# Of the modes whose scales are bytes, each has one width and one group.
_BYTE_MODES = {(4, 16): "nvfp4", (4, 32): "mxfp4", (8, 32): "mxfp8"}
_OWN_FIELDS = frozenset({"group_size", "bits", "mode", "quant_method"})


@dataclass(frozen=True, slots=True)
class Packing:
    """`bits` a number, `group_size` numbers to a scale, in one of MLX's modes."""

    group_size: int
    bits: int
    mode: str = "affine"

    def __str__(self) -> str:
        words = f"{self.bits} bits in groups of {self.group_size}"
        return words if self.mode == "affine" else f"{words} ({self.mode})"


@dataclass(frozen=True, slots=True)
class Declared:
    """What config.json says: `layers` by module name, None where a layer is not packed."""

    layers: Mapping[str, Packing | None]


def declared(config: Mapping[str, Any]) -> Declared | None:
    """The quantisation that config.json declares, or None.

    Raises:
        ModelRefused: it is out of bounds or of a kind that MLX does not read.
    """
    field = "quantization" if config.get("quantization") is not None else "quantization_config"
    value: object = config.get(field)
    if value is None:
        return None
    if not isinstance(value, dict):
        raise refuse(field, value, "an object with group_size and bits")
    fields = cast("dict[str, Any]", value)
    method: object = fields.get("quant_method")
    if method is not None and field == "quantization_config":
        allowed = "MLX's own quantisation; choose an MLX conversion of this model"
        raise refuse(f"{field}.quant_method", method, allowed)
    _packing(field, fields)
    layers = {name: inner for name, inner in fields.items() if name not in _OWN_FIELDS}
    return Declared({name: _layer(f"{field}.{name}", inner) for name, inner in layers.items()})


def inferred(columns: int, packed: int, scales: int, *, byte_scales: bool) -> Packing | None:
    """How a row of `columns` numbers came to `packed` words and `scales` scales, if it can have."""
    if not columns or not scales or columns % scales or packed * 32 % columns:
        return None
    bits, group = packed * 32 // columns, columns // scales
    if byte_scales:
        mode = _BYTE_MODES.get((bits, group))
        return Packing(group, bits, mode) if mode else None
    return Packing(group, bits) if bits in _BITS and group in _GROUPS else None


def disagree(path: str, said: Packing | None, found: Packing, file: str) -> ModelRefused:
    """The refusal of a layer that is packed otherwise than config.json says."""
    words = f"{said}" if said else "not packed"
    message = f"{NAME}: quantization of {path} is {words}, but {file} holds it with {found}."
    action = "Choose another copy of this model, or download it again."
    return ModelRefused("config_field", message, safe="Nothing was loaded.", action=action)


def _layer(field: str, value: object) -> Packing | None:
    if value is False:
        return None
    if not isinstance(value, dict):
        raise refuse(field, value, "an object with group_size and bits, or false")
    return _packing(field, cast("dict[str, Any]", value))


def _packing(field: str, fields: Mapping[str, Any]) -> Packing:
    for name, choices in (("group_size", _GROUPS), ("bits", _BITS)):
        allowed = " or ".join(str(number) for number in choices)
        if name not in fields:
            raise missing(f"{field}.{name}", allowed)
        value: object = fields[name]
        if not is_integer(value) or value not in choices:
            raise refuse(f"{field}.{name}", value, allowed)
    mode: object = fields.get("mode", "affine")
    if not isinstance(mode, str) or not _MODES.admits(mode):
        raise refuse(f"{field}.mode", mode, _MODES.allowed)
    return Packing(fields["group_size"], fields["bits"], mode)
