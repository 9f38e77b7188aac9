"""Writes what z-lab's own dflash 0.1.0 proposes on the pairs of support.dspark_pairs, as JSON.

    python tests/golden/zlab_peer.py FILE PROMPT ROUNDS [NAME TARGET DRAFTER ...]

Runs in the venv of support.venvs.transformers_python, called by support.golden.
"""

import contextlib
import itertools
import json
import sys
from pathlib import Path

import torch
from dflash.model import DFlashDraftModel, dflash_generate
from transformers import AutoModelForCausalLM


class Enough(Exception):
    """All rounds asked for were seen."""


def rounds(target_folder: str, drafter_folder: str, prompt: list[int], count: int) -> list[object]:
    """Greedy rounds of the peer's own loop: [[pending, drafts...], committed] of each."""
    target = AutoModelForCausalLM.from_pretrained(target_folder, dtype=torch.float32)
    drafter, info = DFlashDraftModel.from_pretrained(
        drafter_folder, dtype=torch.float32, output_loading_info=True
    )
    assert not any(info[key] for key in ("missing_keys", "unexpected_keys", "mismatched_keys")), (
        info
    )
    passes: list[tuple[int, list[int]]] = []  # position and ids of every pass of the target

    def record(_module: object, args: tuple[torch.Tensor], kwargs: dict[str, torch.Tensor]) -> None:
        passes.append((int(kwargs["position_ids"][0, 0]), args[0][0].tolist()))
        if len(passes) == count + 2:  # the prompt's, those asked for, and the one after them
            raise Enough

    target.register_forward_pre_hook(record, with_kwargs=True)
    room = (count + 2) * drafter.block_size  # so that no block is cut by the end
    with contextlib.suppress(Enough):
        dflash_generate(drafter, target, torch.tensor([prompt]), room, stop_token_ids=None)
    return [
        [ids, [*ids[1 : after - start], pending]]
        for (start, ids), (after, (pending, *_)) in itertools.pairwise(passes[1:])
    ]


def main() -> None:
    """Write FILE."""
    torch.set_num_threads(1)
    path, prompt, count, *rest = sys.argv[1:]
    found = {
        name: rounds(target, drafter, json.loads(prompt), int(count))
        for name, target, drafter in zip(*[iter(rest)] * 3, strict=True)
    }
    text = ",\n".join(
        f'"{name}": [\n'
        + ",\n".join(json.dumps(each, separators=(",", ":")) for each in value)
        + "]"
        for name, value in found.items()
    )
    Path(path).write_text("{\n" + text + "\n}\n")


if __name__ == "__main__":
    main()
