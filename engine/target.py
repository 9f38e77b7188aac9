"""The model whose words count: one forward pass and what it says."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import mlx.core as mx
import mlx.nn as nn
from mlx_lm.models.cache import KVCache

from engine.adapters import Adapter
from engine.adapters.dense import FAMILIES as DENSE
from engine.adapters.dense import DenseAdapter, reversible_caches
from engine.adapters.laguna import FAMILIES as LAGUNA
from engine.adapters.laguna import LagunaAdapter
from engine.adapters.lfm2 import FAMILIES as LFM2
from engine.adapters.lfm2 import Lfm2Adapter
from engine.cache import Cache
from engine.layers import LayerCache

_PROOF_IDS = (1, 2, 3, 4)


@dataclass(frozen=True, slots=True)
class Rows:
    """What one forward pass says about `n` consecutive positions.

    Attributes:
        logits: (n, vocab); row i scores the token after input i.
        taps: (n, taps * hidden), the residual streams after the tapped layers, or None.
    """

    logits: mx.array
    taps: mx.array | None = None


class Target:
    """A language model, loaded and frozen.

    Args:
        model: an mlx-lm model.
        config: its config.json.
        tapped: indices of the layers after which the residual stream is captured, ascending.

    Attributes:
        plain_only_reason: why nothing may be drafted for it; empty if all is well.
    """

    def __init__(
        self, model: nn.Module, config: dict[str, Any], tapped: Sequence[int] = ()
    ) -> None:
        self.model: Any = model
        self.config = config
        self.family = str(config.get("model_type", ""))
        self.tapped = tuple(tapped)
        self.dtype = mx.float32  # of the logits
        self._adapter = _adapter(self.family, self.model)
        if not self._proves_itself():
            self._adapter = None
        self.plain_only_reason = self._reason_against_drafting()

    @property
    def vocab_size(self) -> int:
        """How many token ids the head scores."""
        return int(self.config["vocab_size"])

    @property
    def context_limit(self) -> int:
        """The most tokens one text may have."""
        return int(self.config.get("max_position_embeddings") or 4096)

    def new_cache(self) -> Cache:
        """An empty cache for one text."""
        return Cache(self._caches())

    def forward(self, ids: mx.array | Sequence[int], cache: Cache) -> Rows:
        """Append `ids` (n,) to `cache` and return their rows, not evaluated.

        What is not evaluated is not computed: a prompt chunk of which only the cache is settled
        pays for no head.
        """
        row = ids if isinstance(ids, mx.array) else mx.array(list(ids), dtype=mx.uint32)
        if self._adapter is None:
            rows = Rows(self.model(row[None], cache=cache.layers)[0])
        else:
            done = self._adapter.run(row[None], cache.layers, self.tapped)
            rows = Rows(self._adapter.head(done.stream)[0], done.taps)
        cache.grew(row.shape[0])
        return rows

    def _caches(self) -> list[LayerCache]:
        return reversible_caches(self.model) if self._adapter is None else self._adapter.caches()

    def _proves_itself(self) -> bool:
        """Whether the pass by layers, with its taps, gives the logits of the model's own call."""
        ids = mx.array([[i % self.vocab_size for i in _PROOF_IDS]])
        own = self.model(ids, cache=self._caches())
        self.dtype = own.dtype
        if self._adapter is None:
            return False
        done = self._adapter.run(ids, self._adapter.caches(), self.tapped)
        logits = self._adapter.head(done.stream)
        return bool(mx.array_equal(logits, own, equal_nan=True))

    def _reason_against_drafting(self) -> str:
        odd = {
            type(layer).__name__
            for layer in self._caches()
            if not (isinstance(layer, KVCache) or getattr(layer, "reversible", False))
        }
        if odd:
            return f"Its memory ({', '.join(sorted(odd))}) cannot take back a rejected guess."
        if self.tapped and self._adapter is None:
            return "Its inner layers cannot be read exactly."
        return ""


def _adapter(family: str, model: nn.Module) -> Adapter | None:
    """What runs the family layer by layer, if anything does."""
    if family in LFM2:
        return Lfm2Adapter(model)
    if family in LAGUNA:
        return LagunaAdapter(model)
    return DenseAdapter(model) if family in DENSE else None
