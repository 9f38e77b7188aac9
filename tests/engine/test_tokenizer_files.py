"""The text side of model folders: where templates and ends stand, and files that are broken."""

import json

import pytest
from tokenizers import AddedToken, models
from tokenizers import Tokenizer as Vocabulary

from engine.errors import ModelRefused
from engine.tokenizer_files import TextFiles

VOCABULARY = {"a": 0, "b": 1, "c": 2}


@pytest.fixture
def folder(tmp_path):
    """Makes a folder with a vocabulary and the given files."""
    vocabulary = Vocabulary(models.BPE(VOCABULARY, []))
    vocabulary.add_special_tokens([AddedToken("<end>")])
    vocabulary.save(str(tmp_path / "tokenizer.json"))

    def make(**files):
        for name, content in files.items():
            text = content if isinstance(content, str) else json.dumps(content)
            (tmp_path / name.replace("__", ".")).write_text(text)
        return tmp_path

    return make


@pytest.mark.parametrize(
    ("files", "template"),
    [
        ({}, ""),
        ({"tokenizer_config__json": {"chat_template": "T"}}, "T"),
        ({"chat_template__jinja": "J", "tokenizer_config__json": {"chat_template": "T"}}, "J"),
        ({"chat_template__json": {"chat_template": "P"}}, "P"),
        (
            {
                "tokenizer_config__json": {
                    "chat_template": [
                        {"name": "tool_use", "template": "U"},
                        {"name": "default", "template": "D"},
                        "x",
                    ]
                }
            },
            "D",
        ),
        ({"tokenizer_config__json": {"chat_template": [{"name": "rag", "template": "R"}]}}, ""),
        ({"tokenizer_config__json": {"chat_template": 7}}, ""),
        ({"tokenizer_config__json": "{"}, ""),
        ({"tokenizer_config__json": "[" * 100_000}, ""),
        ({"tokenizer_config__json": "[]"}, ""),
    ],
)
def test_that_a_template_is_found_wherever_it_stands(folder, files, template):
    assert TextFiles.read(folder(**files), {}).template == template


def test_that_ends_are_joined_from_every_file_that_names_one(folder):
    made = folder(
        generation_config__json={"eos_token_id": [1, 2, "x", True]},
        tokenizer_config__json={"eos_token": {"content": "<end>"}, "bos_token": None},
    )
    files = TextFiles.read(made, {"eos_token_id": 0})
    assert files.end_ids == {0, 1, 2, 3}
    assert files.special == {"eos_token": "<end>"}
    assert TextFiles.read(folder(tokenizer_config__json={}), {}).end_ids == {1, 2}


def test_that_an_end_token_which_is_in_no_vocabulary_is_none(folder):
    made = folder(tokenizer_config__json={"eos_token": "<nowhere>"})
    assert TextFiles.read(made, {}).end_ids == frozenset()


def test_that_a_folder_with_another_kind_of_tokenizer_is_told_so(tmp_path):
    (tmp_path / "tokenizer.model").write_bytes(b"\x0a")
    with pytest.raises(ModelRefused, match=r"tokenizer\.model alone cannot be used"):
        TextFiles.read(tmp_path, {})


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"version https://git-lfs.github.com/spec/v1\n",
        b"<!doctype html>",
        b"\xff\xfe",
        b'{"version": "1.0", "model": {"type": "BPE", "vocab": {}, "merges": [["x", "y"]]}}',
        b"[" * 100_000,
        # The library does not raise on this but panics.
        b'{"version": "1.0", "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2},'
        b' "merges": [["a", "b"]], "continuing_subword_prefix": "######"}}',
    ],
    ids=["empty", "pointer", "page", "bytes", "merges", "deep", "panic"],
)
def test_that_a_broken_tokenizer_is_refused_in_one_sentence(tmp_path, content):
    (tmp_path / "tokenizer.json").write_bytes(content)
    with pytest.raises(ModelRefused, match=r"tokenizer\.json cannot be read") as refused:
        TextFiles.read(tmp_path, {})
    assert len(str(refused.value)) < 400
