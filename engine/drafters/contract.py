"""What the config of every drafter is checked for, and the words of a refusal."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from engine.errors import DrafterRefused, ModelRefused
from engine.fields import Rule, shown

SAFE = "The model itself still chats, without this drafter."
AGAIN = "Choose another drafter, or download this one again."
_COUNT = Rule("int", 1, 1024)
_VOCAB = (1 << 24) - 1  # ids must survive a float32
SIZES: Mapping[str, Rule] = {
    "hidden_size": Rule("int", 1, 1 << 16),
    "intermediate_size": Rule("int", 1, 1 << 20),
    "num_hidden_layers": Rule("int", 1, 64),
    "num_attention_heads": _COUNT,
    "num_key_value_heads": _COUNT,
    "vocab_size": Rule("int", 1, _VOCAB),
}
DRAFTING: Mapping[str, Rule] = {
    "mask_token_id": Rule("int", 0, _VOCAB),
    "num_target_layers": Rule("int", 1, 512),
    "target_layer_ids": Rule("ints", 0, 511),
}
OPTIONAL: Mapping[str, Rule] = {
    "head_dim": Rule("int", 2, 4096, nullable=True),
    "draft_vocab_size": Rule("int", 1, _VOCAB, nullable=True),
}
EPSILON, THETA = Rule("float", 1e-30, 1.0), Rule("float", 1.0, 1e12)


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """The fields that the checked config of every drafter has.

    Attributes:
        taps: the target's layers whose streams it reads.
        target_layers: how many layers its target has.
    """

    hidden: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    intermediate: int
    vocab: int
    eps: float
    rope_theta: float
    mask_id: int
    taps: tuple[int, ...]
    target_layers: int

    @property
    def wide(self) -> int:
        """Rows of the matrix for queries."""
        return self.heads * self.head_dim

    @property
    def narrow(self) -> int:
        """Rows of the matrix for keys, and of that for values."""
        return self.kv_heads * self.head_dim


def architectures(config: Mapping[str, Any]) -> tuple[str, ...]:
    """The class names a config gives itself."""
    named = config.get("architectures")
    names = cast("list[Any]", named) if isinstance(named, list) else [named]
    return tuple(name for name in names if isinstance(name, str))


def foreign(config: Mapping[str, Any]) -> bool:
    """Whether it has the marks of speculators or SpecForge, whose slots mean something else."""
    return "projector_type" in inner(config, "dflash_config") or any(
        str(name).startswith("speculators_") for name in config
    )


def inner(config: Mapping[str, Any], name: str) -> dict[str, Any]:
    """An object in a config, empty if there is none of that name."""
    value: object = config.get(name)
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def check_needed(config: Mapping[str, Any], rules: Mapping[str, Rule]) -> None:
    """Fields that must be there, and not null."""
    for name, rule in rules.items():
        if config.get(name) is None or not rule.admits(config[name]):
            raise refuse(name, config.get(name), rule.allowed, there=name in config)


def check_given(config: Mapping[str, Any], rules: Mapping[str, Rule]) -> None:
    """Fields that may be missing."""
    for name, rule in rules.items():
        if name in config and not rule.admits(config[name]):
            raise refuse(name, config[name], rule.allowed)


def check_absent(config: Mapping[str, Any], names: tuple[str, ...]) -> None:
    """Fields that would change the arithmetic."""
    for name in names:
        if config.get(name) not in (None, False):
            raise refuse(name, config[name], "only its absence, null or false")


def body(
    config: Mapping[str, Any], drafting: Mapping[str, Any], *, eps: float, theta: float
) -> dict[str, Any]:
    """The fields of a `Body`; refuses values that are fine alone and impossible together."""
    heads, kv_heads = config["num_attention_heads"], config["num_key_value_heads"]
    if heads % kv_heads:
        raise refuse("num_key_value_heads", kv_heads, f"a divisor of the {heads} heads")
    size = config.get("head_dim") or config["hidden_size"] // heads
    if size % 2 or not size:
        raise refuse("head_dim", size, "an even number")
    layers, kinds = config["num_hidden_layers"], config.get("layer_types")
    if kinds is not None and len(kinds) != layers:
        raise refuse("layer_types", f"a list of {len(kinds)}", f"a list of {layers}")
    mask, vocab = drafting["mask_token_id"], config["vocab_size"]
    if mask >= vocab:
        raise refuse("mask_token_id", mask, f"an id below {vocab}, the vocab_size")
    return {
        "hidden": config["hidden_size"],
        "layers": layers,
        "heads": heads,
        "kv_heads": kv_heads,
        "head_dim": size,
        "intermediate": config["intermediate_size"],
        "vocab": vocab,
        "eps": float(eps),
        "rope_theta": float(theta),
        "mask_id": mask,
        "taps": tuple(cast("list[int]", drafting["target_layer_ids"])),
        "target_layers": drafting["num_target_layers"],
    }


def check_sizes(mine: Body, target: Mapping[str, Any]) -> None:
    """Refuse a drafter whose target had other sizes than this one."""
    pairs = (
        ("hidden size", mine.hidden, target.get("hidden_size")),
        ("number of layers", mine.target_layers, target.get("num_hidden_layers")),
        ("vocabulary", mine.vocab, target.get("vocab_size")),
    )
    for what, wanted, found in pairs:
        if wanted != found:
            raise mismatch(
                f"it was made for a target whose {what} is {wanted}, this one's is {found}"
            )


def refuse(field: str, value: object, allowed: str, *, there: bool = True) -> DrafterRefused:
    """The refusal of one field."""
    found = f"is {shown(value)}" if there else "is missing"
    message = f"config.json of the drafter: {field} {found}; allowed is {allowed}."
    return DrafterRefused("drafter_config", message, safe=SAFE, action=AGAIN)


def mismatch(reason: str) -> DrafterRefused:
    """The refusal of a drafter that was made for another target."""
    message = f"The drafter does not belong to this model: {reason}."
    action = "Choose the drafter that was made for this model."
    return DrafterRefused("drafter_pair", message, safe=SAFE, action=action)


def refuse_setting(reason: str) -> DrafterRefused:
    """The refusal of an option."""
    message = f"This drafter does not run so: {reason}."
    action = "Use it as released: 0 bits and no confidence limit."
    return DrafterRefused("drafter_setting", message, safe=SAFE, action=action)


def of_drafter(folder: Path, error: ModelRefused) -> DrafterRefused:
    """A refusal of any folder, told of a drafter's."""
    message = f"The drafter {folder.name}: {error.message}"
    return DrafterRefused(error.code, message, safe=SAFE, action=error.action)
