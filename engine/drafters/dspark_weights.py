"""The tensors of a drafter with an unmasked block: the exact set, every shape, before any is read.

Names and shapes: LiquidAI/LFM2.5-2.6B-DSpark, deepseek-ai/dspark_qwen3_4b_block7, z-lab's dflash.
"""

from collections.abc import Mapping
from pathlib import Path

import mlx.core as mx

from engine.checkpoint import Checkpoint
from engine.drafters.dspark_config import DEEPSPEC, DSparkConfig
from engine.drafters.tensors import FLOATS, common_shapes, in_layers, misfit, refused, surveyed
from engine.fields import printable
from engine.weights import Tensor

_INTEGERS = frozenset({"I32", "I64"})
TABLE, MEMBERS = "d2t", "t2d"


def shapes(config: DSparkConfig) -> dict[str, tuple[int, ...]]:
    """Every tensor that has to be there."""
    hidden, rank, vocab = config.hidden, config.rank, config.vocab
    layer = {
        "self_attn.q_proj": (config.wide, hidden),
        "self_attn.k_proj": (config.narrow, hidden),
        "self_attn.v_proj": (config.narrow, hidden),
    }
    found = common_shapes(config) | in_layers(config, layer)
    if rank:
        found |= {
            "markov_head.markov_w1.weight": (vocab, rank),
            "markov_head.markov_w2.weight": (config.draft_vocab, rank),
        }
    if config.confidence:
        found |= {
            "confidence_head.proj.weight": (1, hidden + rank),
            "confidence_head.proj.bias": (1,),
        }
    if config.draft_vocab != vocab:
        found |= {"lm_head.weight": (config.draft_vocab, hidden), TABLE: (config.draft_vocab,)}
    return found


def survey_drafter(folder: Path, config: DSparkConfig) -> tuple[Checkpoint, dict[str, str]]:
    """Check the headers of a drafter's files; names in the files by tensor.

    Raises:
        DrafterRefused: a tensor is missing, unexpected, of a wrong shape or kind.
    """
    found = surveyed(folder)
    names: dict[str, str] = {}
    for name in found.tensors:
        bare = name.removeprefix("model.")
        if bare in names:
            raise refused(f"holds {printable(bare)} twice, once under model.")
        names[bare] = name
    _check_tensors(config, {bare: found.tensors[name] for bare, name in names.items()})
    return found, names


def load(
    found: Checkpoint, names: Mapping[str, str], config: DSparkConfig, dtype: mx.Dtype
) -> dict[str, mx.array]:
    """The tensors in `dtype`, evaluated; the d2t table as the ids it stands for.

    Raises:
        DrafterRefused: a tensor cannot be read, holds a NaN, or the table leaves the vocabulary.
    """
    arrays: dict[str, mx.array] = {}
    for file in found.files:
        arrays.update(mx.load(str(file.path)))  # pyright: ignore[reportArgumentType, reportCallIssue]
    tensors: dict[str, mx.array] = {}
    try:
        for bare, name in names.items():
            if bare == MEMBERS:
                continue
            array = arrays.pop(name)
            array = array.astype(mx.int64) if bare == TABLE else array.astype(dtype)
            if bare == TABLE:
                array = array + mx.arange(config.draft_vocab)
                if mx.any((array < 0) | (array >= config.vocab)).item():
                    raise refused(f"maps drafts by {TABLE} to ids outside the vocabulary")
                array = array.astype(mx.uint32)
            elif not mx.all(mx.isfinite(array)).item():
                raise refused(f"holds numbers in {bare} that are not finite")
            mx.eval(array)
            tensors[bare] = array
    except RuntimeError:
        raise refused("could not be read to the end") from None
    return tensors


def _check_tensors(config: DSparkConfig, tensors: Mapping[str, Tensor]) -> None:
    wanted, extra = shapes(config), _optional(config)
    for name, shape in wanted.items():
        if name not in tensors:
            fields = ""
            if name.startswith("confidence_head"):
                fields = " (enable_confidence_head says that it is there)"
            raise refused(f"has no tensor {name}{fields}")
        _check_one(name, tensors[name], shape)
    for name, tensor in tensors.items():
        if name in wanted:
            continue
        if name not in extra:
            method = config.method
            raise refused(f"holds {printable(name)}, which a {method} drafter does not have")
        if name != MEMBERS:
            _check_one(name, tensor, extra[name])


def _optional(config: DSparkConfig) -> dict[str, tuple[int, ...]]:
    """Tensors that DeepSpec files may bring: else the target's own are used."""
    if config.packaging != DEEPSPEC:
        return {}
    extra: dict[str, tuple[int, ...]] = {
        "embed_tokens.weight": (config.vocab, config.hidden),
        "lm_head.weight": (config.draft_vocab, config.hidden),
    }
    if config.draft_vocab != config.vocab:
        extra[MEMBERS] = (config.vocab,)
    return extra


def _check_one(name: str, tensor: Tensor, shape: tuple[int, ...]) -> None:
    if tensor.shape != shape:
        raise misfit(name, tensor.shape, shape)
    if tensor.dtype not in (_INTEGERS if name == TABLE else FLOATS):
        kinds = (
            "I32 or I64" if name == TABLE else "BF16, F16 or F32: packed drafters do not run here"
        )
        raise refused(f"holds {name} as {tensor.dtype}, expected is {kinds}")
