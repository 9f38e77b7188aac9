"""Safetensors files, checked before any tensor is read.

Nothing of MLX is needed here: a header is eight bytes of length and JSON. What passes has every
tensor inside its file, no gap, no overlap and bytes that fit its shape.
"""

import hashlib
import json
import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

from engine import contents
from engine.errors import ModelRefused
from engine.fields import is_integer, printable

_LARGEST_HEADER = 16 << 20  # bytes; 100,000 tensors need about 12 million
_SAMPLE = 4096
_SAFE = "Nothing was loaded."
_AGAIN = "Download it again."
_WIDTHS = {
    **{"BOOL": 1, "U8": 1, "I8": 1, "U16": 2, "I16": 2, "U32": 4, "I32": 4, "U64": 8, "I64": 8},
    **{"F16": 2, "BF16": 2, "F32": 4, "F64": 8, "F8_E4M3": 1, "F8_E5M2": 1},
}


@dataclass(frozen=True, slots=True)
class Tensor:
    """One tensor as a header describes it. `begin` and `end` are bytes from the file's start."""

    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class WeightFile:
    """One checked file."""

    path: Path
    tensors: Mapping[str, Tensor]
    header: bytes

    @property
    def bytes(self) -> int:
        """Bytes of tensor data."""
        return sum(tensor.end - tensor.begin for tensor in self.tensors.values())

    def mark(self) -> str:
        """SHA-256 of the header and of up to 4 KiB from the middle of every tensor.

        Tells two fine-tunes of one model apart for the price of a few reads.
        """
        digest = hashlib.sha256(self.header)
        with self.path.open("rb") as file:
            for name in sorted(self.tensors):
                tensor = self.tensors[name]
                size = tensor.end - tensor.begin
                file.seek(tensor.begin + max(0, size - _SAMPLE) // 2)
                digest.update(file.read(min(size, _SAMPLE)))
        return digest.hexdigest()


def inspect(path: Path) -> WeightFile:
    """Check one safetensors file by its header and size.

    Raises:
        ModelRefused: it is missing, incomplete, damaged or another kind of file.
    """
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            header = _header(path.name, file, size)
    except OSError as error:
        reason = "is not there" if isinstance(error, FileNotFoundError) else "cannot be read"
        raise _refused("missing", path.name, reason) from None
    fields = _fields(path.name, header)
    begin = 8 + len(header)
    tensors = {
        name: _tensor(path.name, name, value, begin)
        for name, value in fields.items()
        if name != "__metadata__"
    }
    _check_layout(path.name, tensors.values(), begin, size)
    return WeightFile(path, tensors, header)


def _header(name: str, file: BinaryIO, size: int) -> bytes:
    """The JSON bytes between the length and the data."""
    if size == 0:
        raise _refused("incomplete", name, "is empty: its download did not happen")
    head = file.read(contents.HEAD)
    length = int.from_bytes(head[:8], "little")
    if size < 8 or not 2 <= length <= _LARGEST_HEADER or head[8:9] != b"{":
        kind = contents.impostor(head)
        if kind is not None:
            raise _refused(kind, name, f"is {contents.PHRASES[kind]}")
        if size < 10:
            raise _refused("incomplete", name, f"is incomplete: it has {size} bytes")
        if length > _LARGEST_HEADER:
            reason = f"is damaged: its header would be {length:,} bytes long"
            raise _refused("damaged", name, reason)
        raise _refused("damaged", name, "is damaged: it has no header")
    if 8 + length > size:
        reason = f"is incomplete: it ends after {size:,} bytes, inside its header"
        raise _refused("incomplete", name, reason)
    file.seek(8)
    return file.read(length)


def _fields(name: str, header: bytes) -> dict[str, Any]:
    try:
        value: object = json.loads(header, object_pairs_hook=_once)
    except (ValueError, RecursionError):
        raise _refused("damaged", name, "is damaged: its header cannot be read") from None
    if not isinstance(value, dict):
        raise _refused("damaged", name, "is damaged: its header is no list of tensors")
    return cast("dict[str, Any]", value)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("a name appears twice")
    return fields


def _tensor(file: str, name: str, value: object, begin: int) -> Tensor:
    fields = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    dtype, shape, offsets = (fields.get(key) for key in ("dtype", "shape", "data_offsets"))
    if not (isinstance(dtype, str) and _are_sizes(shape) and _are_sizes(offsets)):
        raise _refused(
            "damaged", file, f"is damaged: its header does not describe {printable(name)}"
        )
    if dtype not in _WIDTHS:
        reason = f"holds {printable(name)} as {printable(dtype)}, which cannot be read here"
        raise _refused("dtype", file, reason)
    sizes, span = cast("list[int]", shape), cast("list[int]", offsets)
    if len(span) != 2 or len(sizes) > 8 or span[1] - span[0] != math.prod(sizes) * _WIDTHS[dtype]:
        reason = f"is damaged: the bytes of {printable(name)} do not fit its shape"
        raise _refused("damaged", file, reason)
    return Tensor(dtype, tuple(sizes), begin + span[0], begin + span[1])


def _are_sizes(value: object) -> bool:
    if not isinstance(value, list):
        return False
    return all(is_integer(n) and 0 <= n < 1 << 48 for n in cast("list[object]", value))


def _check_layout(file: str, tensors: Iterable[Tensor], begin: int, size: int) -> None:
    """The tensors must fill the file from the header to its end."""
    at = begin
    for tensor in sorted(tensors, key=lambda tensor: (tensor.begin, tensor.end)):
        if tensor.begin != at:
            raise _refused("damaged", file, "is damaged: its tensors overlap or leave gaps")
        at = tensor.end
    if size < at:
        reason = f"is incomplete: {size:,} of {at:,} bytes are there"
        raise _refused("incomplete", file, reason)
    if size > at:
        reason = f"is damaged: {size - at:,} bytes follow its last tensor"
        raise _refused("damaged", file, reason)


def _refused(kind: str, name: str, reason: str) -> ModelRefused:
    return ModelRefused(f"weights_{kind}", f"{name} {reason}.", safe=_SAFE, action=_AGAIN)
