"""Whether the tensors of the weight files are the ones that config.json describes."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import mlx.core as mx

from engine.config import NAME, missing, refuse
from engine.errors import ModelRefused
from engine.fields import printable
from engine.packing import Declared, Packing, disagree, inferred

_LAYER = re.compile(r"(?:^|\.)layers\.(\d+)\.")
_ACTION = "Choose another copy of this model, or download it again."
# Which fields decide the shape of a tensor, by a part of its name; the first that matches counts.
_DECIDING = (
    ("embed_tokens", ("vocab_size", "hidden_size")),
    ("lm_head", ("vocab_size", "hidden_size")),
    ("q_proj", ("num_attention_heads", "head_dim", "hidden_size")),
    ("k_proj", ("num_key_value_heads", "head_dim", "hidden_size")),
    ("v_proj", ("num_key_value_heads", "head_dim", "hidden_size")),
    ("qkv_proj", ("num_key_value_heads", "num_attention_heads", "hidden_size")),
    ("switch_mlp", ("num_experts", "moe_intermediate_size", "hidden_size")),
    ("shared_expert", ("shared_expert_intermediate_size", "hidden_size")),
    ("mlp", ("intermediate_size", "hidden_size")),
    ("feed_forward", ("intermediate_size", "block_ff_dim", "hidden_size")),
    ("", ("hidden_size", "num_attention_heads", "head_dim")),
)


@dataclass(frozen=True, slots=True)
class Fit:
    """A model structure and the tensors meant for it.

    Attributes:
        config: the checked config.
        shapes: the shape of every parameter of the model, not packed.
        packable: whether the module of a name can be packed.
        tensors: the tensors by parameter name, not read yet.
        file_of: the file that holds a tensor, for messages.
    """

    config: Mapping[str, Any]
    shapes: Mapping[str, tuple[int, ...]]
    packable: Callable[[str], bool]
    tensors: Mapping[str, mx.array]
    file_of: Callable[[str], str]

    def check(self, said: Declared | None) -> dict[str, Packing]:
        """How each packed layer is packed.

        Raises:
            ModelRefused: a tensor is missing, left over, of a wrong shape or kind.
        """
        self._check_layer_count()
        paths = (name.removesuffix(".weight") for name in self.shapes if name.endswith(".weight"))
        packings = {
            path: self._packing(path, said) for path in paths if f"{path}.scales" in self.tensors
        }
        layers = said.layers if said is not None else dict[str, Packing | None]()
        for path, packing in layers.items():
            if packing is not None and path not in packings and f"{path}.weight" in self.shapes:
                raise self._misfit(f"quantization says that {path} is packed, and it is not")
        for name, shape in self.shapes.items():
            path = name.removesuffix(".weight")
            if not (name.endswith(".weight") and path in packings):
                self._check_plain(name, shape)
        self._check_rest(packings)
        return packings

    def _check_layer_count(self) -> None:
        numbers = [int(match[1]) for name in self.tensors if (match := _LAYER.search(name))]
        found, said = max(numbers, default=-1) + 1, self.config["num_hidden_layers"]
        if found != said:
            name = next(iter(self.tensors), "")
            allowed = f"{found}, the number of layers in {self.file_of(name)}"
            raise refuse("num_hidden_layers", said, allowed)

    def _packing(self, path: str, said: Declared | None) -> Packing:
        """How one layer is packed, its three tensors checked against each other."""
        file = self.file_of(f"{path}.scales")
        if said is None:
            why = f"an object with group_size and bits, for {file} holds {path} quantised"
            raise missing("quantization", why)
        shape, scales = self.shapes[f"{path}.weight"], self.tensors[f"{path}.scales"]
        weight = self.tensors.get(f"{path}.weight")
        if weight is None or not self.packable(path):
            raise self._misfit(f"{file} holds {path}.scales, which belongs to nothing")
        byte_scales = scales.dtype == mx.uint8
        found = None
        if weight.shape[:-1] == shape[:-1] == scales.shape[:-1] and weight.dtype == mx.uint32:
            columns = weight.shape[-1], scales.shape[-1]
            found = inferred(shape[-1], *columns, byte_scales=byte_scales)
        if found is None or not (byte_scales or _is_float(scales)):
            words = f"packed as {_size(weight.shape)} with scales {_size(scales.shape)}"
            raise self._wrong_shape(f"{path}.weight", words, shape)
        biases = self.tensors.get(f"{path}.biases")
        if found.mode == "affine" and (biases is None or biases.shape != scales.shape):
            raise self._misfit(f"{path}.biases in {file} does not fit {path}.scales")
        if said.layers.get(path, found) != found:
            raise disagree(path, said.layers[path], found, file)
        return found

    def _check_plain(self, name: str, shape: tuple[int, ...]) -> None:
        tensor = self.tensors.get(name)
        if tensor is None:
            reason = f"asks for {name}, which no weight file holds"
            if name.startswith("lm_head"):
                reason += f" (tie_word_embeddings {self._said('tie_word_embeddings')})"
            raise self._misfit(reason)
        if tensor.shape != shape:
            raise self._wrong_shape(name, _size(tensor.shape), shape)
        if not _is_float(tensor):
            kind = str(tensor.dtype).rpartition(".")[2]
            reason = f"{name} in {self.file_of(name)} is {kind}, expected is float16, bfloat16 or "
            raise self._misfit(reason + "float32")

    def _check_rest(self, packings: Mapping[str, Packing]) -> None:
        """Refuse tensors that the model has no use for."""
        for name in self.tensors:
            path, _, tail = name.rpartition(".")
            known = name in self.shapes or (path in packings and tail in ("scales", "biases"))
            if not known:
                kind = self.config["model_type"]
                reason = f"{self.file_of(name)} holds {printable(name)}, which this {kind} model"
                raise self._misfit(reason + " does not have")

    def _wrong_shape(self, name: str, found: str, wanted: tuple[int, ...]) -> ModelRefused:
        fields = next(fields for part, fields in _DECIDING if part in name)
        shown = ", ".join(f"{field} {self._said(field)}" for field in fields)
        reason = f"{name} in {self.file_of(name)} is {found}, expected is {_size(wanted)}"
        return self._misfit(f"{reason} (from {shown})")

    def _said(self, field: str) -> str:
        value = self.config.get(field)
        return "not given" if value is None else str(value).lower()

    def _misfit(self, reason: str) -> ModelRefused:
        message = f"{NAME} does not fit the weights: {reason}."
        return ModelRefused("weights_misfit", message, safe="Nothing was loaded.", action=_ACTION)


def _is_float(array: mx.array) -> bool:
    return array.dtype in (mx.float16, mx.bfloat16, mx.float32)


def _size(shape: tuple[int, ...]) -> str:
    return " x ".join(f"{n}" for n in shape) if shape else "one number"
