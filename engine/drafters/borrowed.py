"""What a drafter uses of its target: embedding, head, and the noise of every position."""

from collections.abc import Callable

import mlx.core as mx

from engine.proposers import Context
from engine.sampling import draw
from engine.target import Target


def embedding(target: Target) -> Callable[[mx.array], mx.array]:
    """Ids (1, n) to the target's raw embeddings (1, n, hidden), quantised or not."""
    return target.model.model.embed_tokens


def head(target: Target) -> Callable[[mx.array], mx.array]:
    """Hidden rows (1, n, hidden) to the target's scores (1, n, vocab); no norm, no cap."""
    model = target.model
    return model.lm_head if hasattr(model, "lm_head") else model.model.embed_tokens.as_linear


def drawn(scores: mx.array, context: Context) -> mx.array:
    """One token a row (n, vocab) uint32, each with the noise of its own position."""
    sampling = context.sampling
    if not sampling.has_penalties:
        return draw(scores, context.first, sampling)[0]
    # Penalties see the committed tokens; counting this block's own would need them read.
    rows = [
        draw(scores[i : i + 1], context.first + i, sampling, context.tokens)[0]
        for i in range(scores.shape[0])
    ]
    return mx.concatenate(rows)
