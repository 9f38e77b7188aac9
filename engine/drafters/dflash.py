"""Laguna's DFlash: one causal block of guesses, each row predicting the token at its own place.

The drafter reads the target's inner streams as context rows and runs [pending, mask, mask, ...]
behind them once; embedding and head are the target's. The rows do not depend on each other's draws,
so every row is drawn at once, with the noise that the target will draw that position with.
Equations: vLLM's laguna_dflash.py for poolside/Laguna-*-DFlash, after z-lab's dflash; rounds as in
lablup/mlxcel pull request 1771. The shared noise is that of `engine.sampling`.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import mlx.core as mx
from mlx import nn, utils

from engine.drafters.borrowed import drawn, embedding, head
from engine.drafters.contract import of_drafter
from engine.drafters.dflash_config import WIDEST, DFlashConfig, check, check_pair
from engine.drafters.dflash_context import SPARE, Window
from engine.drafters.dflash_model import DFlashModel
from engine.drafters.dflash_weights import Plan, load, plan
from engine.errors import ModelRefused
from engine.packing import declared
from engine.proposers import Context, Proposal
from engine.sampling import finite
from engine.target import Target

_PIECES = 128  # tap rows that may wait one by one before they are made one array


class DFlash:
    """A loaded drafter, bound to its target. One for all texts."""

    def __init__(self, name: str, config: DFlashConfig, target: Target, found: Plan) -> None:
        self.name = name
        self.config = config
        self.tapped = config.taps
        self.block = config.block - 1
        self.most = WIDEST - 1  # more masked rows than it was trained with are legal, if less sure
        self.dtype = target.dtype
        packed = mx.default_device().type != mx.DeviceType.cpu
        tensors = load(found, target.dtype, packed=packed)
        self.model = DFlashModel(config)
        if packed and found.packings:
            nn.quantize(
                self.model,
                class_predicate=lambda path, _: _arguments(found, path),
            )
        self.model.load_weights(list(tensors.items()), strict=True)
        self.model.eval()
        flat: Any = utils.tree_flatten(self.model.parameters())
        self.nbytes = sum(array.nbytes for _, array in flat)
        self.embed, self.score = embedding(target), head(target)

    def start(self) -> "DFlashDrafter":
        """A drafter for a new text."""
        return DFlashDrafter(self)


class DFlashDrafter:
    """Guesses for one text."""

    def __init__(self, model: DFlash) -> None:
        self._model = model
        self._windows = [Window(size) for size in model.config.windows]
        self._most = max(model.config.windows) - 1 + SPARE
        self._staged: list[mx.array] = []  # rows (n, taps * hidden) that end at `length`
        self._length = 0

    @property
    def length(self) -> int:
        """The position after the newest row."""
        return self._length

    @property
    def staged(self) -> int:
        """Rows that wait for the next draft."""
        return sum(piece.shape[0] for piece in self._staged)

    def propose(self, context: Context, k: int) -> Proposal:
        """Guess up to `k` tokens after the pending one."""
        model, position = self._model, len(context.tokens) - 1
        self.forget(position)
        self._absorb()
        k = min(k, model.most)
        ids = [context.tokens[-1]] + [model.config.mask_id] * k
        block = model.embed(mx.array([ids], dtype=mx.uint32)).astype(model.dtype)
        scores = model.score(model.model.block(block, self._windows))[0]
        return Proposal("drafter", drawn(scores, context), finite(scores).min())

    def observe(self, tokens: Sequence[int], taps: mx.array) -> None:
        """Stage the rows of committed tokens; what no window will reach is dropped before fc."""
        assert len(tokens) == taps.shape[0], (len(tokens), taps.shape)
        if not tokens:
            return
        self._length += len(tokens)
        self._staged.append(taps[-self._most :].astype(self._model.dtype))
        if len(self._staged) > _PIECES or self.staged > self._most:
            joined = mx.concatenate(self._staged)[-self._most :]
            mx.async_eval(joined)  # lets go of the passes that the pieces come from
            self._staged = [joined]

    def forget(self, length: int) -> None:
        """Hold no row from `length` on; where rows before it are missing, start anew there."""
        surplus = self._length - length
        if surplus < 0:
            self._staged = []
        while surplus > 0 and self._staged:
            last = self._staged.pop()
            if last.shape[0] > surplus:
                self._staged.append(last[:-surplus])
            surplus -= last.shape[0]
        self._length = length
        if not self._staged:
            for window in self._windows:
                window.forget(length)

    def nbytes(self) -> int:
        """Bytes of context held."""
        held = [array for window in self._windows for array in window.arrays]
        return sum(array.nbytes for array in (*held, *self._staged))

    def _absorb(self) -> None:
        """Turn staged taps into context rows, all in one pass."""
        if not self._staged:
            return
        position = self._length - self.staged
        for window in self._windows:
            window.forget(position)  # empties it where rows in between were dropped
        taps = self._staged[0] if len(self._staged) == 1 else mx.concatenate(self._staged)
        self._model.model.absorb(taps, self._windows)
        self._staged = []


def open_dflash(folder: Path, raw: dict[str, Any], target: Target) -> DFlash:
    """Load a DFlash drafter for its target, or say why not before memory is taken.

    Raises:
        DrafterRefused: config, weights or pairing do not fit.
    """
    config = check(raw)
    check_pair(config, target.family, target.config)
    try:
        said = declared(raw)
    except ModelRefused as error:
        raise of_drafter(folder, error) from None
    return DFlash(folder.name, config, target, plan(folder, config, said))


def _arguments(found: Plan, path: str) -> bool | dict[str, Any]:
    """A packing as nn.quantize wants it."""
    how = found.packings.get(path)
    if how is None:
        return False
    return {"group_size": how.group_size, "bits": how.bits, "mode": how.mode}
