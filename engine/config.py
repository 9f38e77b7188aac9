"""config.json: what a model says it is, believed only within types and bounds."""

import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from engine import contents
from engine.errors import ModelRefused
from engine.families import FAMILIES, ROPE_NEEDS, ROPE_NUMBERS, RULES, Family
from engine.fields import Rule, printable, shown

NAME = "config.json"
_LARGEST = 8 << 20  # bytes; real ones are a few thousand
_SAFE = "Nothing was loaded."
_OTHER = "Choose another copy of this model, or download it again."
_DRAFTER_NAMES = re.compile(
    r"dflash|dspark|eagle|medusa|mtp|assistant|draft|speculator", re.IGNORECASE
)
_DRAFTER_FIELDS = (
    *("dflash_config", "markov_rank", "speculators_model_type", "speculators_config"),
    *("eagle_config", "medusa_num_heads", "target_layer_ids", "aux_hidden_state_layer_ids"),
    *("draft_vocab_size", "truncated_vocab_size"),
)
_LAYER_KINDS = ("full_attention", "sliding_attention")
_AT_MOST = (
    ("num_experts_per_tok", "num_experts"),
    ("sliding_window_pattern", "num_hidden_layers"),
)


def read(folder: Path) -> dict[str, Any]:
    """The checked config of the model in `folder`, in the field names mlx-lm reads.

    Raises:
        ModelRefused: it is missing, damaged, of no family that is served, or out of bounds.
    """
    config = parse(folder)
    check(config)
    return config


def parse(folder: Path) -> dict[str, Any]:
    """The config of any folder, target or drafter, as it stands.

    Raises:
        ModelRefused: there is no config.json, or it is not a JSON object.
    """
    if not folder.is_dir():
        raise ModelRefused("model_missing", f"There is no folder {folder.name}.", safe=_SAFE)
    try:
        with (folder / NAME).open("rb") as file:
            text = file.read(_LARGEST + 1)
    except OSError as error:
        reason = "is not there" if isinstance(error, FileNotFoundError) else "cannot be read"
        message = f"{folder.name}: {NAME} {reason}."
        raise ModelRefused("config_missing", message, safe=_SAFE, action=_OTHER) from None
    return _object(text)


def check(config: dict[str, Any]) -> None:
    """Refuse a config that no family served here can have; bring rope fields into one form.

    Raises:
        ModelRefused: with the field, the value found and the values allowed.
    """
    if kind := drafter_kind(config):
        message = (
            f"{NAME}: this is {kind}, a drafter. It guesses for its target and cannot chat alone."
        )
        action = "Open its target, and choose this folder as the drafter."
        raise ModelRefused("is_drafter", message, safe=_SAFE, action=action)
    if config.get("model_file") is not None:
        message = f"{NAME}: model_file is {shown(config['model_file'])}. Code that comes with a "
        message += "model is never run."
        raise ModelRefused("model_code", message, safe=_SAFE, action="Choose another model.")
    kind = config.get("model_type")
    if not isinstance(kind, str) or kind not in FAMILIES:
        names = ", ".join(sorted(FAMILIES))
        message = f"{NAME}: model_type is {shown(kind)}; the families that run here are {names}."
        raise ModelRefused("model_type", message, safe=_SAFE, action="Choose another model.")
    family = FAMILIES[kind]
    for name, default in family.defaults.items():
        config.setdefault(name, default)
    if family.flat_rope:
        _flatten_rope(config)
    _check_fields(kind, family, config)
    _check_relations(family, config)
    for name in ("rope_scaling", "rope_parameters"):
        if config.get(name) is not None:
            _check_rope(name, config[name], () if family.flat_rope else family.rope_needs)


def drafter_kind(config: Mapping[str, Any]) -> str:
    """What kind of drafter a config describes, in its own words; empty for a model that chats."""
    named = config.get("architectures")
    names = cast("list[Any]", named) if isinstance(named, list) else [named]
    for name in (*names, config.get("model_type")):
        if isinstance(name, str) and _DRAFTER_NAMES.search(name):
            return printable(name)
    return next((f'a model with "{name}"' for name in _DRAFTER_FIELDS if config.get(name)), "")


def refuse(field: str, value: object, allowed: str) -> ModelRefused:
    """The refusal of one field."""
    message = f"{NAME}: {field} is {shown(value)}; allowed is {allowed}."
    return ModelRefused("config_field", message, safe=_SAFE, action=_OTHER)


def missing(field: str, allowed: str) -> ModelRefused:
    """The refusal of a config without a field."""
    message = f"{NAME}: {field} is missing; allowed is {allowed}."
    return ModelRefused("config_field", message, safe=_SAFE, action=_OTHER)


def _object(text: bytes) -> dict[str, Any]:
    kind = contents.impostor(text[: contents.HEAD])
    reason = f"is {contents.PHRASES[kind]}" if kind else ""
    if not text.strip():
        reason = "is empty"
    elif len(text) > _LARGEST:
        reason = f"is larger than {_LARGEST >> 20} MiB"
    if not reason:
        try:
            value: object = json.loads(text.decode("utf-8-sig"))
        except (ValueError, RecursionError):
            reason = "is damaged: it is not JSON"
        else:
            if isinstance(value, dict):
                return cast("dict[str, Any]", value)
            reason = "is not an object of fields"
    raise ModelRefused("config_damaged", f"{NAME} {reason}.", safe=_SAFE, action=_OTHER)


def _check_fields(kind: str, family: Family, config: Mapping[str, Any]) -> None:
    rules = {**RULES, **family.rules}
    for name in family.required:
        if config.get(name) is None:
            allowed = f"{rules[name].allowed.removesuffix(' or null')} for {kind}"
            raise refuse(name, None, allowed) if name in config else missing(name, allowed)
    for name, value in config.items():
        rule = rules.get(name)
        if rule is not None and not rule.admits(value):
            raise refuse(name, value, rule.allowed)
    for first, second in family.either:
        if config.get(first) is None and config.get(second) is None:
            raise missing(f"{first} or {second}", f"{rules[first].allowed} for {kind}")


def _check_relations(family: Family, config: Mapping[str, Any]) -> None:
    """Refuse values that are fine alone and impossible together."""
    layers, heads = config["num_hidden_layers"], config["num_attention_heads"]
    groups = config.get("num_key_value_heads") or heads
    for count in (heads, *(config.get("num_attention_heads_per_layer") or ())):
        if count % groups:
            raise refuse("num_key_value_heads", groups, f"a divisor of the {count} heads")
    size = config.get("head_dim") or config["hidden_size"] / heads
    if size % 2:
        allowed = f"a multiple of {2 * heads} (two for each of the {heads} heads)"
        field = "head_dim" if config.get("head_dim") else "hidden_size"
        raise refuse(field, config[field], "an even number" if field == "head_dim" else allowed)
    for name in family.per_layer:
        found = config.get(name)
        if found is not None and len(found) != layers:
            allowed = f"a list of {layers}, one for each of num_hidden_layers"
            raise refuse(name, f"a list of {len(found)}", allowed)
    if max(config.get("full_attn_idxs") or (0,)) >= layers:
        raise refuse("full_attn_idxs", config["full_attn_idxs"], f"indices below {layers}")
    slides = "layer_types" in family.per_layer and "sliding_attention" in (
        config.get("layer_types") or ()
    )
    if slides and config.get("sliding_window") is None:
        raise missing("sliding_window", RULES["sliding_window"].allowed.removesuffix(" or null"))
    for field, limit in _AT_MOST:
        if None not in (config.get(field), config.get(limit)) and config[field] > config[limit]:
            raise refuse(field, config[field], f"at most {config[limit]}, the {limit}")


def _flatten_rope(config: dict[str, Any]) -> None:
    """Give rope_theta and rope_scaling the values of transformers 5's rope_parameters.

    mlx-lm's older families would take their default base instead, and answer nonsense.
    """
    values = _fields(config.get("rope_parameters"))
    if "full_attention" in values:  # gemma3_text: one object for each kind of layer
        local = _fields(values.get("sliding_attention"))
        if "rope_theta" in local:
            config.setdefault("rope_local_base_freq", local["rope_theta"])
        values = _fields(values["full_attention"])
    for name in ("rope_theta", "partial_rotary_factor"):
        if config.get(name) is None and values.get(name) is not None:
            config[name] = values[name]
    if config.get("rope_scaling") is None and values.get("rope_type", "default") != "default":
        config["rope_scaling"] = values


def _check_rope(field: str, value: dict[str, Any], needs: tuple[str, ...] = ()) -> None:
    for name, inner in value.items():
        if name in _LAYER_KINDS:
            if not isinstance(inner, dict):
                raise refuse(f"{field}.{name}", inner, "an object")
            _check_rope(f"{field}.{name}", _fields(cast("object", inner)))
    kind = value.get("type") or value.get("rope_type", "default")
    if not isinstance(kind, str) or kind not in ROPE_NEEDS:
        raise refuse(f"{field}.rope_type", kind, " or ".join(ROPE_NEEDS))
    for name in (*ROPE_NEEDS[kind], *needs):
        if name not in value:
            raise missing(f"{field}.{name}", f"a number for {kind}")
    for name, rule in ROPE_NUMBERS.items():
        if name in value and not rule.admits(value[name]):
            raise refuse(f"{field}.{name}", value[name], rule.allowed)
    for name in ("short_factor", "long_factor"):
        _check_factors(f"{field}.{name}", value.get(name, 1.0))
    _say_mscale(field, kind, value)


def _say_mscale(field: str, kind: str, value: dict[str, Any]) -> None:
    """Write yarn's attention_factor as the mscale that gives it: mlx-lm reads only that.

    The factor is 0.1 mscale ln(factor) + 1 over the same of mscale_all_dim.
    Source: YaRN 3.4 (arXiv 2309.00071), transformers' modeling_rope_utils, mlx-lm's rope_utils.
    """
    wanted, factor = value.get("attention_factor"), value.get("factor", 1.0)
    if kind != "yarn" or wanted is None:
        return
    if factor <= 1.0:
        if wanted != 1.0:
            raise refuse(f"{field}.attention_factor", wanted, "1 where factor is not above 1")
        return
    value["mscale"] = (wanted - 1.0) / (0.1 * math.log(factor))
    value["mscale_all_dim"] = 0


def _fields(value: object) -> dict[str, Any]:
    """The fields of a JSON object; none of anything else."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _check_factors(field: str, found: object) -> None:
    rule = Rule("float", 1e-6, 1e6)
    values = cast("list[object]", found) if isinstance(found, list) else [found]
    for value in values:
        if not rule.admits(value):
            raise refuse(field, value, rule.allowed)
