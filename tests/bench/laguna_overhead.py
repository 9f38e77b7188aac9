"""What a drafted round of Laguna costs beside the passes: `python tests/bench/laguna_overhead.py`.

A target of 40 layers and a drafter of 5, both so narrow that nearly all of a round is the host's
work. For every width, in turns: A, the drafter alone and a plain step; B, a drafted round. `ratio`
is B over the mean of the As before and after it: at most 1.5 is the aim. `host` counts what the
thread that calls the engine computes, so nothing that other programs do; `wall` is the time that
passes, the device's work included. Takes up to half a minute. Prints JSON.
"""

import gc
import itertools
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from engine.backend import prepare

BACKEND = prepare()  # before MLX

import mlx.core as mx

from engine.drafters import open_drafter
from engine.proposers import Context
from engine.request import Sampling
from engine.session import Session
from engine.target import Target
from support.drafters import changed, write_drafter
from support.tiny_dflash import DRAFTER, random_weights
from support.tiny_laguna import FULL, SLIDING, TARGET, tiny_laguna

DEEP = TARGET | {
    "num_hidden_layers": 40,
    "num_attention_heads_per_layer": [2, 4, 4, 4] * 10,
    "layer_types": [FULL, SLIDING, SLIDING, SLIDING] * 10,
    "mlp_layer_types": ["dense", *["sparse"] * 39],
}
FIVE = {
    "num_hidden_layers": 5,
    "layer_types": [SLIDING] * 5,
    "eagle_aux_hidden_state_layer_ids": [2, 14, 26, 34, 40],
}
PAIR = changed(
    DRAFTER | FIVE,
    dflash_config__target_layer_ids=[1, 13, 25, 33, 39],
    dflash_config__num_target_layers=40,
    dflash_config__block_size=16,
)
WIDTHS, LIMIT = (1, 4, 7, 15), 1.5
WARM, PAIRS, SECONDS = 3, 150, 5.0  # of each width
CLOCKS = {"host": time.thread_time, "wall": time.perf_counter}
PROMPT = [(7 * i * i + 3 * i) % 64 for i in range(64)]


def main():
    target = Target(tiny_laguna(DEEP), dict(DEEP), PAIR["dflash_config"]["target_layer_ids"])
    with tempfile.TemporaryDirectory() as folder:
        write_drafter(Path(folder), PAIR, random_weights(PAIR))
        model = open_drafter(Path(folder), target)
    session, drafter = Session(target), model.start()
    drafter.observe(PROMPT[:-1], session.feed(PROMPT[:-1]).taps)
    session.begin(PROMPT[-1], Sampling())
    gc.disable()
    report = {"backend": f"{BACKEND.name}, {BACKEND.blas}", "limit": LIMIT}
    for k in WIDTHS:
        report[f"{k} guesses"] = measured(session, drafter, k)
    worst = max(report[f"{k} guesses"]["ratio"]["host"]["median"] for k in WIDTHS)
    print(json.dumps(report | {"within the limit": worst <= LIMIT}, indent=1))


def measured(session, drafter, k):
    """The ratios and times of one width."""
    until, turns = time.perf_counter() + SECONDS, []
    while len(turns) < WARM + 2 or (time.perf_counter() < until and len(turns) < WARM + PAIRS):
        turns.append(turn(session, drafter, k))
    turns = turns[WARM:]
    report = {"pairs": len(turns) - 1, "ratio": {}, "ms": {}}
    for clock in CLOCKS:
        times = [{part: took[clock] for part, took in one.items()} for one in turns]
        alone = [one["drafter"] + one["step"] for one in times]
        around = [(a + b) / 2 for a, b in itertools.pairwise(alone)]
        rounds = [one["round"] for one in times[:-1]]
        ratios = [b / a for a, b in zip(around, rounds, strict=True)]
        report["ratio"][clock] = {
            f.__name__: round(f(ratios), 2) for f in (statistics.median, min, max)
        }
        report["ms"][clock] = {
            part: round(1000 * statistics.median(one[part] for one in times), 2)
            for part in times[0]
        }
    return report


def turn(session, drafter, k):
    """Times of the drafter alone, of a plain step and of a drafted round, by clock."""

    def guessed():
        return drafter.propose(Context(session.tokens, session.drawn, Sampling()), k)

    def seen(step):
        drafter.observe(step.fed, step.taps)

    return {
        # The drafter alone takes in the rows of the round before it, the round that of the step.
        "drafter": timed(lambda: mx.eval(guessed().ids)),
        "step": timed(lambda: seen(session.plain(pipeline=False))),
        "round": timed(lambda: seen(session.drafted(guessed(), 0.0, 0.0))),
    }


def timed(work):
    """Seconds by clock."""
    begun = {name: clock() for name, clock in CLOCKS.items()}
    work()
    return {name: clock() - begun[name] for name, clock in CLOCKS.items()}


if __name__ == "__main__":
    main()
