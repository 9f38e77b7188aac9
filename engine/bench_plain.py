"""The plain loop against mlx-lm's own, and what passes of several rows cost."""

import time
from dataclasses import dataclass
from typing import Any, cast

import mlx.core as mx
from mlx import nn
from mlx_lm.generate import generate_step

from engine import exactness
from engine.bench import Spread, first_difference, timed
from engine.engine import Engine
from engine.request import Drafting, ModelChoice, Request, Turn

_PROMPT = "Write a long story about a journey along a river."
_SHORT = 33  # tokens of a reply
_PAIRS = 5  # for each repeat asked for
_WIDTHS = (1, 2, 3, 4, 5, 6, 7, 8, 16, 32)
_CONTEXT = 256  # tokens before a timed pass
_ROUNDS = 9  # timings of each width


@dataclass(frozen=True, slots=True)
class AgainstMlxLm:
    """Tokens per second after the first token; `ratio` is ours over theirs, pair by pair."""

    ours: Spread
    theirs: Spread
    ratio: Spread
    same_tokens: bool


@dataclass(frozen=True, slots=True)
class Pass:
    """A forward pass of `width` rows. `break_even` is the tokens a round must bring to pay."""

    width: int
    ms: Spread
    break_even: float


@dataclass(frozen=True, slots=True)
class Costs:
    """What passes of several rows cost, and what it costs to check that they are exact."""

    passes: tuple[Pass, ...]
    gate_s: float
    exact_width: int


def against_mlx_lm(engine: Engine, model: ModelChoice, *, repeats: int) -> AgainstMlxLm:
    """Write the same greedy reply with both loops in turns, on the very same weights.

    Many short replies instead of a few long ones: other work on the machine then falls on both.

    Raises:
        EngineError: the model cannot be used.
    """
    request = Request(
        model, (Turn("user", _PROMPT),), drafting=Drafting(wish="off"), max_tokens=_SHORT
    )
    timed(engine, request)  # loads and warms up
    assert engine.model is not None
    weights = engine.model.target.model
    ours: list[float] = []
    theirs: list[float] = []
    same = True
    for _ in range(_PAIRS * repeats):
        reply = timed(engine, request)
        written = reply.finished.token_ids
        ids, seconds = _their_reply(weights, reply.finished.prompt_ids, len(written))
        ours.append(reply.after_first / reply.after_first_s)
        theirs.append((len(ids) - 1) / seconds)
        same = same and first_difference(ids, written) is None
    ratios = [a / b for a, b in zip(ours, theirs, strict=True)]
    return AgainstMlxLm(Spread.of(ours), Spread.of(theirs), Spread.of(ratios), same)


def costs(engine: Engine) -> Costs:
    """Time passes of 1 to 32 rows after the same text, interleaved, and the exactness gate."""
    assert engine.model is not None, "no model is loaded"
    target = engine.model.target
    cache = target.new_cache()
    ids = [(7 * i + 3) % target.vocab_size for i in range(_CONTEXT + _WIDTHS[-1])]
    mx.eval(target.forward(ids[:_CONTEXT], cache).logits)
    seen: dict[int, list[float]] = {width: [] for width in _WIDTHS}
    for _ in range(_ROUNDS + 1):  # the first one warms up
        for width in _WIDTHS:
            begin = time.perf_counter()
            mx.eval(target.forward(ids[_CONTEXT : _CONTEXT + width], cache).logits)
            seen[width].append(1000 * (time.perf_counter() - begin))
            cache.rollback(_CONTEXT)
    spreads = {width: Spread.of(times[1:]) for width, times in seen.items()}
    begin = time.perf_counter()
    gate = exactness.measure(target)
    return Costs(
        tuple(Pass(w, s, s.median / spreads[1].median) for w, s in spreads.items()),
        time.perf_counter() - begin,
        gate.exact_width,
    )


def _their_reply(model: nn.Module, prompt: tuple[int, ...], count: int) -> tuple[list[int], float]:
    """`count` tokens of mlx-lm's loop and the seconds after the first of them."""
    # It says that it yields arrays; the tokens are numbers.
    steps = cast("Any", generate_step(mx.array(prompt), model, max_tokens=count))
    ids = [int(next(steps)[0])]
    begin = time.perf_counter()
    ids += [int(token) for token, _ in steps]
    return ids, time.perf_counter() - begin
