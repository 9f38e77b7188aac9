"""What a drafter with an unmasked block says it is: three packagings, refusals by name.

DSpark in LiquidAI's files (Lfm2DSparkDraftModel) keeps the drafting fields in `dflash_config` and
rotates interleaved pairs; DeepSpec's (Qwen3DSparkModel) keep them at the top and rotate halves. In
both `block_size` counts proposals: slot 0 is one. z-lab's DFlash (DFlashDraftModel) is the same
body without the chain, its fields nested; `block_size` counts the pending token's row too.
Fields: LiquidAI's LFM2.5-*-DSpark, deepseek-ai's dspark_qwen3_* and z-lab's Qwen3-*-DFlash-b16
repositories; bounds as in mlx-vlm's qwen3_dspark and lablup/mlxcel.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from engine.errors import DrafterRefused
from engine.fields import Rule, shown

LIQUID, DEEPSPEC, ZLAB = "Lfm2DSparkDraftModel", "Qwen3DSparkModel", "DFlashDraftModel"
_SAFE = "The model itself still chats, without this drafter."
_AGAIN = "Choose another drafter, or download this one again."
_COUNT = Rule("int", 1, 1024)
_LIST = Rule("ints", 0, 511)
_RULES: Mapping[str, Rule] = {
    "hidden_size": Rule("int", 1, 1 << 16),
    "num_hidden_layers": Rule("int", 1, 64),
    "num_attention_heads": _COUNT,
    "num_key_value_heads": _COUNT,
    "intermediate_size": Rule("int", 1, 1 << 20),
    "vocab_size": Rule("int", 1, (1 << 24) - 1),
    "rms_norm_eps": Rule("float", 1e-30, 1.0),
}
_CHAIN: Mapping[str, Rule] = {"markov_rank": Rule("int", 1, 4096)}
_NO_CHAIN: Mapping[str, Rule] = {"markov_rank": Rule("int", 0, 0, nullable=True)}
_OPTIONAL: Mapping[str, Rule] = {
    "head_dim": Rule("int", 2, 4096, nullable=True),
    "draft_vocab_size": Rule("int", 1, (1 << 24) - 1, nullable=True),
    "hidden_act": Rule("text", choices=("silu",)),
    "markov_head_type": Rule("text", choices=("vanilla",)),
    "enable_confidence_head": Rule("bool"),
    "rope_is_neox_style": Rule("bool"),
    "layer_types": Rule("texts", choices=("full_attention",), nullable=True),
    "rope_parameters": Rule("object", nullable=True),
}
_DRAFTING: Mapping[str, Rule] = {
    "target_layer_ids": _LIST,
    "num_target_layers": Rule("int", 1, 512),
    "mask_token_id": Rule("int", 0, (1 << 24) - 1),
}
_BLOCK, _BLOCK_WITH_PENDING = Rule("int", 1, 31), Rule("int", 2, 32)
_MUST_BE_TRUE = ("sample_from_anchor", "confidence_head_with_markov")
_MUST_BE_ABSENT = (
    *("is_causal", "sliding_window", "attention_bias", "final_logit_softcapping"),
    *("log_snr_conditioning", "attention_sink_bias", "dflash_query_causal", "rope_scaling"),
    *("enable_qwen35_gated_q_proj", "quantization", "quantization_config"),
    *("conv_kernel_size", "selector_rank"),
)
_MUST_BE_ONE = ("input_embedding_scale", "output_multiplier")
_LFM2 = frozenset({"lfm2", "lfm2_moe"})
_ZLAB_TARGETS = frozenset({"qwen3", "qwen3_moe", "llama"})


@dataclass(frozen=True, slots=True)
class DSparkConfig:
    """A checked config.

    Attributes:
        packaging: `LIQUID`, `DEEPSPEC` or `ZLAB`.
        draft_vocab: tokens it can propose; fewer than `vocab` where a d2t table says which.
        traditional: rotates neighbouring pairs, not halves.
        block: the most tokens it proposes at once.
        taps: the target's layers whose streams it reads.
        rank: of the Markov head's tables; 0 where rows stand alone.
    """

    packaging: str
    hidden: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    intermediate: int
    vocab: int
    draft_vocab: int
    eps: float
    rope_theta: float
    traditional: bool
    block: int
    mask_id: int
    taps: tuple[int, ...]
    target_layers: int
    rank: int
    confidence: bool

    @property
    def rows(self) -> int:
        """Rows of its block; of z-lab's the first, the pending token's, predicts nothing."""
        return self.block + (self.packaging == ZLAB)

    @property
    def method(self) -> str:
        """What this kind of drafter is called."""
        return "DFlash" if self.packaging == ZLAB else "DSpark"


def packaging(config: Mapping[str, Any]) -> str:
    """Which packaging a drafter's config is, empty if none that runs here.

    `model_type` says nothing: it is that of a plain Qwen3 model.
    """
    names = architectures(config)
    if foreign(config):
        return ""
    if named := next((kind for kind in (LIQUID, DEEPSPEC, ZLAB) if kind in names), ""):
        return named
    if names and any("DSpark" in name for name in names):
        return ""
    nested = _object(config.get("dflash_config"))
    if not config.get("markov_rank"):
        return ""
    if "target_layer_ids" in nested:
        return LIQUID
    return DEEPSPEC if "target_layer_ids" in config else ""


def foreign(config: Mapping[str, Any]) -> bool:
    """Whether it has the marks of speculators or SpecForge, whose slots mean something else."""
    nested = _object(config.get("dflash_config"))
    return "projector_type" in nested or any(
        str(name).startswith("speculators_") for name in config
    )


def architectures(config: Mapping[str, Any]) -> tuple[str, ...]:
    """The class names a config gives itself."""
    named = config.get("architectures")
    names = cast("list[Any]", named) if isinstance(named, list) else [named]
    return tuple(name for name in names if isinstance(name, str))


def check(config: Mapping[str, Any]) -> DSparkConfig:
    """The config of a drafter, every field within its bounds.

    Raises:
        DrafterRefused: with the field, the value found and the values allowed.
    """
    kind = packaging(config)
    nested = _object(config.get("dflash_config"))
    if kind != DEEPSPEC and not nested:
        found, there = config.get("dflash_config"), "dflash_config" in config
        raise refuse("dflash_config", found, "an object", there=there)
    drafting = {**config, **nested}
    block = {"block_size": _BLOCK_WITH_PENDING if kind == ZLAB else _BLOCK}
    required = {**_RULES, **({} if kind == ZLAB else _CHAIN)}
    for source, rules in ((config, required), (drafting, {**_DRAFTING, **block})):
        for name, rule in rules.items():
            if source.get(name) is None or not rule.admits(source[name]):
                raise refuse(name, source.get(name), rule.allowed, there=name in source)
    for name, rule in {**_OPTIONAL, **(_NO_CHAIN if kind == ZLAB else {})}.items():
        if name in config and not rule.admits(config[name]):
            raise refuse(name, config[name], rule.allowed)
    _check_fixed(drafting)
    return _related(kind, config, drafting)


def check_pair(mine: DSparkConfig, family: str, target: Mapping[str, Any]) -> None:
    """Refuse a drafter that was made for another target.

    Raises:
        DrafterRefused: with what the drafter was made for and what the target is.
    """
    if mine.packaging == LIQUID:
        made, fits = "LFM2 models", family in _LFM2
    elif mine.packaging == ZLAB:
        made, fits = "Qwen3 and Llama models", family in _ZLAB_TARGETS
    else:
        made, fits = "dense models", family not in {*_LFM2, "laguna"}
    if not fits:
        raise _mismatch(f"it was made for {made}, and the target is of the family {family}")
    pairs = (
        ("hidden size", mine.hidden, target.get("hidden_size")),
        ("number of layers", mine.target_layers, target.get("num_hidden_layers")),
        ("vocabulary", mine.vocab, target.get("vocab_size")),
    )
    for what, wanted, found in pairs:
        if wanted != found:
            raise _mismatch(
                f"it was made for a target whose {what} is {wanted}, this one's is {found}"
            )


def refuse(field: str, value: object, allowed: str, *, there: bool = True) -> DrafterRefused:
    """The refusal of one field."""
    found = f"is {shown(value)}" if there else "is missing"
    message = f"config.json of the drafter: {field} {found}; allowed is {allowed}."
    return DrafterRefused("drafter_config", message, safe=_SAFE, action=_AGAIN)


def _check_fixed(config: Mapping[str, Any]) -> None:
    """Fields that change the arithmetic and of which one value is supported."""
    for name in _MUST_BE_TRUE:
        if name in config and config[name] is not True:
            raise refuse(name, config[name], "true")
    for name in _MUST_BE_ABSENT:
        if config.get(name) not in (None, False):
            raise refuse(name, config[name], "only its absence, null or false")
    for name in _MUST_BE_ONE:
        if config.get(name, 1) != 1:
            raise refuse(name, config[name], "only its absence or 1")
    rope = _object(config.get("rope_parameters"))
    if rope.get("rope_type", "default") != "default":
        raise refuse("rope_parameters.rope_type", rope["rope_type"], "default")


def _related(kind: str, config: Mapping[str, Any], drafting: Mapping[str, Any]) -> DSparkConfig:
    """Refuse values that are fine alone and impossible together."""
    heads, kv_heads = config["num_attention_heads"], config["num_key_value_heads"]
    if heads % kv_heads:
        raise refuse("num_key_value_heads", kv_heads, f"a divisor of the {heads} heads")
    size = config.get("head_dim") or config["hidden_size"] // heads
    if size % 2 or not size:
        raise refuse("head_dim", size, "an even number")
    layers, kinds = config["num_hidden_layers"], config.get("layer_types")
    if kinds is not None and len(kinds) != layers:
        raise refuse("layer_types", f"a list of {len(kinds)}", f"a list of {layers}")
    vocab = config["vocab_size"]
    draft_vocab = config.get("draft_vocab_size") or vocab
    if draft_vocab > vocab or (kind != DEEPSPEC and draft_vocab != vocab):
        allowed = f"at most {vocab}" if kind == DEEPSPEC else f"{vocab}, the vocab_size"
        raise refuse("draft_vocab_size", draft_vocab, allowed)
    mask, target_layers = drafting["mask_token_id"], drafting["num_target_layers"]
    if mask >= vocab:
        raise refuse("mask_token_id", mask, f"an id below {vocab}, the vocab_size")
    taps = tuple(cast("list[int]", drafting["target_layer_ids"]))
    ordered = taps == tuple(sorted(set(taps)))
    if not 1 <= len(taps) <= 32 or not ordered or taps[-1] >= target_layers:
        allowed = f"1 to 32 increasing layers below {target_layers}, the num_target_layers"
        raise refuse("target_layer_ids", list(taps), allowed)
    neox = config.get("rope_is_neox_style")
    if neox is None and kind == LIQUID:
        raise refuse("rope_is_neox_style", None, "true or false", there=False)
    return DSparkConfig(
        kind, config["hidden_size"], layers, heads, kv_heads, size, config["intermediate_size"],
        vocab, draft_vocab, float(config["rms_norm_eps"]), _theta(config), neox is False,
        drafting["block_size"] - (kind == ZLAB), mask, taps, target_layers,
        config.get("markov_rank") or 0, kind != ZLAB and config.get("enable_confidence_head", True),
    )  # fmt: skip


def _theta(config: Mapping[str, Any]) -> float:
    """The base of the rotation: at the top, else in rope_parameters."""
    found = config.get("rope_theta")
    if found is None:
        found = _object(config.get("rope_parameters")).get("rope_theta")
    rule = Rule("float", 1.0, 1e12)
    if found is None or not rule.admits(found):
        raise refuse("rope_theta", found, rule.allowed, there=found is not None)
    return float(found)


def _mismatch(reason: str) -> DrafterRefused:
    message = f"The drafter does not belong to this model: {reason}."
    action = "Choose the drafter that was made for this model."
    return DrafterRefused("drafter_pair", message, safe=_SAFE, action=action)


def _object(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
