"""From a model folder to a model in memory, or to one sentence and no memory taken."""

import hashlib
import importlib
import json
import traceback
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import mlx.core as mx
import mlx.nn as nn
from mlx import utils

from engine import checkpoint, config, packing
from engine.checkpoint import Checkpoint
from engine.errors import ModelRefused
from engine.families import FAMILIES
from engine.fit import Fit
from engine.packing import Packing

_BATCH = 64 << 20  # bytes read between two reports of progress
_SAFE = "Nothing was loaded."
_AGAIN = "Choose another copy of this model, or download it again."


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A model in memory.

    Attributes:
        model: an mlx-lm model, evaluated.
        config: its checked config.json.
        bytes: memory of its parameters.
        dtype: what it computes in: float32, float16 or bfloat16.
        quantised: whether its layers are packed in memory.
        identity: SHA-256 that tells its weights and config from others.
    """

    model: nn.Module
    config: dict[str, Any]
    bytes: int
    dtype: str
    quantised: bool
    identity: str


@dataclass(frozen=True, slots=True)
class Progress:
    """`done` of `total` bytes of parameters are in memory."""

    done: int
    total: int


@dataclass(slots=True)
class _Draft:
    """A model whose parameters are not read yet."""

    model: nn.Module
    config: dict[str, Any]
    checkpoint: Checkpoint
    tensors: dict[str, mx.array]
    packings: dict[str, Packing]


def load_target(
    folder: Path, progress: Callable[[int, int], None], *, packed: bool | None = None
) -> LoadedModel:
    """Load a model; `progress(done, total)` is called in bytes. What it raises stops the load.

    Raises:
        ModelRefused: the folder holds no model that runs here; all memory is given back.
    """
    with closing(load(folder, packed=packed)) as steps:
        while True:
            try:
                step = next(steps)
            except StopIteration as end:
                return end.value
            progress(step.done, step.total)


def load(folder: Path, *, packed: bool | None = None) -> Generator[Progress, None, LoadedModel]:
    """Load a model step by step; closing the generator gives the memory back.

    Args:
        folder: holds config.json and the weight files.
        packed: keep quantised layers quantised; by default not on a CPU, where unpacking them once
            is cheaper than with every row.

    Raises:
        ModelRefused: the folder holds no model that runs here; all memory is given back.
    """
    on_cpu = mx.default_device().type == mx.DeviceType.cpu
    draft: _Draft | None = None
    refusal: ModelRefused | None = None
    try:
        draft = _draft(folder)
        _fill(draft, packed=not on_cpu if packed is None else packed, float32=on_cpu)
        yield from _evaluated(draft.model)
        return _loaded(draft)
    except (RuntimeError, MemoryError) as error:
        refusal = _unreadable(folder, error)
        _let_go(error)
    except BaseException as error:
        _let_go(error)
        raise
    finally:
        draft = None
        mx.clear_cache()
    raise refusal


def check(folder: Path) -> int:
    """Make sure that a model could be loaded, without reading its tensors; the file bytes.

    Raises:
        ModelRefused: as `load` would.
    """
    return _draft(folder).checkpoint.bytes


def build(settings: dict[str, Any]) -> nn.Module:
    """The structure of a model, its parameters random and not evaluated: it takes no memory.

    Raises:
        ModelRefused: mlx-lm has no use for the config.
    """
    kind = settings["model_type"]
    module = importlib.import_module(f"mlx_lm.models.{FAMILIES[kind].module}")
    try:
        arguments = module.ModelArgs.from_dict(settings)
        return cast("nn.Module", module.Model(arguments))
    except (TypeError, ValueError, LookupError, ArithmeticError, AttributeError) as error:
        reason = f"{type(error).__name__}: {error}"[:200]
        message = f"{config.NAME}: it does not describe a {kind} model ({reason})."
        raise ModelRefused("config_field", message, safe=_SAFE, action=_AGAIN) from None
    finally:
        mx.eval(mx.random.state)  # every parameter drawn is a split of it, which would pile up


def _draft(folder: Path) -> _Draft:
    """Check everything that can be checked before a tensor is read."""
    settings = config.read(folder)
    said = packing.declared(settings)
    found = checkpoint.survey(folder)
    model = build(settings)
    tensors = _arranged(model, found)
    shapes = {name: tuple(array.shape) for name, array in _parameters(model).items()}
    modules = cast("list[tuple[str, nn.Module]]", model.named_modules())
    packable = {name for name, module in modules if hasattr(module, "to_quantized")}
    fit = Fit(settings, shapes, packable.__contains__, tensors, found.file_of)
    return _Draft(model, settings, found, tensors, fit.check(said))


def _parameters(model: nn.Module) -> dict[str, mx.array]:
    """All parameters by name, in the order of the model."""
    flat: Any = utils.tree_flatten(model.parameters())
    return dict(flat)


def _arranged(model: nn.Module, found: Checkpoint) -> dict[str, mx.array]:
    """The tensors, not read, under the names the model gives them."""
    tensors: dict[str, mx.array] = {}
    for file in found.files:
        arrays = cast("dict[str, mx.array]", mx.load(str(file.path)))
        tensors.update({name: arrays[name] for name in file.tensors})
    sanitize: Any = getattr(model, "sanitize", None)
    if sanitize is None:
        return tensors
    try:
        return sanitize(tensors)
    except (TypeError, ValueError, LookupError, AttributeError) as error:
        reason = f"{type(error).__name__}: {error}"[:200]
        message = f"{config.NAME} does not fit the weights: they cannot be arranged ({reason})."
        raise ModelRefused("weights_misfit", message, safe=_SAFE, action=_AGAIN) from None


def _fill(draft: _Draft, *, packed: bool, float32: bool) -> None:
    """Give the model its tensors, unpacked or packed, none of them read yet."""
    tensors, widest = draft.tensors, mx.float32 if float32 else _norm_dtype(draft.tensors)
    for path, how in draft.packings.items():
        # Scales narrower than the norms would be widened again in every call.
        for name in (f"{path}.scales", f"{path}.biases"):
            if name in tensors and tensors[name].dtype != mx.uint8:
                tensors[name] = tensors[name].astype(widest)
        if not packed:
            tensors[f"{path}.weight"] = mx.dequantize(
                tensors.pop(f"{path}.weight"),
                tensors.pop(f"{path}.scales"),
                tensors.pop(f"{path}.biases", None),
                how.group_size,
                how.bits,
                how.mode,
            )
    if float32:
        for name, array in tensors.items():
            if mx.issubdtype(array.dtype, mx.floating):
                tensors[name] = array.astype(mx.float32)
    if not packed:
        draft.packings.clear()
    nn.quantize(draft.model, class_predicate=lambda path, _: _arguments(draft.packings.get(path)))
    draft.model.load_weights(list(tensors.items()), strict=True)
    tensors.clear()  # what is referred to from here would stay after it was unpacked
    draft.model.eval()


def _arguments(how: Packing | None) -> bool | dict[str, Any]:
    """A packing as nn.quantize wants it."""
    if how is None:
        return False
    return {"group_size": how.group_size, "bits": how.bits, "mode": how.mode}


def _norm_dtype(tensors: dict[str, mx.array]) -> mx.Dtype:
    """The dtype of the norms: the model computes in it, or in float32 if it has no norm."""
    named = (array.dtype for name, array in tensors.items() if name.endswith("norm.weight"))
    return next(named, mx.float32)


def _evaluated(model: nn.Module) -> Iterator[Progress]:
    """Read the parameters, some at a time."""
    arrays = list(_parameters(model).values())
    total, done = sum(array.nbytes for array in arrays), 0
    yield Progress(0, total)
    batch: list[mx.array] = []
    for array in arrays:
        batch.append(array)
        size = sum(member.nbytes for member in batch)
        if size >= _BATCH or array is arrays[-1]:
            mx.eval(batch)
            batch, done = [], done + size
            yield Progress(done, total)


def _loaded(draft: _Draft) -> LoadedModel:
    parameters = _parameters(draft.model)
    digest = hashlib.sha256(json.dumps(draft.config, sort_keys=True).encode())
    digest.update(draft.checkpoint.identity().encode())
    return LoadedModel(
        draft.model,
        draft.config,
        sum(array.nbytes for array in parameters.values()),
        str(_norm_dtype(parameters)).rpartition(".")[2],
        bool(draft.packings),
        digest.hexdigest(),
    )


def _let_go(error: BaseException) -> None:
    """Forget what the frames of a failure still hold."""
    traceback.clear_frames(error.__traceback__)
    error.__context__ = error.__cause__ = None


def _unreadable(folder: Path, error: RuntimeError | MemoryError) -> ModelRefused:
    if isinstance(error, MemoryError) or "alloc" in str(error):
        message = f"{folder.name} does not fit into the memory that is free."
        action = "Close other programs, or choose a smaller model."
        return ModelRefused("memory", message, safe=_SAFE, action=action)
    message = f"The weights of {folder.name} could not be read to the end."
    return ModelRefused("weights_unreadable", message, safe=_SAFE, action=_AGAIN)
