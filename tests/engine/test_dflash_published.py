"""A drafter of the published size of Laguna XS 2.1's, really written, loaded and asked."""

import json
import math
import resource
import shutil
import struct
import sys
from contextlib import closing

import mlx.core as mx
import pytest

from engine.controls import Controls
from engine.engine import Engine
from engine.events import Loaded, Round
from engine.request import Drafting, ModelChoice, Request, Turn
from support.laguna_folder import write_text_files
from support.published import write_published_drafter, write_stand_in

PARAMETERS = 462_064_896
SHAPES = {
    "fc.weight": [2048, 10240],
    "layers.4.self_attn.qkv_proj.weight": [10240, 2048],
    "layers.4.self_attn.o_proj.weight": [2048, 8192],
    "layers.4.self_attn.g_proj.weight": [64, 2048],
    "layers.4.mlp.down_proj.weight": [2048, 8192],
    "aux_hidden_norms.4.weight": [2048],
}
GIB = 1 << 30


@pytest.fixture
def pair(tmp_path):
    target = write_text_files(write_stand_in(tmp_path / "Laguna-XS-2.1"))
    yield ModelChoice(target, write_published_drafter(tmp_path / "Laguna-XS-2.1-DFlash"))
    shutil.rmtree(tmp_path)  # 1.7 GB


@pytest.mark.slow
def test_that_the_published_shapes_load_and_draft_a_block_within_memory(pair):
    file = pair.drafter / "model.safetensors"
    with file.open("rb") as data:
        (length,) = struct.unpack("<Q", data.read(8))
        header = json.loads(data.read(length))
    header.pop("__metadata__")
    shapes = {name: tensor["shape"] for name, tensor in header.items()}
    assert len(shapes) == 58
    assert {name: shapes[name] for name in SHAPES} == SHAPES
    assert sum(map(math.prod, shapes.values())) == PARAMETERS
    assert {tensor["dtype"] for tensor in header.values()} == {"BF16"}
    assert file.stat().st_size == 8 + length + 2 * PARAMETERS
    mx.clear_cache()
    mx.reset_peak_memory()
    engine = Engine()
    # The other modes would make a hundred passes first, to measure them: test_laguna_gate.
    drafting = Drafting("on", copies=False, max_drafts=15, exactness="fast")
    request = Request(pair, (Turn("user", "Hi"),), drafting=drafting, max_tokens=24)
    loaded, width = None, 0
    with closing(engine.reply(request, Controls())) as events:
        while width < 16:  # depths 1, 4 and the trained block are visited first
            event = next(events)
            loaded = event if isinstance(event, Loaded) else loaded
            width = event.width if isinstance(event, Round) else 0
    assert len(event.proposed_ids) == 15
    assert loaded.drafting_refused == ""
    size = {mx.float32: 4, mx.bfloat16: 2}[engine.model.target.dtype]  # a CPU computes in float32
    assert loaded.drafter_bytes == size * PARAMETERS
    assert loaded.context_limit == 262144
    held = mx.get_active_memory()
    weights = loaded.target_bytes + loaded.drafter_bytes
    # Caches of 40 thin layers and the drafter's five windows are all that is held beyond.
    assert weights <= held <= weights + 64 * (1 << 20)
    assert mx.get_peak_memory() < 24 * GIB
    unit = 1 if sys.platform == "darwin" else 1024
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit < 24 * GIB
    engine.unload()
