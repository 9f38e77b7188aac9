"""Writes lfm2_transformers.json: the logits of transformers' own LFM2 on folders of ours.

The folders are written by support.lfm2_folder; transformers runs in a venv of its own:
    python3 -m venv .bench/torch
    .bench/torch/bin/pip install torch==2.13.0 transformers==5.24.0
    .bench/torch/bin/python tests/golden/lfm2_transformers.py FILE NAME FOLDER IDS [NAME FOLDER IDS]
tests/engine/test_lfm2_golden.py calls it with every folder.
"""

import json
import sys
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM


def logits(folder: str, ids: str) -> list[list[float]]:
    """(n, vocab), rounded to seven digits."""
    model, info = AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float32, attn_implementation="eager", output_loading_info=True
    )
    assert not any(info[key] for key in ("missing_keys", "unexpected_keys", "mismatched_keys")), (
        info
    )
    with torch.no_grad():
        rows = model(torch.tensor([json.loads(ids)])).logits[0]
    return [[float(f"{value:.7g}") for value in row] for row in rows.tolist()]


def main() -> None:
    """Write FILE."""
    path, *rest = sys.argv[1:]
    found = {name: logits(folder, ids) for name, folder, ids in zip(*[iter(rest)] * 3, strict=True)}
    text = ",\n".join(
        f'"{name}": [\n' + ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows) + "]"
        for name, rows in found.items()
    )
    Path(path).write_text("{\n" + text + "\n}\n")


if __name__ == "__main__":
    main()
