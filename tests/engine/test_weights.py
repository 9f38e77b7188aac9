"""Safetensors files, judged by their headers."""

import hashlib
import struct

import mlx.core as mx
import pytest

from engine import weights
from engine.errors import ModelRefused
from support.model_folders import safetensors_bytes

WHOLE = {
    "a": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]},
    "b": {"dtype": "BF16", "shape": [4], "data_offsets": [24, 32]},
    "c": {"dtype": "U8", "shape": [0, 5], "data_offsets": [32, 32]},
}


def with_a(**changes):
    return WHOLE | {"a": WHOLE["a"] | changes}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.safetensors"


def test_that_a_file_of_mlx_is_read_as_it_is(path):
    arrays = {"x": mx.zeros((3, 5), mx.bfloat16), "y": mx.ones((7,)), "z": mx.zeros((), mx.uint32)}
    mx.save_safetensors(str(path), arrays, {"format": "mlx"})
    found = weights.inspect(path)
    assert {name: tensor.shape for name, tensor in found.tensors.items()} == {
        "x": (3, 5), "y": (7,), "z": (),
    }  # fmt: skip
    assert found.tensors["y"].dtype == "F32"
    assert found.bytes == 3 * 5 * 2 + 7 * 4 + 4
    span = found.tensors["y"]
    assert path.read_bytes()[span.begin : span.end] == struct.pack("<7f", *[1.0] * 7)


REFUSED = {
    "a gap": (WHOLE | {"b": WHOLE["b"] | {"data_offsets": [26, 34]}}, 34, "damaged"),
    "an overlap": (WHOLE | {"b": WHOLE["b"] | {"data_offsets": [20, 28]}}, 32, "damaged"),
    "a start that is not 0": ({"b": WHOLE["b"]}, 32, "damaged"),
    "bytes that do not fit the shape": (with_a(shape=[2, 4]), 32, "damaged"),
    "backward offsets": (with_a(data_offsets=[24, 0]), 32, "damaged"),
    "three offsets": (with_a(data_offsets=[0, 24, 24]), 32, "damaged"),
    "a negative size": (with_a(shape=[-2, -3]), 32, "damaged"),
    "a fraction of a row": (with_a(shape=[2.0, 3]), 32, "damaged"),
    "true for one": (with_a(shape=[True, 6]), 32, "damaged"),
    "no shape": (WHOLE | {"a": {"dtype": "F32", "data_offsets": [0, 24]}}, 32, "damaged"),
    "no object": (WHOLE | {"a": [1]}, 32, "damaged"),
    "an enormous size": (with_a(shape=[1 << 62, 1 << 62]), 32, "damaged"),
    "an unknown type": (with_a(dtype="F4"), 32, "dtype"),
    "one byte too few": (WHOLE, 31, "incomplete"),
    "one byte too many": (WHOLE, 33, "damaged"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_that_a_header_must_describe_exactly_its_file(case, path):
    header, size, code = REFUSED[case]
    path.write_bytes(safetensors_bytes(WHOLE, bytes(32)))
    assert len(weights.inspect(path).tensors) == 3
    path.write_bytes(safetensors_bytes(header, bytes(size)))
    with pytest.raises(ModelRefused) as refusal:
        weights.inspect(path)
    assert refusal.value.code == f"weights_{code}"
    assert refusal.value.message.startswith("model.safetensors ")


FILES = {
    "a name twice": (b'{"a": 1, "a": 2}', "header cannot be read"),
    "no JSON": (b'{"a": ', "header cannot be read"),
    "a deep header": (b'{"a": ' + b"[" * 100_000, "header cannot be read"),
}


@pytest.mark.parametrize("case", FILES)
def test_that_a_broken_header_is_named(case, path):
    header, words = FILES[case]
    path.write_bytes(struct.pack("<Q", len(header)) + header)
    with pytest.raises(ModelRefused, match=words):
        weights.inspect(path)


OTHERS = {
    "a pickle": (b"\x80\x04\x95" + bytes(100), "weights_archive"),
    "a zip": (b"PK\x03\x04" + bytes(100), "weights_archive"),
    "a GGUF": (b"GGUF" + bytes(100), "weights_archive"),
    "an XML error": (b"<?xml version='1.0'?><Error/>", "weights_web_page"),
    "five bytes": (b"12345", "weights_incomplete"),
    "zeros": (bytes(1000), "weights_damaged"),
}


@pytest.mark.parametrize("case", OTHERS)
def test_that_another_kind_of_file_is_called_what_it_is(case, path):
    data, code = OTHERS[case]
    path.write_bytes(data)
    with pytest.raises(ModelRefused) as refusal:
        weights.inspect(path)
    assert refusal.value.code == code


def test_that_a_missing_file_and_a_folder_are_named(path):
    with pytest.raises(ModelRefused, match=r"model\.safetensors is not there"):
        weights.inspect(path)
    path.mkdir()
    with pytest.raises(ModelRefused, match=r"model\.safetensors cannot be read"):
        weights.inspect(path)


def test_that_the_mark_sees_a_change_in_any_tensor(path):
    header = {
        "a": {"dtype": "U8", "shape": [9000], "data_offsets": [0, 9000]},
        "b": {"dtype": "U8", "shape": [16], "data_offsets": [9000, 9016]},
    }
    marks = set()
    for at in (None, 4500, 9000, 9015):
        data = bytearray(9016)
        if at is not None:
            data[at] = 1
        path.write_bytes(safetensors_bytes(header, bytes(data)))
        marks.add(weights.inspect(path).mark())
    assert len(marks) == 4


def test_that_the_mark_is_of_header_and_middle(path):
    header = {"a": {"dtype": "U8", "shape": [10], "data_offsets": [0, 10]}}
    path.write_bytes(safetensors_bytes(header, b"0123456789"))
    text = path.read_bytes()[8:]
    assert weights.inspect(path).mark() == hashlib.sha256(text).hexdigest()
