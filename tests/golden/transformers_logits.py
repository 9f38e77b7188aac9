"""Writes the logits of transformers' own models on folders of ours, as JSON.

    python tests/golden/transformers_logits.py FILE NAME FOLDER IDS [NAME FOLDER IDS ...]

Runs in the venv of support.venvs.transformers_python, called by support.golden.
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
