"""What a drafted round of Laguna costs beside the passes: `python tests/bench/laguna_overhead.py`.

A target of 40 layers and a drafter of 5, both so narrow that nearly all of a round is the host's
work. In turns, for every width: a plain step, a drafted round, and the drafter alone. `ratio` is
the round over the step and the drafter together: at most 1.5 is the aim. Prints JSON.
"""

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
REPEATS, PROMPT = 40, [(7 * i * i + 3 * i) % 64 for i in range(64)]


def main():
    target = Target(tiny_laguna(DEEP), dict(DEEP), PAIR["dflash_config"]["target_layer_ids"])
    with tempfile.TemporaryDirectory() as folder:
        write_drafter(Path(folder), PAIR, random_weights(PAIR))
        model = open_drafter(Path(folder), target)
    session, drafter = Session(target), model.start()
    drafter.observe(PROMPT[:-1], session.feed(PROMPT[:-1]).taps)
    session.begin(PROMPT[-1], Sampling())
    report = {"backend": f"{BACKEND.name}, {BACKEND.blas}"}
    for k in (1, 4, 7, 15):
        times = [once(session, drafter, k) for _ in range(REPEATS + 2)][2:]
        ratios = [one["round"] / (one["step"] + one["drafter"]) for one in times]
        report[f"{k} guesses"] = {
            "ratio": {f.__name__: round(f(ratios), 2) for f in (min, statistics.median, max)},
            **{
                name: round(1000 * statistics.median(t[name] for t in times), 2)
                for name in times[0]
            },
        }
    print(json.dumps(report, indent=1))


def once(session, drafter, k):
    """Seconds of a plain step, of a drafted round, and of the drafter alone."""
    clock = time.perf_counter
    begun = clock()
    step = session.plain(pipeline=False)
    stepped = clock()
    drafter.observe(step.fed, step.taps)
    started = clock()
    proposal = drafter.propose(Context(session.tokens, session.drawn, Sampling()), k)
    described = clock()
    step = session.drafted(proposal, 0.0, 0.0)
    checked = clock()
    drafter.observe(step.fed, step.taps)
    asked = clock()
    mx.eval(drafter.propose(Context(session.tokens, session.drawn, Sampling()), k).ids)
    return {
        "step": stepped - begun,
        "drafter": clock() - asked,
        "round": checked - started,
        "describing": described - started,
    }


if __name__ == "__main__":
    main()
