"""What a DSpark drafter costs beside its guesses: `python tests/bench/drafter.py` prints JSON.

`context`: a whole draft after 512 and after 8,192 rows of context, in turns. `attention` is MLX's own
attention over the same rows alone, `matmul` the two bare products q K' and p V of it, which is the
least that reading keys and values can cost. `beyond` is what the draft adds past that attention,
as a share of a draft at 512 rows: what this program is answerable for. On a busy CPU its own time
says more than the clock, on a GPU only the clock does. `bytes` is how much more is read from memory,
which is what counts on a GPU; it is computed for the published 2.6B drafter in bf16 too.

`parked`: plain decoding without a drafter and with one that is never asked, in turns, through the
same loop. Wall and CPU time of both, the ratio pair by pair, and what the drafter was asked to do.
`own_share_of_cpu` is what staging took of a parked reply, measured around the calls alone, which no
other work on the machine disturbs much.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from engine.backend import prepare

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # CPU time would count threads that wait
BACKEND = prepare()  # before MLX

import mlx.core as mx

from engine.drafters import open_drafter
from engine.guard import Guard, Times
from engine.proposers import Context
from engine.request import Sampling
from engine.session import Session
from engine.sessions import Kept
from engine.target import Target
from support.drafters import write_drafter
from support.tiny_dspark import LIQUID, random_weights
from support.tiny_lfm2 import DENSE, tiny_lfm2

FEW, MANY = 512, 8192
# Hidden, heads, kv heads, head size, inner size, layers, vocabulary, rank, block.
WIDTHS = {
    "of the tests": (64, 4, 2, 16, 128, 2, 96, 64, 5),
    "a quarter of the published": (512, 8, 2, 64, 1536, 5, 16384, 64, 9),
}
PUBLISHED = (2048, 32, 8, 64, 6144, 5, 128000, 256, 9)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=15)
    args = parser.parse_args()
    report = {
        "backend": f"{BACKEND.name}, {BACKEND.blas}",
        "context": {name: context(sizes, args.repeats) for name, sizes in WIDTHS.items()},
        "bytes_of_the_published": round(more_bytes(PUBLISHED), 3),
        "parked": parked(args.repeats),
        "load_average": os.getloadavg()[0],
    }
    print(json.dumps(report, indent=2))


def opened(sizes, folder, *, drafts=True):
    """A random pair of those sizes; the target without taps and no drafter if it does not draft."""
    hidden, heads, kv, dim, inner, layers, vocab, rank, block = sizes
    config = LIQUID | {
        "hidden_size": hidden, "num_attention_heads": heads, "num_key_value_heads": kv,
        "head_dim": dim, "intermediate_size": inner, "num_hidden_layers": layers,
        "layer_types": ["full_attention"] * layers, "vocab_size": vocab, "markov_rank": rank,
        "block_size": block, "dflash_config": LIQUID["dflash_config"] | {"mask_token_id": vocab - 1},
    }  # fmt: skip
    lfm2 = DENSE | {"hidden_size": hidden, "vocab_size": vocab, "block_dim": hidden}
    target = Target(tiny_lfm2(lfm2), dict(lfm2), (0, 2) if drafts else ())
    if not drafts:
        return target, None
    write_drafter(folder, config, random_weights(config, scale=0.02))
    return target, open_drafter(folder, target)


def context(sizes, repeats):
    """A draft, its attention alone and the bare products, after few and after many rows."""
    with tempfile.TemporaryDirectory() as folder:
        _, model = opened(sizes, Path(folder))
    works = {}
    for n in (FEW, MANY):
        drafter, width = model.start(), len(model.tapped) * model.config.hidden
        tokens = [(7 * i) % 90 for i in range(n)]
        for at in range(0, n, FEW):
            rows = mx.random.normal((FEW, width), key=mx.random.key(at))
            drafter.observe(tokens[at : at + FEW], rows)
        works |= {("draft", n): drafting(drafter, [*tokens, 5], model.block)}
        works |= {("attention", n): attention(sizes, n), ("matmul", n): products(sizes, n)}
    seen = in_turns(works, repeats)
    wall = {name: statistics.median(w for w, _ in times) for name, times in seen.items()}
    cpu = {name: statistics.median(c for _, c in times) for name, times in seen.items()}
    return {
        "wall_ms": {f"{part} {n}": round(1000 * t, 2) for (part, n), t in wall.items()},
        "cpu_ms": {f"{part} {n}": round(1000 * t, 2) for (part, n), t in cpu.items()},
        "of_wall": growth(wall),
        "of_cpu": growth(cpu),
        "bytes": round(more_bytes(sizes), 3),
    }


def growth(times):
    """How much longer a draft takes at many rows, and what part of that is not the attention's."""
    whole = times["draft", FEW]
    grown = {part: times[part, MANY] - times[part, FEW] for part, n in times if n == FEW}
    return {
        "ratio": round(1 + grown["draft"] / whole, 3),
        "ratio_of_the_matmul_alone": round(1 + grown["matmul"] / whole, 3),
        "beyond": round((grown["draft"] - grown["attention"]) / whole, 3),
    }


def drafting(drafter, tokens, k):
    def work():
        proposal = drafter.propose(Context(tokens, 0, Sampling()), k)
        return [proposal.ids, proposal.sound]

    return work


def rows_of(sizes, n):
    """Queries, keys and values of every layer, each in memory of its own."""
    _, heads, kv, dim, _, layers, *_, block = sizes
    layers = [
        (
            mx.random.normal((1, heads, block, dim)),
            *(mx.random.normal((1, kv, n + block, dim)) for _ in range(2)),
        )
        for _ in range(layers)
    ]
    mx.eval(layers)
    return layers


def attention(sizes, n):
    layers = rows_of(sizes, n)
    return lambda: [
        mx.fast.scaled_dot_product_attention(q, k, v, scale=sizes[3] ** -0.5) for q, k, v in layers
    ]


def products(sizes, n):
    shape = (1, sizes[2], -1, sizes[3])
    layers = [(q.reshape(shape), k, v) for q, k, v in rows_of(sizes, n)]
    return lambda: [q @ k.swapaxes(-1, -2) @ v for q, k, v in layers]


def more_bytes(sizes):
    """Bytes that a draft reads at 8,192 rows over those at 512."""
    hidden, heads, kv, dim, inner, layers, vocab, rank, block = sizes
    layer = 2 * hidden * dim * (heads + kv) + 3 * hidden * inner
    weights = layers * layer + vocab * hidden + block * vocab * rank
    few, many = (weights + 2 * layers * kv * dim * n for n in (FEW, MANY))
    return many / few


def parked(repeats, n=256):
    """Plain replies with and without a drafter that is never asked."""
    with tempfile.TemporaryDirectory() as folder:
        alone, _ = opened(WIDTHS["of the tests"], Path(folder), drafts=False)
        target, model = opened(WIDTHS["of the tests"], Path(folder))
    counts = {"block": 0, "absorb": 0, "rows": 0}
    absorb = model.model.absorb
    model.model.block = lambda *_: counts.__setitem__("block", counts["block"] + 1)

    def counted(taps, position, buffers):
        counts["absorb"], counts["rows"] = counts["absorb"] + 1, counts["rows"] + taps.shape[0]
        absorb(taps, position, buffers)

    model.model.absorb = counted
    texts = {}
    works = {
        "plain": lambda: texts.__setitem__("plain", plain(alone, None, n)),
        "parked": lambda: texts.__setitem__("parked", plain(target, model, n)),
    }
    seen = in_turns(works, 2 * repeats)
    ratios = [
        [b[i] / a[i] for a, b in zip(seen["plain"], seen["parked"], strict=True)] for i in (0, 1)
    ]
    asked = {what: round(count / (2 * repeats + 1), 1) for what, count in counts.items()}
    shares = [own_share(target, model, n) for _ in range(repeats)]
    return {
        "tokens": n,
        "own_share_of_cpu": spread(shares),
        "wall_ms": {
            k: round(1000 * statistics.median(w for w, _ in v), 1) for k, v in seen.items()
        },
        "cpu_ms": {k: round(1000 * statistics.median(c for _, c in v), 1) for k, v in seen.items()},
        "wall_ratio": spread(ratios[0]),
        "cpu_ratio": spread(ratios[1]),
        "same_tokens": texts["plain"] == texts["parked"],
        "asked_in_a_reply": asked,
    }


def own_share(target, model, n):
    """The share of a parked reply's CPU time that staging rows took, what it began waited for."""
    spent = 0.0

    def timed(drafter, step):
        nonlocal spent
        mx.synchronize()  # the pass that was launched ahead is not the drafter's
        waiting, begun = drafter.staged, time.process_time()
        drafter.observe(step.fed, step.taps)
        if drafter.staged < waiting:
            mx.eval([array for buffer in drafter._buffers for array in buffer.arrays])
        spent += time.process_time() - begun

    begun = time.process_time()
    plain(target, model, n, timed)
    return spent / (time.process_time() - begun)


def plain(target, model, n, observe=lambda drafter, step: drafter.observe(step.fed, step.taps)):
    kept = Kept(Session(target), Guard(Times()), None if model is None else model.start())
    prompt = [(5 * i) % 90 for i in range(32)]
    kept.feed(prompt[:-1])
    kept.session.begin(prompt[-1], Sampling())
    while kept.session.drawn < n:
        step = kept.session.plain(pipeline=kept.session.drawn + 2 < n)
        if kept.drafter is not None:
            observe(kept.drafter, step)
    return kept.session.tokens


def in_turns(works, repeats):
    """Wall and CPU seconds of each work, the first round of all not measured."""
    seen = {name: [] for name in works}
    for _ in range(repeats + 1):
        for name, work in works.items():
            wall, cpu = time.perf_counter(), time.process_time()
            mx.eval(work() or [])
            seen[name].append((time.perf_counter() - wall, time.process_time() - cpu))
    return {name: times[1:] for name, times in seen.items()}


def spread(values):
    return {
        "median": round(statistics.median(values), 4),
        "min": round(min(values), 4),
        "max": round(max(values), 4),
        "n": len(values),
    }


if __name__ == "__main__":
    main()
