"""What Laguna's DFlash drafter says it is, every field within its bounds, refusals by name.

Fields: poolside/Laguna-XS-2.1-DFlash and -S-2.1-DFlash; bounds as in lablup/mlxcel pull request
1771. `block_size` counts the pending token's row.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from engine.drafters.dspark_config import architectures, foreign, refuse
from engine.errors import DrafterRefused
from engine.fields import Rule

NAME = "DFlashLagunaForCausalLM"
_SAFE = "The model itself still chats, without this drafter."
_COUNT = Rule("int", 1, 1024)
_SLIDING = "sliding_attention"
_RULES: Mapping[str, Rule] = {
    "hidden_size": Rule("int", 1, 1 << 16),
    "intermediate_size": Rule("int", 1, 1 << 20),
    "num_hidden_layers": Rule("int", 1, 64),
    "num_attention_heads": _COUNT,
    "num_key_value_heads": _COUNT,
    "vocab_size": Rule("int", 1, (1 << 24) - 1),
    "layer_types": Rule("texts", choices=(_SLIDING,)),
}
_OPTIONAL: Mapping[str, Rule] = {
    "model_type": Rule("text", choices=("laguna",)),
    "head_dim": Rule("int", 2, 4096, nullable=True),
    "rms_norm_eps": Rule("float", 1e-30, 1.0),
    "rope_theta": Rule("float", 1.0, 1e12),
    "hidden_act": Rule("text", choices=("silu", "swish"), nullable=True),
    "sliding_window": Rule("int", 2, 1 << 20, nullable=True),
    "sliding_windows": Rule("ints", 2, 1 << 20, nullable=True),
    "draft_vocab_size": Rule("int", 1, (1 << 24) - 1, nullable=True),
    "num_experts": Rule("int", 0, 0, nullable=True),
    "eagle_aux_hidden_state_layer_ids": Rule("ints", 1, 512, nullable=True),
}
_DRAFTING: Mapping[str, Rule] = {
    "mask_token_id": Rule("int", 0, (1 << 24) - 1),
    "num_target_layers": Rule("int", 1, 512),
    "target_layer_ids": Rule("ints", 0, 511),
}
WIDEST = 512  # rows of a block, the pending token's included
_BLOCK = Rule("int", 2, WIDEST)
_MUST_BE_ABSENT = (
    *("attention_bias", "qkv_bias", "mlp_bias", "rope_scaling", "partial_rotary_factor"),
    *("swa_rope_parameters", "swa_attention_sink_enabled", "attention_sink_bias"),
    *("final_logit_softcapping", "logit_scale"),
)


@dataclass(frozen=True, slots=True)
class DFlashConfig:
    """A checked config.

    Attributes:
        windows: for each layer, how many positions a row sees, its own included.
        block: rows of the block it was trained with; the first is the pending token's.
        taps: the target's layers whose streams it reads.
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
    windows: tuple[int, ...]
    block: int
    mask_id: int
    taps: tuple[int, ...]
    target_layers: int


def is_dflash(config: Mapping[str, Any]) -> bool:
    """Whether a config is that of Laguna's DFlash drafter; `model_type` is its target's too."""
    if foreign(config):
        return False
    names = architectures(config)
    nested = isinstance(config.get("dflash_config"), dict)
    return NAME in names or (config.get("model_type") == "laguna" and nested)


def check(config: Mapping[str, Any]) -> DFlashConfig:
    """The config of a drafter, every field within its bounds.

    Raises:
        DrafterRefused: with the field, the value found and the values allowed.
    """
    if (names := architectures(config)) and NAME not in names:
        raise refuse("architectures", list(names), NAME)
    found = config.get("dflash_config")
    if not isinstance(found, dict):
        raise refuse("dflash_config", found, "an object", there="dflash_config" in config)
    nested = cast("dict[str, Any]", found)
    for source, rules in ((config, _RULES), (nested, _DRAFTING)):
        for name, rule in rules.items():
            if source.get(name) is None or not rule.admits(source[name]):
                raise refuse(name, source.get(name), rule.allowed, there=name in source)
    for name, rule in _OPTIONAL.items():
        if name in config and not rule.admits(config[name]):
            raise refuse(name, config[name], rule.allowed)
    _check_fixed(config, nested)
    _check_taps(config, nested)
    return _related(config, nested)


def check_pair(mine: DFlashConfig, family: str, target: Mapping[str, Any]) -> None:
    """Refuse a drafter that was made for another target.

    Raises:
        DrafterRefused: with what the drafter was made for and what the target is.
    """
    if family != "laguna":
        raise _mismatch(f"it was made for Laguna models, and the target is of the family {family}")
    pairs = (
        ("number of layers", mine.target_layers, target.get("num_hidden_layers")),
        ("vocabulary", mine.vocab, target.get("vocab_size")),
        ("hidden size", mine.hidden, target.get("hidden_size")),
    )
    for what, wanted, found in pairs:
        if wanted != found:
            raise _mismatch(
                f"it was made for a target whose {what} is {wanted}, this one's is {found}"
            )


def _check_fixed(config: Mapping[str, Any], nested: Mapping[str, Any]) -> None:
    """Fields that change the arithmetic and of which one value is supported."""
    for name in _MUST_BE_ABSENT:
        if config.get(name) not in (None, False):
            raise refuse(name, config[name], "only its absence, null or false")
    gating = config.get("gating")
    if gating is not True and gating != "per-head":
        raise refuse("gating", gating, '"per-head" or true', there="gating" in config)
    if nested.get("causal", True) is not True:
        raise refuse("causal", nested["causal"], "true")
    block = nested.get("block_size", 16)
    if not _BLOCK.admits(block):
        raise refuse("block_size", block, _BLOCK.allowed)
    rope: object = config.get("rope_parameters")
    if rope is None:
        return
    plain = {"rope_type": "default", "rope_theta": _theta(config)}
    said = {**plain, **cast("dict[str, Any]", rope)} if isinstance(rope, dict) else {}
    if said != plain:  # a saved copy may repeat the plain values here, and nothing else
        allowed = f"only its absence, or type default with theta {plain['rope_theta']:g}"
        raise refuse("rope_parameters", cast("object", rope), allowed)


def _check_taps(config: Mapping[str, Any], nested: Mapping[str, Any]) -> None:
    taps = cast("list[int]", nested["target_layer_ids"])
    count, below = config["num_hidden_layers"], nested["num_target_layers"]
    if len(taps) != count or taps != sorted(set(taps)) or taps[-1] >= below:
        allowed = f"{count} increasing layers, as many as num_hidden_layers, below {below}, the "
        raise refuse("target_layer_ids", taps, allowed + "num_target_layers")
    name = "eagle_aux_hidden_state_layer_ids"
    other = config.get(name)
    if other is not None and other != [tap + 1 for tap in taps]:
        raise refuse(name, other, "target_layer_ids, each one higher")


def _related(config: Mapping[str, Any], nested: Mapping[str, Any]) -> DFlashConfig:
    """Refuse values that are fine alone and impossible together."""
    heads, kv_heads = config["num_attention_heads"], config["num_key_value_heads"]
    if heads % kv_heads:
        raise refuse("num_key_value_heads", kv_heads, f"a divisor of the {heads} heads")
    size = config.get("head_dim") or config["hidden_size"] // heads
    if size % 2 or not size:
        raise refuse("head_dim", size, "an even number")
    layers, vocab = config["num_hidden_layers"], config["vocab_size"]
    if len(config["layer_types"]) != layers:
        found = f"a list of {len(config['layer_types'])}"
        raise refuse("layer_types", found, f"a list of {layers}")
    windows = config.get("sliding_windows")
    if windows is None:
        windows = [config.get("sliding_window") or 512] * layers
    elif len(windows) != layers:
        raise refuse("sliding_windows", f"a list of {len(windows)}", f"a list of {layers}")
    drafts = config.get("draft_vocab_size")
    if drafts not in (None, vocab):
        raise refuse("draft_vocab_size", drafts, f"{vocab}, the vocab_size")
    if nested["mask_token_id"] >= vocab:
        allowed = f"an id below {vocab}, the vocab_size"
        raise refuse("mask_token_id", nested["mask_token_id"], allowed)
    return DFlashConfig(
        config["hidden_size"], layers, heads, kv_heads, size, config["intermediate_size"], vocab,
        float(config.get("rms_norm_eps", 1e-6)), _theta(config), tuple(windows),
        nested.get("block_size", 16), nested["mask_token_id"],
        tuple(cast("list[int]", nested["target_layer_ids"])), nested["num_target_layers"],
    )  # fmt: skip


def _theta(config: Mapping[str, Any]) -> float:
    return float(config.get("rope_theta", 500000.0))


def _mismatch(reason: str) -> DrafterRefused:
    message = f"The drafter does not belong to this model: {reason}."
    action = "Choose the drafter that was made for this model."
    return DrafterRefused("drafter_pair", message, safe=_SAFE, action=action)
