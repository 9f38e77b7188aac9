"""What Laguna's DFlash drafter says it is, every field within its bounds, refusals by name.

Fields: poolside/Laguna-XS-2.1-DFlash and -S-2.1-DFlash; bounds as in lablup/mlxcel pull request
1771. `block_size` counts the pending token's row.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from engine.drafters import contract
from engine.drafters.contract import Body, architectures, foreign, mismatch, refuse
from engine.fields import Rule

NAME = "DFlashLagunaForCausalLM"
_SLIDING = "sliding_attention"
_RULES: Mapping[str, Rule] = {
    **contract.SIZES,
    "layer_types": Rule("texts", choices=(_SLIDING,)),
}
_OPTIONAL: Mapping[str, Rule] = {
    **contract.OPTIONAL,
    "model_type": Rule("text", choices=("laguna",)),
    "rms_norm_eps": contract.EPSILON,
    "rope_theta": contract.THETA,
    "hidden_act": Rule("text", choices=("silu", "swish"), nullable=True),
    "sliding_window": Rule("int", 2, 1 << 20, nullable=True),
    "sliding_windows": Rule("ints", 2, 1 << 20, nullable=True),
    "num_experts": Rule("int", 0, 0, nullable=True),
    "eagle_aux_hidden_state_layer_ids": Rule("ints", 1, 512, nullable=True),
}
WIDEST = 512  # rows of a block, the pending token's included
_BLOCK = Rule("int", 2, WIDEST)
_MUST_BE_ABSENT = (
    *("attention_bias", "qkv_bias", "mlp_bias", "rope_scaling", "partial_rotary_factor"),
    *("swa_rope_parameters", "swa_attention_sink_enabled", "attention_sink_bias"),
    *("final_logit_softcapping", "logit_scale"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DFlashConfig(Body):
    """A checked config.

    Attributes:
        windows: for each layer, how many positions a row sees, its own included.
        block: rows of the block it was trained with; the first is the pending token's.
    """

    windows: tuple[int, ...]
    block: int


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
    contract.check_needed(config, _RULES)
    contract.check_needed(nested, contract.DRAFTING)
    contract.check_given(config, _OPTIONAL)
    _check_fixed(config, nested)
    _check_taps(config, nested)
    return _related(config, nested)


def check_pair(mine: DFlashConfig, family: str, target: Mapping[str, Any]) -> None:
    """Refuse a drafter that was made for another target.

    Raises:
        DrafterRefused: with what the drafter was made for and what the target is.
    """
    if family != "laguna":
        raise mismatch(f"it was made for Laguna models, and the target is of the family {family}")
    contract.check_sizes(mine, target)


def _check_fixed(config: Mapping[str, Any], nested: Mapping[str, Any]) -> None:
    """Fields that change the arithmetic and of which one value is supported."""
    contract.check_absent(config, _MUST_BE_ABSENT)
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
    eps = config.get("rms_norm_eps", 1e-6)
    body = contract.body(config, nested, eps=eps, theta=_theta(config))
    layers, vocab = config["num_hidden_layers"], config["vocab_size"]
    windows = config.get("sliding_windows")
    if windows is None:
        windows = [config.get("sliding_window") or 512] * layers
    elif len(windows) != layers:
        raise refuse("sliding_windows", f"a list of {len(windows)}", f"a list of {layers}")
    drafts = config.get("draft_vocab_size")
    if drafts not in (None, vocab):
        raise refuse("draft_vocab_size", drafts, f"{vocab}, the vocab_size")
    return DFlashConfig(**body, windows=tuple(windows), block=nested.get("block_size", 16))


def _theta(config: Mapping[str, Any]) -> float:
    return float(config.get("rope_theta", 500000.0))
