"""Which weight files of a folder belong together."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from engine import contents
from engine.errors import ModelRefused
from engine.fields import printable, shown
from engine.weights import Tensor, WeightFile, inspect

INDEX = "model.safetensors.index.json"
_WHOLE = "model.safetensors"
_SHARD = re.compile(r"(?P<stem>model)-(?P<number>\d{5})-of-(?P<total>\d{5})\.safetensors")
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*\.safetensors")
_LARGEST_INDEX = 64 << 20  # bytes
_SAFE = "Nothing was loaded."
_AGAIN = "Download it again."
_FOREIGN = {".bin": "PyTorch", ".pt": "PyTorch", ".pth": "PyTorch", ".gguf": "GGUF"}


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The checked files that hold a model, each tensor once."""

    files: tuple[WeightFile, ...]

    @property
    def bytes(self) -> int:
        """Bytes of tensor data."""
        return sum(file.bytes for file in self.files)

    @property
    def tensors(self) -> dict[str, Tensor]:
        """All tensors by name."""
        return {name: tensor for file in self.files for name, tensor in file.tensors.items()}

    def file_of(self, name: str) -> str:
        """The name of the file that holds a tensor; of the first file if none does."""
        holding = (file.path.name for file in self.files if name in file.tensors)
        return next(holding, self.files[0].path.name)

    def identity(self) -> str:
        """SHA-256 over every header and a sample of every tensor."""
        digest = hashlib.sha256()
        for file in self.files:
            digest.update(f"{file.path.name} {file.mark()}\n".encode())
        return digest.hexdigest()


def survey(folder: Path) -> Checkpoint:
    """Find and check the weight files of a model; files that do not belong to it are left alone.

    Raises:
        ModelRefused: a file is missing, incomplete or damaged, or index and files disagree.
    """
    if (folder / INDEX).exists():
        return _indexed(folder)
    if (folder / _WHOLE).exists():
        return Checkpoint((inspect(folder / _WHOLE),))
    return _together(folder, _numbered(folder))


def _indexed(folder: Path) -> Checkpoint:
    """The shards the index names; one whole file instead when the index is stale."""
    whole = folder / _WHOLE
    try:
        places = _places(folder / INDEX)
        names = sorted(set(places.values()))
        absent = [name for name in names if not (folder / name).exists()]
        if absent:
            raise _absent(absent, len(names))
    except ModelRefused:
        if not whole.exists():
            raise
        return Checkpoint((inspect(whole),))
    checkpoint = _together(folder, names)
    files = {file.path.name: file for file in checkpoint.files}
    for tensor, name in places.items():
        if tensor not in files[name].tensors:
            message = f"{INDEX} says that {printable(tensor)} is in {name}, and it is not."
            raise ModelRefused("weights_index", message, safe=_SAFE, action=_AGAIN)
    return checkpoint


def _together(folder: Path, names: list[str]) -> Checkpoint:
    seen: dict[str, str] = {}
    files = tuple(inspect(folder / name) for name in names)
    for file in files:
        for tensor in file.tensors:
            if tensor in seen:
                message = f"{printable(tensor)} is in {seen[tensor]} and again in {file.path.name}."
                raise ModelRefused("weights_twice", message, safe=_SAFE, action=_AGAIN)
            seen[tensor] = file.path.name
    return Checkpoint(files)


def _places(path: Path) -> Mapping[str, str]:
    """The index: file name by tensor name."""
    try:
        with path.open("rb") as file:
            text = file.read(_LARGEST_INDEX + 1)
    except OSError:
        raise _bad_index("cannot be read") from None
    kind = contents.impostor(text[: contents.HEAD])
    if kind is not None:
        raise _bad_index(f"is {contents.PHRASES[kind]}")
    try:
        value: Any = json.loads(text) if len(text) <= _LARGEST_INDEX else None
    except (ValueError, RecursionError):
        raise _bad_index("is damaged or incomplete: it is not JSON") from None
    places: Any = cast("dict[str, Any]", value).get("weight_map") if _is_object(value) else None
    if not _is_object(places) or not places:
        raise _bad_index("is damaged: it has no weight_map")
    for tensor, name in cast("dict[str, Any]", places).items():
        if not isinstance(name, str) or not _PLAIN_NAME.fullmatch(name):
            raise _bad_index(f"is unsafe: it sends {printable(tensor)} to {shown(name)}")
    return cast("dict[str, str]", places)


def _is_object(value: object) -> bool:
    return isinstance(value, dict)


def _numbered(folder: Path) -> list[str]:
    """The shards of a folder without an index, by their own numbering."""
    names = sorted(path.name for path in folder.glob("*.safetensors"))
    shards = [match for name in names if (match := _SHARD.fullmatch(name))]
    total = int(shards[0]["total"]) if shards else 0
    if total == 0:
        raise _nothing(folder, names)
    wanted = [f"model-{number:05d}-of-{total:05d}.safetensors" for number in range(1, total + 1)]
    absent = [name for name in wanted if name not in names]
    if absent:
        raise _absent(absent, total)
    return wanted


def _absent(names: list[str], total: int) -> ModelRefused:
    more = "" if len(names) == 1 else f" and {len(names) - 1} more"
    message = f"{names[0]}{more} is missing; the model has {total} weight files."
    action = "Download what is missing."
    return ModelRefused("weights_missing", message, safe=_SAFE, action=action)


def _nothing(folder: Path, names: list[str]) -> ModelRefused:
    kinds = {_FOREIGN[path.suffix] for path in folder.iterdir() if path.suffix in _FOREIGN}
    found = f"only {names[0]}" if names else ""
    found = found or (f"only {' and '.join(sorted(kinds))} files" if kinds else "none")
    message = f"{folder.name} has no {_WHOLE}: of weight files there is {found}."
    action = "Choose a copy of this model in MLX or safetensors form."
    return ModelRefused("weights_missing", message, safe=_SAFE, action=action)


def _bad_index(reason: str) -> ModelRefused:
    return ModelRefused("weights_index", f"{INDEX} {reason}.", safe=_SAFE, action=_AGAIN)
