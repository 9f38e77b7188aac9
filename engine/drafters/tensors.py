"""The tensors of any drafter: names, shapes, and the words of a refusal."""

from pathlib import Path

from engine.checkpoint import Checkpoint, survey
from engine.drafters.contract import AGAIN, SAFE, Body, of_drafter
from engine.errors import DrafterRefused, ModelRefused

FLOATS = frozenset({"BF16", "F16", "F32"})


def common_shapes(config: Body) -> dict[str, tuple[int, ...]]:
    """What every drafter has, but for the matrices of queries, keys and values."""
    hidden, inner = config.hidden, config.intermediate
    found: dict[str, tuple[int, ...]] = {
        "fc.weight": (hidden, len(config.taps) * hidden),
        "hidden_norm.weight": (hidden,),
        "norm.weight": (hidden,),
    }
    layer: dict[str, tuple[int, ...]] = {
        "input_layernorm": (hidden,),
        "post_attention_layernorm": (hidden,),
        "self_attn.o_proj": (hidden, config.wide),
        "self_attn.q_norm": (config.head_dim,),
        "self_attn.k_norm": (config.head_dim,),
        "mlp.gate_proj": (inner, hidden),
        "mlp.up_proj": (inner, hidden),
        "mlp.down_proj": (hidden, inner),
    }
    return found | in_layers(config, layer)


def in_layers(config: Body, layer: dict[str, tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
    """The same tensors in every layer."""
    return {
        f"layers.{i}.{name}.weight": shape
        for i in range(config.layers)
        for name, shape in layer.items()
    }


def surveyed(folder: Path) -> Checkpoint:
    """The checked files of a drafter.

    Raises:
        DrafterRefused: a file is missing, incomplete or damaged.
    """
    try:
        return survey(folder)
    except ModelRefused as error:
        raise of_drafter(folder, error) from None


def size(shape: tuple[int, ...]) -> str:
    """A shape in words."""
    return " x ".join(str(n) for n in shape) or "one number"


def misfit(name: str, found: tuple[int, ...], wanted: tuple[int, ...]) -> DrafterRefused:
    """The refusal of a tensor for its shape."""
    return refused(f"holds {name} as {size(found)}, expected is {size(wanted)}")


def refused(reason: str) -> DrafterRefused:
    """The refusal of a file that does not go with its config."""
    message = f"The drafter does not fit its config.json: it {reason}."
    return DrafterRefused("drafter_weights", message, safe=SAFE, action=AGAIN)
