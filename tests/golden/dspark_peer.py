"""Writes what mlx-dspark 0.20.3 proposes on the pairs of support.dspark_pairs, as JSON.

    python tests/golden/dspark_peer.py FILE

Runs in the venv of support.venvs.dspark_python, called by support.golden.
"""

import json
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from engine.backend import prepare

prepare()

import mlx.core as mx
from mlx_dspark.load import load_drafter
from mlx_dspark.target import Target
from mlx_lm.utils import load_model

from support.dspark_pairs import PAIRS, PROMPT, ROUNDS, write_pair


def rounds(target_folder: Path, drafter_folder: Path) -> list[list[int]]:
    """Greedy rounds by the peer's own parts: [pending, drafts...] of each."""
    model, _ = load_model(target_folder)
    target = Target(model, None)
    drafter, config = load_drafter(str(drafter_folder), quantize=False)
    drafter.bind_embed(target.draft_embed)
    if not config.has_own_lm_head:
        drafter.bind_lm_head(target.lm_head_proj)
    taps = list(config.target_layer_ids)
    cache, context = target.make_cache(), drafter.make_ctx_cache()
    logits, fused = target.run(mx.array([PROMPT]), cache, taps)
    drafter.update_context(fused, ctx_offset=0, ctx_caches=context)
    pending, length, found = int(mx.argmax(logits[0, -1]).item()), len(PROMPT), []
    for _ in range(ROUNDS):
        ids = [pending] + [config.mask_token_id] * (drafter.block_size - 1)
        hidden = drafter.backbone(drafter.embed(mx.array([ids])), length, context)
        base = drafter.compute_logits(drafter.head_slice(hidden, drafter.max_draft))[0]
        drafts = drafter.sample_block(base, first_prev_token=pending).tolist()
        found.append([pending, *drafts])
        logits, fused = target.verify(mx.array([[pending, *drafts]]), cache, taps)
        said = mx.argmax(logits[0], axis=-1).tolist()
        kept = next((i for i, d in enumerate(drafts) if d != said[i]), len(drafts))
        committed = [*drafts[:kept], said[kept]]
        target.rollback(cache, len(drafts) - kept, [pending, *drafts[:kept]])
        fused = fused[:, : kept + 1]
        drafter.update_context(fused, ctx_offset=length, ctx_caches=context)
        length, pending = length + kept + 1, committed[-1]
        found[-1] = [found[-1], committed]
    return found


def main() -> None:
    """Write FILE."""
    found = {}
    for name in PAIRS:
        with tempfile.TemporaryDirectory() as folder:
            found[name] = rounds(*write_pair(Path(folder), name))
    text = ",\n".join(
        f'"{name}": [\n'
        + ",\n".join(json.dumps(each, separators=(",", ":")) for each in value)
        + "]"
        for name, value in found.items()
    )
    Path(sys.argv[1]).write_text("{\n" + text + "\n}\n")


if __name__ == "__main__":
    main()
