"""Families that are embed -> layers(h, mask, cache) -> norm -> head in mlx-lm."""

from collections.abc import Sequence
from typing import Any

import mlx.core as mx
from mlx_lm.models.base import create_attention_mask  # pyright: ignore[reportUnknownVariableType]
from mlx_lm.models.cache import RotatingKVCache, make_prompt_cache

from engine.adapters import Pass
from engine.layers import LayerCache, SlidingCache

FAMILIES = frozenset({"llama", "mistral", "qwen2", "qwen3", "smollm3"})


class DenseAdapter:
    """Runs the modules of a dense mlx-lm model."""

    def __init__(self, model: Any) -> None:  # noqa: ANN401 - mlx-lm has no common type
        self._model = model

    def caches(self) -> list[LayerCache]:
        """Empty caches; sliding layers get ours."""
        return reversible_caches(self._model)

    def run(self, ids: mx.array, caches: Sequence[LayerCache], tapped: Sequence[int]) -> Pass:
        """Append `ids` (1, n) to the caches."""
        inner = self._model.model
        stream = inner.embed_tokens(ids)
        window = getattr(inner, "sliding_window", None)
        masks: dict[bool, Any] = {}
        taps: list[mx.array] = []
        for index, (layer, cache) in enumerate(zip(inner.layers, caches, strict=True)):
            sliding = bool(getattr(layer, "use_sliding", False))
            if sliding not in masks:
                masks[sliding] = create_attention_mask(
                    stream, cache, window_size=window if sliding else None
                )
            stream = layer(stream, masks[sliding], cache=cache)
            if index in tapped:
                taps.append(stream[0])
        return Pass(stream, mx.concatenate(taps, axis=-1) if taps else None)

    def head(self, stream: mx.array) -> mx.array:
        """Logits (1, n, vocab)."""
        inner = self._model.model
        normed = inner.norm(stream)
        if hasattr(self._model, "lm_head"):
            return self._model.lm_head(normed)
        return inner.embed_tokens.as_linear(normed)


def reversible_caches(model: Any) -> list[LayerCache]:  # noqa: ANN401 - see above
    """The model's own empty caches, with ours in place of plain rotating ones."""
    return [
        SlidingCache(cache.max_size) if _is_plain_window(cache) else cache
        for cache in make_prompt_cache(model)
    ]


def _is_plain_window(cache: LayerCache) -> bool:
    """A rotating cache with `keep` rows is a different window: left as it is."""
    return isinstance(cache, RotatingKVCache) and not getattr(cache, "keep", 0)
