"""The tensors of Laguna's DFlash drafter: one exact set under one spelling, checked by headers.

Accepted are a leading `model.`, separate q, k and v, and packed projections.
Names and shapes: poolside/Laguna-XS-2.1-DFlash and -S-2.1-DFlash, read as in lablup/mlxcel.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import mlx.core as mx

from engine.checkpoint import Checkpoint
from engine.drafters.dflash_config import DFlashConfig
from engine.drafters.tensors import (
    FLOATS,
    common_shapes,
    in_layers,
    misfit,
    refused,
    size,
    surveyed,
)
from engine.fields import printable
from engine.packing import Declared, Packing, inferred
from engine.weights import Tensor

_SPLIT = re.compile(r"(layers\.\d+\.self_attn\.)[qkv]_proj\.(weight|scales|biases)")
_TRIO = ("q_proj", "k_proj", "v_proj")
_PACKABLE = ("fc", "qkv_proj", "o_proj", "g_proj", "gate_proj", "up_proj", "down_proj")
_SIDE_CARS = (".scales", ".biases")


@dataclass(frozen=True, slots=True)
class Plan:
    """How the files become the model's tensors.

    Attributes:
        found: the checked files.
        sources: names in the files for each tensor; three are joined, q, k and v.
        packings: how each packed projection is packed, by its path.
    """

    found: Checkpoint
    sources: Mapping[str, tuple[str, ...]]
    packings: Mapping[str, Packing]


def shapes(config: DFlashConfig) -> dict[str, tuple[int, ...]]:
    """Every tensor that has to be there, not packed."""
    hidden = config.hidden
    layer = {
        "self_attn.qkv_proj": (config.wide + 2 * config.narrow, hidden),
        "self_attn.g_proj": (config.heads, hidden),
    }
    norms = {f"aux_hidden_norms.{i}.weight": (hidden,) for i in range(len(config.taps))}
    return common_shapes(config) | norms | in_layers(config, layer)


def plan(folder: Path, config: DFlashConfig, said: Declared | None) -> Plan:
    """Check the headers of a drafter's files.

    Raises:
        DrafterRefused: a tensor is missing, unexpected, twice there, of a wrong shape or kind.
    """
    found = surveyed(folder)
    tensors = found.tensors
    sources = _fused({bare: (name,) for bare, name in _bare(tensors).items()})
    wanted = shapes(config)
    _check_names(wanted, sources)
    headers = {name: _joined(name, files, tensors) for name, files in sources.items()}
    packings = _packings(wanted, headers, said)
    for name, shape in wanted.items():
        if name.removesuffix(".weight") in packings:
            continue
        if headers[name].shape != shape:
            raise misfit(name, headers[name].shape, shape)
        if headers[name].dtype not in FLOATS:
            raise refused(f"holds {name} as {headers[name].dtype}, expected is BF16, F16 or F32")
    return Plan(found, sources, packings)


def load(plan: Plan, dtype: mx.Dtype, *, packed: bool) -> dict[str, mx.array]:
    """The model's tensors in `dtype`, evaluated; packed ones are unpacked unless `packed`.

    Raises:
        DrafterRefused: a tensor cannot be read or holds numbers that are not finite.
    """
    arrays: dict[str, mx.array] = {}
    for file in plan.found.files:
        arrays.update(mx.load(str(file.path)))  # pyright: ignore[reportArgumentType, reportCallIssue]
    tensors: dict[str, mx.array] = {}
    try:
        for name, files in plan.sources.items():
            parts = [arrays.pop(file) for file in files]
            array = parts[0] if len(parts) == 1 else mx.concatenate(parts)
            if mx.issubdtype(array.dtype, mx.floating):
                array = array.astype(dtype)
                if not mx.all(mx.isfinite(array)).item():
                    raise refused(f"holds numbers in {name} that are not finite")
            mx.eval(array)
            tensors[name] = array
        if not packed:
            for path, how in plan.packings.items():
                weight = mx.dequantize(
                    tensors.pop(f"{path}.weight"), tensors.pop(f"{path}.scales"),
                    tensors.pop(f"{path}.biases", None), how.group_size, how.bits, how.mode,
                )  # fmt: skip
                tensors[f"{path}.weight"] = weight.astype(dtype)
                mx.eval(tensors[f"{path}.weight"])
    except RuntimeError:
        raise refused("could not be read to the end") from None
    return tensors


def _bare(tensors: Mapping[str, Tensor]) -> dict[str, str]:
    """Names in the files by the name without a leading `model.`."""
    names: dict[str, str] = {}
    for name in tensors:
        bare = name.removeprefix("model.")
        if bare in names:
            both = f"{printable(names[bare])} and {printable(name)}"
            raise refused(f"holds {both}, which cannot be reconciled")
        names[bare] = name
    return names


def _fused(sources: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """Separate q, k and v as one qkv, rows in this order."""
    fused = dict(sources)
    pairs = {match.groups() for name in sources if (match := _SPLIT.fullmatch(name))}
    for prefix, leaf in sorted(pairs):
        names = [f"{prefix}{part}.{leaf}" for part in _TRIO]
        whole = f"{prefix}qkv_proj.{leaf}"
        if whole in sources:
            raise refused(f"holds both {whole} and a separate q, k or v of that layer")
        if absent := [name for name in names if name not in sources]:
            raise refused(f"holds an incomplete trio: {', '.join(absent)} is missing")
        fused[whole] = tuple(fused.pop(name)[0] for name in names)
    return fused


def _check_names(wanted: Mapping[str, object], sources: Mapping[str, object]) -> None:
    missing = [name for name in wanted if name not in sources]
    unexpected = [name for name in sources if name not in wanted and not _is_side_car(name, wanted)]
    reasons = [
        f"{words}: {', '.join(printable(name) for name in names[:3])}"
        + (f" and {len(names) - 3} more" if len(names) > 3 else "")
        for words, names in (("missing", missing), ("unexpected", unexpected))
        if names
    ]
    if reasons:
        raise refused(f"has other tensors than a drafter of this config ({'; '.join(reasons)})")


def _is_side_car(name: str, wanted: Mapping[str, object]) -> bool:
    path = name.rpartition(".")[0]
    packable = path.rpartition(".")[2] in _PACKABLE
    return name.endswith(_SIDE_CARS) and packable and f"{path}.weight" in wanted


def _joined(name: str, files: tuple[str, ...], tensors: Mapping[str, Tensor]) -> Tensor:
    """The header of a tensor, or of the three that it is joined from."""
    parts = [tensors[file] for file in files]
    first = parts[0]
    if len(parts) == 1:
        return first
    fits = all(len(part.shape) >= 2 and part.shape[1:] == first.shape[1:] for part in parts)
    if not fits or len({part.dtype for part in parts}) > 1:
        sizes = ", ".join(f"{part.dtype} {size(part.shape)}" for part in parts)
        raise refused(f"holds parts of {name} that cannot be joined along axis 0 ({sizes})")
    rows = sum(part.shape[0] for part in parts)
    return Tensor(first.dtype, (rows, *first.shape[1:]), first.begin, first.end)


def _packings(
    wanted: Mapping[str, tuple[int, ...]], headers: Mapping[str, Tensor], said: Declared | None
) -> dict[str, Packing]:
    """How each packed projection is packed, its tensors checked against each other."""
    paths = {name.rpartition(".")[0] for name in headers if name.endswith(_SIDE_CARS)}
    return {path: _packing(path, wanted[f"{path}.weight"], headers, said) for path in sorted(paths)}


def _packing(
    path: str, shape: tuple[int, ...], headers: Mapping[str, Tensor], said: Declared | None
) -> Packing:
    weight, scales = headers[f"{path}.weight"], headers.get(f"{path}.scales")
    if scales is None:
        raise refused(f"holds {path}.biases without {path}.scales")
    if said is None:
        raise refused(f"holds {path} packed, and config.json has no quantization")
    rows = {tensor.shape[:-1] for tensor in (weight, scales)}
    byte_scales = scales.dtype == "U8"
    how = None
    if rows == {shape[:-1]} and weight.dtype == "U32" and (byte_scales or scales.dtype in FLOATS):
        columns = weight.shape[-1], scales.shape[-1]
        how = inferred(shape[-1], *columns, byte_scales=byte_scales)
    if how is None:
        found = f"{size(weight.shape)} with scales {size(scales.shape)}"
        raise refused(f"holds {path}.weight packed as {found}, expected is {size(shape)}")
    biases = headers.get(f"{path}.biases")
    if (how.mode == "affine") != (biases is not None and biases.shape == scales.shape):
        raise refused(f"holds {path}.biases that do not fit {path}.scales")
    if said.layers.get(path, how) != how:
        raise refused(f"holds {path} with {how}, and quantization says {said.layers[path]}")
    return how
