"""O-12: a weights file that is not a whole weights file (Comfy-Org/ComfyUI 6744 and others)."""

import gc
import struct

import mlx.core as mx
import pytest

from engine.errors import ModelRefused
from engine.loading import load_target
from support.model_folders import linked, resident, write_small

POINTER = (
    b"version https://git-lfs.github.com/spec/v1\n"
    b"oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\n"
    b"size 98351202\n"
)
PAGE = (
    b"<!DOCTYPE html>\n<html><head><title>Sign in</title></head><body>Sign in first</body></html>"
)
GROWTH = 50e6


def past_the_end(data):
    length = struct.unpack("<Q", data[:8])[0]
    header, rest = data[8 : 8 + length], data[8 + length :]
    last = f"{len(rest)}]".encode()
    assert header.count(last) == 1
    header = header.replace(last, f"{len(rest) + 4096}]".encode())
    return struct.pack("<Q", len(header)) + header + rest


DAMAGES = {
    "first half": (lambda data: data[: len(data) // 2], "incomplete", "incomplete"),
    "first 30 bytes": (lambda data: data[:30], "incomplete", "incomplete"),
    "no bytes": (lambda _: b"", "incomplete", "empty"),
    "pointer": (lambda _: POINTER, "pointer", "pointer"),
    "web page": (lambda _: PAGE, "web_page", "web page"),
    "50 bytes more": (lambda data: data + bytes(50), "damaged", "damaged"),
    "header of 2^63 bytes": (
        lambda data: struct.pack("<Q", 1 << 63) + data[8:],
        "damaged",
        "damaged",
    ),
    "offsets past the end": (past_the_end, "damaged", "damaged"),
}


@pytest.fixture
def usable(tmp_path):
    """A model that was loaded before, and what it says to three tokens."""
    write_small(tmp_path / "before")
    model = load_target(tmp_path / "before", lambda done, total: None).model
    return model, model(mx.array([[1, 2, 3]]))


@pytest.mark.parametrize("damage", DAMAGES)
def test_that_a_broken_weights_file_is_called_what_it_is(damage, tmp_path, starter, usable):
    change, code, word = DAMAGES[damage]
    folder = linked(tmp_path / "starter", starter)
    weights = folder / "model.safetensors"
    data = change(weights.read_bytes())
    weights.unlink()  # the link
    weights.write_bytes(data)
    del data
    gc.collect()  # models of earlier tests
    before = resident(), mx.get_active_memory()

    with pytest.raises(ModelRefused) as refusal:
        load_target(folder, lambda done, total: pytest.fail("it began to load"))

    assert resident() - before[0] < GROWTH
    assert mx.get_active_memory() <= before[1]
    error = refusal.value
    assert error.code == f"weights_{code}"
    assert "model.safetensors" in error.message
    assert word in error.message
    assert "ownload it again" in error.action
    model, said = usable
    assert mx.array_equal(model(mx.array([[1, 2, 3]])), said)
