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
from typing import Any

from engine.drafters import contract
from engine.drafters.contract import Body, architectures, foreign, inner, mismatch, refuse
from engine.fields import Rule

LIQUID, DEEPSPEC, ZLAB = "Lfm2DSparkDraftModel", "Qwen3DSparkModel", "DFlashDraftModel"
_RULES: Mapping[str, Rule] = {**contract.SIZES, "rms_norm_eps": contract.EPSILON}
_CHAIN: Mapping[str, Rule] = {"markov_rank": Rule("int", 1, 4096)}
_NO_CHAIN: Mapping[str, Rule] = {"markov_rank": Rule("int", 0, 0, nullable=True)}
_OPTIONAL: Mapping[str, Rule] = {
    **contract.OPTIONAL,
    "hidden_act": Rule("text", choices=("silu",)),
    "markov_head_type": Rule("text", choices=("vanilla",)),
    "enable_confidence_head": Rule("bool"),
    "rope_is_neox_style": Rule("bool"),
    "layer_types": Rule("texts", choices=("full_attention",), nullable=True),
    "rope_parameters": Rule("object", nullable=True),
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


@dataclass(frozen=True, slots=True, kw_only=True)
class DSparkConfig(Body):
    """A checked config.

    Attributes:
        packaging: `LIQUID`, `DEEPSPEC` or `ZLAB`.
        draft_vocab: tokens it can propose; fewer than `vocab` where a d2t table says which.
        traditional: rotates neighbouring pairs, not halves.
        block: the most tokens it proposes at once.
        rank: of the Markov head's tables; 0 where rows stand alone.
    """

    packaging: str
    draft_vocab: int
    traditional: bool
    block: int
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
    if not config.get("markov_rank"):
        return ""
    if "target_layer_ids" in inner(config, "dflash_config"):
        return LIQUID
    return DEEPSPEC if "target_layer_ids" in config else ""


def check(config: Mapping[str, Any]) -> DSparkConfig:
    """The config of a drafter, every field within its bounds.

    Raises:
        DrafterRefused: with the field, the value found and the values allowed.
    """
    kind = packaging(config)
    nested = inner(config, "dflash_config")
    if kind != DEEPSPEC and not nested:
        found, there = config.get("dflash_config"), "dflash_config" in config
        raise refuse("dflash_config", found, "an object", there=there)
    drafting = {**config, **nested}
    block = {"block_size": _BLOCK_WITH_PENDING if kind == ZLAB else _BLOCK}
    contract.check_needed(config, {**_RULES, **({} if kind == ZLAB else _CHAIN)})
    contract.check_needed(drafting, {**contract.DRAFTING, **block})
    contract.check_given(config, {**_OPTIONAL, **(_NO_CHAIN if kind == ZLAB else {})})
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
        raise mismatch(f"it was made for {made}, and the target is of the family {family}")
    contract.check_sizes(mine, target)


def _check_fixed(config: Mapping[str, Any]) -> None:
    """Fields that change the arithmetic and of which one value is supported."""
    for name in _MUST_BE_TRUE:
        if name in config and config[name] is not True:
            raise refuse(name, config[name], "true")
    contract.check_absent(config, _MUST_BE_ABSENT)
    for name in _MUST_BE_ONE:
        if config.get(name, 1) != 1:
            raise refuse(name, config[name], "only its absence or 1")
    rope = inner(config, "rope_parameters")
    if rope.get("rope_type", "default") != "default":
        raise refuse("rope_parameters.rope_type", rope["rope_type"], "default")


def _related(kind: str, config: Mapping[str, Any], drafting: Mapping[str, Any]) -> DSparkConfig:
    """Refuse values that are fine alone and impossible together."""
    body = contract.body(config, drafting, eps=config["rms_norm_eps"], theta=_theta(config))
    vocab = config["vocab_size"]
    draft_vocab = config.get("draft_vocab_size") or vocab
    if draft_vocab > vocab or (kind != DEEPSPEC and draft_vocab != vocab):
        allowed = f"at most {vocab}" if kind == DEEPSPEC else f"{vocab}, the vocab_size"
        raise refuse("draft_vocab_size", draft_vocab, allowed)
    taps, below = body["taps"], body["target_layers"]
    if not 1 <= len(taps) <= 32 or taps != tuple(sorted(set(taps))) or taps[-1] >= below:
        allowed = f"1 to 32 increasing layers below {below}, the num_target_layers"
        raise refuse("target_layer_ids", list(taps), allowed)
    neox = config.get("rope_is_neox_style")
    if neox is None and kind == LIQUID:
        raise refuse("rope_is_neox_style", None, "true or false", there=False)
    return DSparkConfig(
        **body,
        packaging=kind,
        draft_vocab=draft_vocab,
        traditional=neox is False,
        block=drafting["block_size"] - (kind == ZLAB),
        rank=config.get("markov_rank") or 0,
        confidence=kind != ZLAB and config.get("enable_confidence_head", True),
    )


def _theta(config: Mapping[str, Any]) -> float:
    """The base of the rotation: at the top, else in rope_parameters."""
    found = config.get("rope_theta")
    if found is None:
        found = inner(config, "rope_parameters").get("rope_theta")
    if found is None or not contract.THETA.admits(found):
        raise refuse("rope_theta", found, contract.THETA.allowed, there=found is not None)
    return float(found)
