"""Side by side with mlx-dspark's drafter-free lookup, on the same float32 weights and prompts.

`make bench-peers` runs it. The peer lives in a venv of its own under .bench and in a process of its
own; the four arms (plain and drafted, ours and theirs) take turns on every prompt. Greedy.
"""

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from engine.backend import prepare

prepare()

import mlx.core as mx
from mlx.utils import tree_flatten

import resources
from engine.bench import first_difference, timed, warm_up
from engine.bench_panels import PANELS
from engine.engine import Engine
from engine.loading import load_target
from engine.request import Drafting, ModelChoice, Request, Turn
from support.venvs import BENCH, DSPARK, Unavailable, dspark_python

STEPS = ("ours plain", "ours drafted", "peer plain", "peer lookup")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--max-tokens", type=int, default=128)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    python = peer_python()
    folder = float32_folder()
    model = ModelChoice(folder)
    engine = Engine()
    warm_up(engine, model)
    peer = Peer(python, folder)
    panels = [measure(engine, model, peer, panel, args) for panel in PANELS]
    peer.close()
    if args.json:
        print(json.dumps({"peer": DSPARK, "panels": panels}))
    else:
        report(panels)


def measure(engine, model, peer, panel, args):
    """The four arms of one panel: tokens per second of each repeat, and the ratios to plain."""
    seconds = {arm: [0.0] * args.repeats for arm in STEPS}
    tokens = {arm: [0] * args.repeats for arm in STEPS}
    differ = {"ours": 0, "peer": 0, "plain loops": 0}
    for repeat in range(args.repeats):
        for prompt in panel.prompts:
            ids, prompt_ids = {}, ()
            for arm, wish in (("ours plain", "off"), ("ours drafted", "auto")):
                request = Request(
                    model,
                    (Turn("user", prompt),),
                    drafting=Drafting(wish=wish),
                    max_tokens=args.max_tokens,
                )
                reply = timed(engine, request)
                ids[arm], prompt_ids = list(reply.finished.token_ids), reply.finished.prompt_ids
                seconds[arm][repeat] += reply.decode_s
            for arm, loop in (("peer plain", "plain"), ("peer lookup", "lookup")):
                ids[arm], took = peer.ask(loop, prompt_ids, args.max_tokens)
                seconds[arm][repeat] += took
            for arm in STEPS:
                tokens[arm][repeat] += len(ids[arm])
            differ["ours"] += parts(ids["ours plain"], ids["ours drafted"])
            differ["peer"] += parts(ids["peer plain"], ids["peer lookup"])
            differ["plain loops"] += parts(ids["ours plain"], ids["peer plain"])
    rate = {
        arm: [count / took for count, took in zip(tokens[arm], seconds[arm], strict=True)]
        for arm in STEPS
    }
    return {
        "panel": panel.name,
        "rates": {arm: spread(values) for arm, values in rate.items()},
        "ours": ratio(rate, "ours drafted", "ours plain"),
        "peer": ratio(rate, "peer lookup", "peer plain"),
        "ours over peer": ratio(rate, "ours drafted", "peer lookup"),
        "replies that differ": differ,
    }


def parts(a, b):
    """1 if two replies differ; the end token that the peer keeps is not a difference."""
    shared = min(len(a), len(b))
    return int(first_difference(a[:shared], b[:shared]) is not None or abs(len(a) - len(b)) > 1)


def ratio(rate, a, b):
    return spread([x / y for x, y in zip(rate[a], rate[b], strict=True)])


def spread(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def report(panels):
    print(f"{'':<12}" + "".join(f"{arm:>14}" for arm in STEPS) + "   (tokens per second)")
    for panel in panels:
        rates = "".join(f"{panel['rates'][arm]['median']:>14.1f}" for arm in STEPS)
        print(f"{panel['panel']:<12}{rates}")
    print()
    for panel in panels:
        shown = ", ".join(
            f"{name} {panel[name]['median']:.2f} "
            f"({panel[name]['min']:.2f} to {panel[name]['max']:.2f})"
            for name in ("ours", "peer", "ours over peer")
        )
        print(f"{panel['panel']:<12}drafted over plain: {shown}")
    for name in ("ours", "peer", "plain loops"):
        print(f"replies that differ, {name}: {sum(p['replies that differ'][name] for p in panels)}")


class Peer:
    """The peer's process."""

    def __init__(self, python, folder):
        worker = Path(__file__).with_name("peer_worker.py")
        self._process = subprocess.Popen(
            [python, worker, folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._answer()
        for loop in ("plain", "lookup"):  # warm up
            self.ask(loop, [1, 2, 3, 1, 2, 3], 16)

    def ask(self, loop, prompt_ids, max_tokens):
        asked = {"loop": loop, "prompt_ids": list(prompt_ids), "max_tokens": max_tokens}
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        answer = self._answer()
        return answer["token_ids"], answer["seconds"]

    def close(self):
        self._process.stdin.close()
        self._process.wait()

    def _answer(self):
        while line := self._process.stdout.readline():
            if line.startswith("{"):  # it prints notices of its own
                return json.loads(line)
        raise SystemExit("bench-peers: the peer ended; run it by hand to see why.")


def peer_python():
    """The interpreter of the peer's venv, made when it is not there."""
    try:
        return dspark_python()
    except Unavailable as error:
        raise SystemExit(f"bench-peers: {error}") from None


def float32_folder():
    """The starter with every weight in float32, so that both sides multiply the same numbers."""
    folder = BENCH / "starter-float32"
    if not (folder / "config.json").exists():
        loaded = load_target(resources.path("starter"), lambda done, total: None)
        folder.mkdir(parents=True, exist_ok=True)
        weights = {
            name: array.astype(mx.float32)
            for name, array in tree_flatten(loaded.model.parameters())
        }
        mx.save_safetensors(str(folder / "model.safetensors"), weights, {"format": "mlx"})
        for name in ("tokenizer.json", "tokenizer_config.json", "generation_config.json"):
            (folder / name).write_bytes((resources.path("starter") / name).read_bytes())
        config = json.loads((resources.path("starter") / "config.json").read_text())
        config = {k: v for k, v in config.items() if not k.startswith("quantization")}
        (folder / "config.json").write_text(json.dumps(config | {"torch_dtype": "float32"}))
    return folder


if __name__ == "__main__":
    main()
