"""Replaying a reply: where blocks and single steps disagree, and how well the drafter guesses.

The reply is written plain; that text is the reference. It is fed again one row at a time and in
blocks, and a drafter guesses in its shadow at every token. Source: lablup/mlxcel's probe of real
checkpoints (pull request 1771).
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import mlx.core as mx

from engine.bench import Spread, timed
from engine.cache import Cache
from engine.engine import Engine
from engine.proposers import Context, Drafter, DrafterModel
from engine.request import Drafting, ModelChoice, Request, Sampling, Turn
from engine.sampling import to_host, top_two_gap
from engine.target import Target

_CHUNK = 512  # rows of the prompt fed at once


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A token that a block would have chosen otherwise than single steps.

    `at` is its index in the reply, `row` that of the block; `margin` the distance of the single
    step's two best scores: near 0 is a tie, anything else a fault.
    """

    at: int
    row: int
    chain_id: int
    block_id: int
    margin: float


@dataclass(frozen=True, slots=True)
class Shadow:
    """A drafter beside the reference text.

    Attributes:
        right_at: for each draft position, how often it guessed the reference.
        asked_at: how often each was asked.
        rounds: real rounds on this text, by accepted guesses: none, some, all.
        survival: rounds that accepted more than j guesses; a flat line is a sign of stale input.
        draft_build_ms: host time until a proposal is described, before anything is computed.
        verify_build_ms: host time until its check is described.
        sync_ms: the wait for both of them.
    """

    right_at: tuple[int, ...]
    asked_at: tuple[int, ...]
    proposed: int
    accepted: int
    rounds: tuple[int, int, int]
    survival: tuple[int, ...]
    draft_build_ms: Spread
    verify_build_ms: Spread
    sync_ms: Spread


@dataclass(frozen=True, slots=True)
class Probe:
    """What replaying one reply showed; `shadow` is None where there is no drafter."""

    tokens: int
    width: int
    disagreements: tuple[Disagreement, ...]
    shadow: Shadow | None


def probe(engine: Engine, model: ModelChoice, prompt: str, tokens: int, width: int = 0) -> Probe:
    """Write `tokens` plain tokens after `prompt` and replay them in blocks of `width` rows.

    Without a width it is that of the drafter's trained block, 8 where there is no drafter.

    Raises:
        EngineError: the model cannot be used.
    """
    off = Drafting(wish="off")
    request = Request(model, (Turn("user", prompt),), drafting=off, max_tokens=tokens)
    finished = timed(engine, request).finished
    assert engine.model is not None
    target, drafter = engine.model.target, engine.model.drafter
    rows = width or (1 + drafter.block if drafter else 8)
    text = [*finished.prompt_ids, *finished.token_ids]
    replay = _Replay(target, text, len(finished.prompt_ids))
    shadow = None if drafter is None else _shadow(replay, drafter, rows - 1)
    return Probe(len(finished.token_ids), rows, tuple(replay.disagreements(rows)), shadow)


def _shadow(replay: "_Replay", model: DrafterModel, k: int) -> Shadow:
    """What a drafter did beside the reference, in texts of its own."""
    k = min(k, model.most)
    right, asked = replay.right(model.start(), k)
    accepted, times = replay.rounds(model.start(), k)
    draft, verify, sync = (Spread.of(each) for each in zip(*times, strict=True))
    none, whole = accepted.count(0), sum(n == k for n in accepted)
    return Shadow(
        tuple(right),
        tuple(asked),
        k * len(accepted),
        sum(accepted),
        (none, len(accepted) - none - whole, whole),
        tuple(sum(n > j for n in accepted) for j in range(k)),
        draft,
        verify,
        sync,
    )


class _Replay:
    """One text of which the reply begins at `start`."""

    def __init__(self, target: Target, text: Sequence[int], start: int) -> None:
        self._target, self._text, self._start = target, text, start

    def disagreements(self, width: int) -> list[Disagreement]:
        """Every row of a block of reference tokens whose best token is not that of its own step."""
        chain, block = self._fed(None), self._fed(None)
        found: list[Disagreement] = []
        for at in range(self._start, len(self._text), width):
            ids = self._text[at - 1 : min(at - 1 + width, len(self._text) - 1)]
            rows = self._target.forward(ids, block).logits
            steps = mx.concatenate([self._target.forward([token], chain).logits for token in ids])
            best, single = (mx.argmax(each, axis=-1) for each in (rows, steps))
            gaps = top_two_gap(steps.astype(mx.float32), single)
            numbers = to_host(
                mx.concatenate([each.astype(mx.float32) for each in (best, single, gaps)])
            )
            block.settle()
            chain.settle()
            n = len(ids)
            found += [
                Disagreement(at - self._start + i, i, int(numbers[n + i]), int(numbers[i]), gap)
                for i, gap in enumerate(numbers[2 * n :])
                if numbers[i] != numbers[n + i]
            ]
        return found

    def right(self, drafter: Drafter, k: int) -> tuple[list[int], list[int]]:
        """How often each of `k` drafts is the reference's token, and how often it was asked."""
        cache, right, asked = self._fed(drafter), [0] * k, [0] * k
        for at in range(self._start, len(self._text)):
            truth = self._text[at : at + k]
            guesses = to_host(self._guesses(drafter, at, k).astype(mx.float32))
            for j, (guess, token) in enumerate(zip(guesses, truth, strict=False)):
                asked[j] += 1
                right[j] += guess == token
            ids = self._text[at - 1 : at]
            _observe(drafter, ids, self._target.forward(ids, cache).taps)
            cache.settle()
        return right, asked

    def rounds(self, drafter: Drafter, k: int) -> tuple[list[int], list[tuple[float, ...]]]:
        """Rounds on the reference: how many guesses each accepted, and its times in ms."""
        cache, accepted, times = self._fed(drafter), list[int](), list[tuple[float, ...]]()
        at = self._start
        while at < len(self._text):
            clocks = [time.perf_counter()]
            guesses = self._guesses(drafter, at, k)
            clocks.append(time.perf_counter())
            pending = mx.array([self._text[at - 1]], dtype=mx.uint32)
            rows = self._target.forward(mx.concatenate([pending, guesses]), cache)
            packed = [each.astype(mx.float32) for each in (guesses, mx.argmax(rows.logits, -1))]
            clocks.append(time.perf_counter())
            said = to_host(mx.concatenate(packed))
            clocks.append(time.perf_counter())
            n = guesses.shape[0]
            same = (a == b for a, b in zip(said[:n], said[n:], strict=False))
            right = next((i for i, hit in enumerate(same) if not hit), n)
            right = min(right, len(self._text) - at - 1)
            cache.rollback(at + right)
            ids = self._text[at - 1 : at + right]
            _observe(drafter, ids, None if rows.taps is None else rows.taps[: right + 1])
            cache.settle()
            accepted.append(right)
            times.append(tuple(1000 * (b - a) for a, b in pairwise(clocks)))
            at += right + 1
        return accepted, times

    def _guesses(self, drafter: Drafter, at: int, k: int) -> mx.array:
        """Guesses for the tokens from `at` on, greedy."""
        return drafter.propose(Context(self._text[:at], at - self._start, Sampling()), k).ids

    def _fed(self, drafter: Drafter | None) -> Cache:
        """A cache that holds all of the prompt but its last token; the drafter sees it too."""
        cache = self._target.new_cache()
        ids = self._text[: self._start - 1]
        for begin in range(0, len(ids), _CHUNK):
            piece = ids[begin : begin + _CHUNK]
            _observe(drafter, piece, self._target.forward(piece, cache).taps)
            cache.settle()
        return cache


def _observe(drafter: Drafter | None, ids: Sequence[int], taps: mx.array | None) -> None:
    if drafter is not None and taps is not None:
        drafter.observe(ids, taps)
