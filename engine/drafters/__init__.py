"""Opening a drafter folder: which kind it is, and whether it belongs to the target."""

import hashlib
import json
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import mlx.core as mx

from engine import config as target_config
from engine.checkpoint import survey
from engine.drafters import dflash_config, dspark_config
from engine.drafters.contract import SAFE, architectures, inner, of_drafter, refuse_setting
from engine.drafters.dflash import open_dflash
from engine.drafters.dspark import open_dspark
from engine.errors import DrafterRefused, ModelRefused
from engine.fields import printable
from engine.proposers import DrafterModel
from engine.request import DrafterOptions
from engine.target import Target

_INSIDE = "it is a whole model with a drafter inside, not a drafter of its own"
_EMBEDDED = ("num_nextn_predict_layers", "mtp_num_hidden_layers")  # MTP heads, by their count
_OTHER = "Use DSpark in LiquidAI's or DeepSpec's form, or DFlash in z-lab's or Laguna's."


def taps(folder: Path) -> tuple[int, ...]:
    """The target's layers that a drafter reads: the target has to be made with them.

    Raises:
        DrafterRefused: the folder holds no drafter that runs here.
    """
    raw = _raw(folder)
    if dflash_config.is_dflash(raw):
        return dflash_config.check(raw).taps
    return dspark_config.check(raw).taps


def open_drafter(
    folder: Path, target: Target, options: DrafterOptions | None = None
) -> DrafterModel:
    """Load the drafter in `folder` for `target`, run as `options` ask.

    Raises:
        DrafterRefused: it is no drafter, of a kind or with options that do not run here, or
            another target's; all memory is given back.
    """
    raw = _raw(folder)
    try:
        if dflash_config.is_dflash(raw):
            _refuse_options(options or DrafterOptions())
            return open_dflash(folder, raw, target)
        return open_dspark(folder, raw, target, options or DrafterOptions())
    except BaseException as error:
        traceback.clear_frames(error.__traceback__)  # they hold the tensors read so far
        mx.clear_cache()
        raise
    finally:
        mx.eval(mx.random.state)  # every parameter drawn is a split of it, which would pile up


def identity(folder: Path) -> str:
    """SHA-256 that tells the weights and config of a drafter that was opened from others."""
    digest = hashlib.sha256(json.dumps(_raw(folder), sort_keys=True).encode())
    digest.update(survey(folder).identity().encode())
    return digest.hexdigest()


def _refuse_options(options: DrafterOptions) -> None:
    """DFlash has none of them: its files hold no confidence head, and it runs as released.

    Raises:
        DrafterRefused: an option is set.
    """
    reason = ""
    if options.bits:
        reason = f"a DFlash drafter runs as released and not in {options.bits} bits"
    elif options.confidence > 0.0:
        reason = "a DFlash drafter has no confidence head, so drafts cannot be cut by confidence"
    if reason:
        raise refuse_setting(reason)


def _raw(folder: Path) -> dict[str, Any]:
    """The config of a drafter whose kind runs here."""
    try:
        raw = target_config.parse(folder)
    except ModelRefused as error:
        raise of_drafter(folder, error) from None
    if reason := _reason_against(raw):
        message = f"{folder.name} cannot draft here: {reason}."
        raise DrafterRefused("drafter_kind", message, safe=SAFE, action=_OTHER)
    return raw


def _reason_against(raw: Mapping[str, Any]) -> str:
    """Why a config is not that of a drafter that runs here; empty if it is one."""
    if dspark_config.packaging(raw) or dflash_config.is_dflash(raw):
        return ""
    projector = inner(raw, "dflash_config").get("projector_type")
    names = architectures(raw)
    if any(str(key).startswith("speculators_") for key in raw):
        return "it is in the form of vLLM's speculators, whose slots count from one further on"
    if projector is not None:
        return f"it is in SpecForge's form (projector_type {printable(str(projector))})"
    if any(str(key).startswith("dspark_") for key in raw):
        return _INSIDE
    if other := next((name for name in names if "DSpark" in name), ""):
        return f"it is a {printable(other)}, and DSpark runs for LFM2 and for dense models only"
    kind = target_config.drafter_kind(raw)
    if not kind:
        fields = {**raw, **inner(raw, "text_config")}
        has_heads = any(fields.get(name) for name in _EMBEDDED)
        return _INSIDE if has_heads else "it is an ordinary model and no drafter"
    known = {"dflash": "a DFlash", "eagle": "an EAGLE", "medusa": "a Medusa", "mtp": "an MTP"}
    text = " ".join((kind, *names, *map(str, raw))).lower()
    named = next((word for key, word in known.items() if key in text), "")
    return f"it is {kind}{f', {named} drafter' if named else ''}, and such drafters do not run here"
