"""Laguna: full and sliding attention layers, each followed by a dense or a routed part."""

from typing import Any

from mlx_lm.models.cache import KVCache

from engine.adapters.dense import DenseAdapter
from engine.layers import LayerCache, SlidingCache

FAMILIES = frozenset({"laguna"})
_SLACK = 128  # rows that can be taken back: eight blocks of the trained width 16


class LagunaAdapter(DenseAdapter):
    """Runs the modules of an mlx-lm laguna model; its layers say themselves whether they slide.

    Plain decoding uses the sliding caches too: in the order of a ring the same sums would round
    otherwise than in a block (2e-6 to 2e-5, measured with mlx 0.32.4 once the window has wrapped).
    """

    def __init__(self, model: Any) -> None:  # noqa: ANN401 - mlx-lm has no common type
        super().__init__(model)
        self._sliding = [bool(layer.use_sliding) for layer in model.layers]
        self._window = model.model.sliding_window

    def caches(self) -> list[LayerCache]:
        """Empty caches in layer order."""
        return [
            SlidingCache(self._window, _SLACK) if sliding else KVCache()
            for sliding in self._sliding
        ]
