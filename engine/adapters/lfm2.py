"""LFM2 and its mixture-of-experts form: attention layers among short convolutions."""

from collections.abc import Sequence
from typing import Any, cast

import mlx.core as mx
from mlx_lm.models.base import create_attention_mask  # pyright: ignore[reportUnknownVariableType]
from mlx_lm.models.cache import KVCache

from engine.adapters import Pass
from engine.conv_window import ConvWindow
from engine.layers import LayerCache

FAMILIES = frozenset({"lfm2", "lfm2_moe"})


class Lfm2Adapter:
    """Runs the modules of an mlx-lm lfm2 or lfm2_moe model."""

    def __init__(self, model: Any) -> None:  # noqa: ANN401 - mlx-lm has no common type
        self._model = model

    def caches(self) -> list[LayerCache]:
        """Empty caches in layer order."""
        return [
            KVCache() if layer.is_attention_layer else ConvWindow(layer.conv.L_cache - 1)
            for layer in self._model.layers
        ]

    def run(self, ids: mx.array, caches: Sequence[LayerCache], tapped: Sequence[int]) -> Pass:
        """Append `ids` (1, n) to the caches."""
        inner = self._model.model
        stream = inner.embed_tokens(ids)
        mask = cast("Any", create_attention_mask(stream, caches[inner.fa_idx]))
        taps: list[mx.array] = []
        for index, (layer, cache) in enumerate(zip(inner.layers, caches, strict=True)):
            normed = layer.operator_norm(stream)
            if layer.is_attention_layer:
                stream = stream + layer.self_attn(normed, mask=mask, cache=cache)
            else:
                stream = stream + _short_conv(layer.conv, normed, cache)
            stream = stream + layer.feed_forward(layer.ffn_norm(stream))
            if index in tapped:
                taps.append(stream[0])
        return Pass(stream, mx.concatenate(taps, axis=-1) if taps else None)

    def head(self, stream: mx.array) -> mx.array:
        """Logits (1, n, vocab); the head of this family is its embedding."""
        inner = self._model.model
        return inner.embed_tokens.as_linear(inner.embedding_norm(stream))


def _short_conv(module: Any, rows: mx.array, window: ConvWindow) -> mx.array:  # noqa: ANN401
    """mlx-lm's ShortConv with its gated inputs handed to the window."""
    before, after, values = mx.split(module.in_proj(rows), 3, axis=-1)
    return module.out_proj(after * module.conv(window.append(before * values)))
