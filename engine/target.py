"""The model whose words count: one forward pass and what it says."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import mlx.core as mx
import mlx.nn as nn
from mlx_lm.models.base import create_attention_mask  # pyright: ignore[reportUnknownVariableType] untyped there
from mlx_lm.models.cache import KVCache, RotatingKVCache, make_prompt_cache

from engine.cache import Cache
from engine.layers import LayerCache, SlidingCache

# Families whose model is embed -> layers(h, mask, cache) -> norm -> head, so that the residual
# stream after any layer can be read. Each proves itself on load against the model's own call.
_DENSE = frozenset({"llama", "mistral", "qwen2", "qwen3", "smollm3"})
_PROOF_IDS = (1, 2, 3, 4)


@dataclass(frozen=True, slots=True)
class Rows:
    """What one forward pass says about `n` consecutive positions.

    Attributes:
        logits: (n, vocab); row i scores the token after input i. The last row alone if asked so.
        taps: (n, taps * hidden), the residual streams after the tapped layers, or None.
    """

    logits: mx.array
    taps: mx.array | None = None


class Target:
    """A language model, loaded and frozen.

    Args:
        model: an mlx-lm model.
        config: its config.json.
        tapped: indices of the layers after which the residual stream is captured.
    """

    def __init__(
        self, model: nn.Module, config: dict[str, Any], tapped: Sequence[int] = ()
    ) -> None:
        self.model: Any = model
        self.config = config
        self.family = str(config.get("model_type", ""))
        self.tapped = tuple(tapped)
        self.plain_only_reason = ""
        self._layered = self.family in _DENSE
        self._dtype = mx.float32
        if not self._proves_itself():
            self._layered = False
        layers = self._layer_caches()
        if not all(isinstance(layer, KVCache | SlidingCache) for layer in layers):
            kinds = ", ".join(sorted({type(layer).__name__ for layer in layers}))
            self.plain_only_reason = f"its memory ({kinds}) cannot take back a rejected guess"
        if self.tapped and not self._layered:
            self.plain_only_reason = "its inner layers cannot be read exactly"

    @property
    def vocab_size(self) -> int:
        """How many token ids the head scores."""
        return int(self.config["vocab_size"])

    @property
    def dtype(self) -> mx.Dtype:
        """The type of the logits."""
        return self._dtype

    @property
    def context_limit(self) -> int:
        """The most tokens one text may have."""
        return int(self.config.get("max_position_embeddings") or 4096)

    def new_cache(self) -> Cache:
        """An empty cache for one text."""
        return Cache(self._layer_caches())

    def forward(self, ids: mx.array | Sequence[int], cache: Cache) -> Rows:
        """Append `ids` (n,) to `cache` and return their rows, not evaluated.

        What is not evaluated is not computed: a prompt chunk of which only the cache is settled
        pays for no head.
        """
        row = ids if isinstance(ids, mx.array) else mx.array(list(ids), dtype=mx.uint32)
        n = row.shape[0]
        if self._layered:
            hidden, taps = self._through_layers(row[None], cache.layers)
            rows = Rows(self._head(hidden)[0], taps)
        else:
            rows = Rows(self.model(row[None], cache=cache.layers)[0])
        cache.grew(n)
        return rows

    def _layer_caches(self) -> list[LayerCache]:
        return [
            # mlx-lm's rotating cache with `keep` rows is a different window: left as it is.
            SlidingCache(layer.max_size) if _is_plain_window(layer) else layer
            for layer in make_prompt_cache(self.model)
        ]

    def _through_layers(
        self, ids: mx.array, caches: Sequence[LayerCache]
    ) -> tuple[mx.array, mx.array | None]:
        """The stream after the last layer (1, n, hidden), and the taps (n, taps * hidden)."""
        inner = self.model.model
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
            if index in self.tapped:
                taps.append(stream[0])
        return stream, mx.concatenate(taps, axis=-1) if taps else None

    def _head(self, stream: mx.array) -> mx.array:
        inner = self.model.model
        normed = inner.norm(stream)
        if hasattr(self.model, "lm_head"):
            return self.model.lm_head(normed)
        return inner.embed_tokens.as_linear(normed)

    def _proves_itself(self) -> bool:
        """Whether the pass by layers gives the very logits of the model's own call."""
        ids = mx.array([[i % self.vocab_size for i in _PROOF_IDS]])
        own = self.model(ids, cache=self._layer_caches())
        self._dtype = own.dtype
        if not self._layered:
            return False
        stream, _ = self._through_layers(ids, self._layer_caches())
        return bool(mx.array_equal(self._head(stream), own, equal_nan=True))


def _is_plain_window(layer: LayerCache) -> bool:
    return isinstance(layer, RotatingKVCache) and not getattr(layer, "keep", 0)
