"""Answers one JSON line a request with mlx-dspark; runs in a venv of its own, see peers.py."""

import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from engine.backend import prepare

prepare()  # the same BLAS as ours

from mlx_dspark.generate import greedy_generate
from mlx_dspark.load import load_target
from mlx_dspark.lookup import lookup_generate

LOOPS = {"plain": greedy_generate, "lookup": lookup_generate}


def main(folder):
    target, tokenizer = load_target(folder)
    answer({"ready": True})
    for line in sys.stdin:
        answer(reply(target, tokenizer, **json.loads(line)))


def reply(target, tokenizer, loop, prompt_ids, max_tokens):
    """One greedy reply and its seconds after the prompt was read."""
    read = []
    result = LOOPS[loop](
        target,
        tokenizer,
        prompt_ids=prompt_ids,
        max_new_tokens=max_tokens,
        on_prefill=lambda *_: read.append(time.time()),
    )
    seconds = time.time() - read[-1]
    return {"seconds": seconds, "token_ids": [int(token) for token in result.token_ids]}


def answer(value):
    print(json.dumps(value), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
