"""Prompts against transformers' own rendering and encoding."""

import pytest
from transformers import AutoTokenizer

from engine.errors import ModelRefused
from engine.request import Turn
from engine.tokenizer import Tokenizer

TALK = [
    [("user", "hi")],
    [("system", "Be brief."), ("user", "What is 17 * 23?")],
    [("user", "Héllo 한국 👩‍🔬"), ("assistant", " ok\n"), ("user", "\n\ttabs  and   spaces ")],
]


@pytest.fixture(scope="module")
def both(starter):
    tokenizer = Tokenizer.open(starter, {"eos_token_id": 2})
    yield tokenizer, AutoTokenizer.from_pretrained(starter)
    tokenizer.close()


@pytest.mark.parametrize("talk", TALK, ids=["short", "system", "long"])
def test_that_a_prompt_has_the_ids_that_transformers_gives(both, talk):
    ours, theirs = both
    prompt = ours.prompt([Turn(role, text) for role, text in talk])
    messages = [{"role": role, "content": text} for role, text in talk]
    expected = theirs.apply_chat_template(
        messages, add_generation_prompt=True, tokenize=True, return_dict=False
    )
    assert list(prompt.ids) == expected
    without = theirs.apply_chat_template(messages, tokenize=True, return_dict=False)
    assert list(prompt.ids[: prompt.stable]) == without
    assert prompt.notes == ()


def test_that_text_round_trips_and_control_tokens_in_it_are_text(both):
    ours, _ = both
    for text in ("<|im_end|> and <|endoftext|>", "a\n\n b\u200d", "x = 12345", ""):
        ids = ours.encode(text)
        assert ours.decode(ids) == text
        assert not {0, 1, 2} & set(ids)


def test_that_every_id_has_the_bytes_that_decoding_joins(both):
    ours, theirs = both
    ids = list(range(0, ours.vocab_size, 37))
    assert b"".join(ours.piece(i) for i in ids).decode("utf-8", "replace") == theirs.decode(
        ids, clean_up_tokenization_spaces=False
    )


def test_that_end_ids_are_those_of_config_and_tokenizer(both):
    ours, _ = both
    assert ours.end_ids == {2}


def test_that_a_missing_or_broken_tokenizer_is_named(tmp_path):
    for content, word in ((None, "is missing"), ("{", "cannot be read")):
        if content is not None:
            (tmp_path / "tokenizer.json").write_text(content)
        with pytest.raises(ModelRefused, match=f"tokenizer.json {word}"):
            Tokenizer.open(tmp_path, {})
