"""DSpark: one unmasked block of guesses, corrected slot by slot by the token before.

The drafter reads the target's inner streams as context rows, runs [pending, mask, mask, ...] over
them at once, and turns the rows' scores into a chain: slot i is drawn from z_i + W2 W1[token i-1].
z-lab's DFlash is this without the chain: its row i + 1 predicts the i-th guess.
Equations: deepseek-ai/DeepSpec (modeling/dspark, eval/dspark) and z-lab/dflash. Staged rows and the
flag for broken numbers follow TensorFold; the shared noise is that of `engine.sampling`.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import mlx.core as mx
from mlx import nn, utils

from engine.drafters.borrowed import drawn, embedding, head
from engine.drafters.contract import refuse_setting
from engine.drafters.dspark_config import DSparkConfig, check, check_pair
from engine.drafters.dspark_context import Buffer
from engine.drafters.dspark_model import DSparkModel
from engine.drafters.dspark_weights import TABLE, load, survey_drafter
from engine.proposers import Context, Proposal
from engine.request import DrafterOptions, Sampling
from engine.sampling import finite, gumbel, scored, to_host
from engine.target import Target

_STAGED = 128  # tap rows that may wait for the next draft
_GROUP = 64  # weights that share a scale in the 8-bit form


class DSpark:
    """A loaded drafter, bound to its target. One for all texts."""

    def __init__(
        self,
        name: str,
        config: DSparkConfig,
        target: Target,
        tensors: dict[str, mx.array],
        options: DrafterOptions,
    ) -> None:
        self.name = name
        self.config = config
        self.tapped = config.taps
        self.block = self.most = config.block
        self.confidence = options.confidence
        self.vocab = config.vocab
        self.ids = tensors.pop(TABLE, None)  # of each draft token, when they are a part of all
        self.model = DSparkModel(
            config, embeds="embed_tokens.weight" in tensors, scores="lm_head.weight" in tensors
        )
        self.model.load_weights(list(tensors.items()), strict=True)
        if options.bits:
            nn.quantize(self.model, _GROUP, options.bits, class_predicate=_packable)
        self.model.eval()
        mx.eval(self.model.parameters())
        flat: Any = utils.tree_flatten(self.model.parameters())
        self.nbytes = sum(array.nbytes for _, array in flat)
        self.embed: Callable[[mx.array], mx.array] = (
            self.model.embed_tokens if "embed_tokens" in self.model else embedding(target)
        )
        # Its own head, else the target's; no norm, no cap.
        self.score: Callable[[mx.array], mx.array] = (
            self.model.lm_head if "lm_head" in self.model else head(target)
        )

    def start(self) -> "DSparkDrafter":
        """A drafter for a new text."""
        return DSparkDrafter(self)

    def chain(
        self, hidden: mx.array, context: Context, k: int
    ) -> tuple[mx.array, mx.array, mx.array]:
        """Draw `k` tokens from block rows (1, n, hidden), each from the one before.

        Returns:
            Ids (k,) uint32, a float32 scalar that is 0 if a score was not finite or an id
            impossible, and the survival chances (k,) of each draft given those before it.
        """
        base = self.score(hidden[:, :k])[0]
        if not self.config.rank:
            return drawn(base, context), finite(base).min(), mx.ones((k,))
        heads = self.model.markov_head
        before = mx.array([context.tokens[-1]], dtype=mx.uint32)
        guesses: list[mx.array] = []
        sound: list[mx.array] = []
        chances: list[mx.array] = []
        for i in range(k):
            row = heads.markov_w1(before)
            scores = base[i : i + 1] + heads.markov_w2(row)
            sound.append(finite(scores))
            if self.confidence > 0.0:
                chances.append(self._survival(hidden[:, i], row))
            id_ = self._drawn(scores, context, i)
            possible = id_ < self.vocab
            sound.append(possible.astype(mx.float32))
            # The gathers that follow check no index. What the flag drops may not read elsewhere.
            before = mx.where(possible, id_, mx.zeros_like(id_))
            guesses.append(before)
        found = mx.concatenate(chances) if chances else mx.ones((k,))
        return mx.concatenate(guesses), mx.concatenate(sound).min(), found

    def _drawn(self, scores: mx.array, context: Context, i: int) -> mx.array:
        """The token of slot `i`, with the noise that the target will draw its own with."""
        sampling = context.sampling
        if self.ids is not None and sampling.has_penalties:
            sampling = _without_penalties(sampling)  # they count by the target's ids
        # Penalties see the committed tokens; counting this block's own would need them read.
        scores = scored(scores, sampling, context.tokens)
        if sampling.temperature > 0.0:
            noise = gumbel(sampling.seed, context.first + i, self.vocab)
            scores = scores + (noise if self.ids is None else noise[self.ids])
        best = mx.argmax(scores, axis=-1)
        return best if self.ids is None else self.ids[best]

    def _survival(self, hidden: mx.array, row: mx.array) -> mx.array:
        """The confidence head's word on one slot, (1,) float32."""
        proj = self.model.confidence_head.proj
        features = mx.concatenate([hidden, row], axis=-1).astype(mx.float32)
        return mx.sigmoid(
            features @ proj.weight.astype(mx.float32)[0] + proj.bias.astype(mx.float32)
        )


class DSparkDrafter:
    """Guesses for one text."""

    def __init__(self, model: DSpark) -> None:
        self._model = model
        self._start = 0  # position of the oldest context row
        self._buffers = [Buffer() for _ in model.model.layers]
        self._staged: list[mx.array] = []
        self._waiting = 0  # rows staged

    @property
    def length(self) -> int:
        """The position after the newest row."""
        return self._start + self._absorbed + self._waiting

    @property
    def staged(self) -> int:
        """Rows that wait for the next draft."""
        return self._waiting

    @property
    def _absorbed(self) -> int:
        return self._buffers[0].length

    def propose(self, context: Context, k: int) -> Proposal:
        """Guess up to `k` tokens after the pending one."""
        model, position = self._model, len(context.tokens) - 1
        self.forget(position)
        self._absorb()
        k = min(k, model.block)
        rows = model.config.rows
        ids = [context.tokens[-1]] + [model.config.mask_id] * (rows - 1)
        block = model.embed(mx.array([ids], dtype=mx.uint32))
        hidden = model.model.block(block, position, self._buffers)[:, rows - model.block :]
        guesses, sound, chances = model.chain(hidden, context, k)
        if model.confidence > 0.0:
            guesses = guesses[: _kept(to_host(mx.cumprod(chances)), model.confidence)]
        return Proposal("drafter", guesses, sound)

    def observe(self, tokens: Sequence[int], taps: mx.array) -> None:
        """Stage the rows of committed tokens; many are absorbed at once, a prompt's chunk is."""
        assert len(tokens) == taps.shape[0], (len(tokens), taps.shape)
        if not tokens:
            return
        self._staged.append(taps)
        self._waiting += len(tokens)
        if self._waiting > _STAGED:
            self._absorb()
            mx.async_eval([array for buffer in self._buffers for array in buffer.arrays])

    def forget(self, length: int) -> None:
        """Hold no row from `length` on; where rows before it are missing, start anew there."""
        if length > self.length or length <= self._start:
            self._start = length
            self._drop(self._absorbed + self._waiting)
        else:
            self._drop(self.length - length)

    def nbytes(self) -> int:
        """Bytes of context held."""
        held = [array for buffer in self._buffers for array in buffer.arrays]
        return sum(array.nbytes for array in (*held, *self._staged))

    def _absorb(self) -> None:
        """Turn staged taps into context rows, all in one pass."""
        if not self._waiting:
            return
        taps = self._staged[0] if len(self._staged) == 1 else mx.concatenate(self._staged)
        position = self._start + self._absorbed
        self._model.model.absorb(taps, position, self._buffers)
        self._staged, self._waiting = [], 0

    def _drop(self, n: int) -> None:
        """Take back the newest `n` rows."""
        while n and self._staged:
            last = self._staged.pop()
            left = max(0, last.shape[0] - n)
            gone = last.shape[0] - left
            n, self._waiting = n - gone, self._waiting - gone
            if left:
                self._staged.append(last[:left])
        for buffer in self._buffers:
            buffer.length -= n


def open_dspark(
    folder: Path, raw: dict[str, Any], target: Target, options: DrafterOptions
) -> DSpark:
    """Load a drafter with an unmasked block for its target, or say why not before memory is taken.

    Raises:
        DrafterRefused: config, weights, pairing or settings do not fit.
    """
    config = check(raw)
    check_pair(config, target.family, target.config)
    _check_options(options, config)
    found, names = survey_drafter(folder, config)
    tensors = load(found, names, config, target.dtype)
    return DSpark(folder.name, config, target, tensors, options)


def _check_options(options: DrafterOptions, config: DSparkConfig) -> None:
    reason = ""
    if options.bits not in (0, 8):
        reason = f"it runs as released or in 8 bits, not in {options.bits}"
    elif options.bits and any(
        size % _GROUP for size in (config.hidden, config.intermediate, config.rank)
    ):
        reason = f"its sizes are no multiples of {_GROUP}, so that it cannot be packed in 8 bits"
    elif options.confidence > 0.0 and not config.confidence:
        reason = "it has no confidence head, so that drafts cannot be cut by confidence"
    if reason:
        raise refuse_setting(reason)


def _packable(path: str, module: nn.Module) -> bool:
    """The linear layers of the body, fc and W2; the confidence row and W1 stay as they are."""
    own = ("confidence_head", "lm_head", "embed_tokens")
    return isinstance(module, nn.Linear) and not path.startswith(own)


def _kept(survival: Sequence[float], least: float) -> int:
    """How many leading drafts are worth a row; always one."""
    return max(1, next((i for i, chance in enumerate(survival) if chance < least), len(survival)))


def _without_penalties(sampling: Sampling) -> Sampling:
    return replace(sampling, repetition_penalty=1.0, presence_penalty=0.0, frequency_penalty=0.0)
