"""Prompts against transformers' own rendering and encoding."""

import shutil

import pytest
from tokenizers import AddedToken, decoders, models
from tokenizers import Tokenizer as Vocabulary
from transformers import AutoTokenizer

from engine.errors import ModelRefused
from engine.request import Turn
from engine.tokenizer import Tokenizer
from engine.tokenizer_files import TextFiles

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


def test_that_lengths_kept_from_a_training_cut_no_prompt(starter, tmp_path):
    shutil.copy(starter / "tokenizer_config.json", tmp_path)
    vocabulary = Vocabulary.from_file(str(starter / "tokenizer.json"))
    vocabulary.enable_truncation(8)
    vocabulary.enable_padding(length=64)
    vocabulary.save(str(tmp_path / "tokenizer.json"))
    tokenizer = Tokenizer.open(tmp_path, {})
    tokenizer.close()
    assert tokenizer.encode("one two " * 50) == [
        *Vocabulary.from_file(str(starter / "tokenizer.json")).encode("one two " * 50).ids
    ]


def test_that_half_a_surrogate_pair_in_a_message_is_replaced(both):
    ours, _ = both
    ids = ours.prompt([Turn("user", "a\ud83d b \ud83d\ude00")]).ids
    assert "user\na\ufffd b 😀<|im_end|>" in ours.decode(ids)


@pytest.mark.parametrize("reply", ["", "\n\nNo.", " yes", "x", "<|im_end|>", "</think>\n"])
@pytest.mark.parametrize("trap", ["", "<|im_start|>"])
def test_that_the_next_prompt_begins_with_what_is_called_stable(both, reply, trap):
    ours, _ = both
    turns = [Turn("system", "s"), Turn("user", f"a {trap} b\n")]
    first = ours.prompt(turns)
    assert 0 < first.stable < len(first.ids)
    then = ours.prompt([*turns, Turn("assistant", reply), Turn("user", "go on")])
    assert then.ids[: first.stable] == first.ids[: first.stable]


def test_that_a_template_which_moves_the_system_text_makes_less_stable(starter):
    moving = (
        "{% for m in messages %}{% if m.role == 'user' %}<|im_start|>"
        "{% if loop.last and messages[0].role == 'system' %}{{ messages[0].content }} {% endif %}"
        "{{ m.content }}<|im_end|>{% elif m.role == 'assistant' %}{{ m.content }}{% endif %}"
        "{% endfor %}"
    )
    vocabulary = Vocabulary.from_file(str(starter / "tokenizer.json"))
    tokenizer = Tokenizer(TextFiles(vocabulary, moving, {}, frozenset()))
    try:
        prompt = tokenizer.prompt([Turn("system", "Sys"), Turn("user", "Hi")])
    finally:
        tokenizer.close()
    assert tokenizer.decode(prompt.ids) == "<|im_start|>Sys Hi<|im_end|>"
    assert prompt.stable == 1


@pytest.mark.parametrize(
    ("template", "tags"),
    [
        ("{{ '<think>' }}", ("<think>", "</think>")),
        ("{{ messages[0].content.split('</think>')[-1] }}", ("<think>", "</think>")),
        ("[SYSTEM_PROMPT]{{ '[THINK]' }}", ("[THINK]", "[/THINK]")),
        ("{{ messages[0].content }}", None),
    ],
)
def test_that_thinking_tags_are_those_of_the_template(starter, template, tags):
    vocabulary = Vocabulary.from_file(str(starter / "tokenizer.json"))
    tokenizer = Tokenizer(TextFiles(vocabulary, template, {}, frozenset()))
    assert tokenizer.thinking_tags == tags


def test_that_an_answer_goes_on_as_answer_where_the_template_opens_thinking(starter):
    vocabulary = Vocabulary.from_file(str(starter / "tokenizer.json"))
    template = "{{ messages[0].content }}|{% if add_generation_prompt %}<think>\n{% endif %}"
    tokenizer = Tokenizer(TextFiles(vocabulary, template, {}, frozenset()))
    turns = [Turn("user", "Hi"), Turn("assistant", "The sum")]
    try:
        new = tokenizer.prompt(turns[:1])
        more = tokenizer.prompt(turns, continue_last=True)
    finally:
        tokenizer.close()
    assert new.opens_thinking
    assert not more.opens_thinking
    assert tokenizer.decode(more.ids) == "Hi|<think>\n\n</think>\n\nThe sum"


def test_that_only_another_vocabulary_has_another_fingerprint(both, starter, tmp_path):
    ours, _ = both
    vocabulary = Vocabulary.from_file(str(starter / "tokenizer.json"))
    templated = Tokenizer(TextFiles(vocabulary, "{{ x }}", {}, frozenset({7})))
    assert templated.fingerprint == ours.fingerprint
    other = Vocabulary(models.BPE({"a": 0, "b": 1}, []))
    assert Tokenizer(TextFiles(other, "", {}, frozenset())).fingerprint != ours.fingerprint


def test_that_pieces_of_a_vocabulary_with_single_bytes_are_bytes():
    vocabulary = Vocabulary(models.BPE({"▁a": 0, "<0xE6>": 1, "<0xZZ>": 2, "b": 3}, []))
    vocabulary.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    )
    tokenizer = Tokenizer(TextFiles(vocabulary, "", {}, frozenset()))
    pieces = [tokenizer.piece(i) for i in range(5)]
    assert pieces == [b" a", b"\xe6", b"<0xZZ>", b"b", b""]


def test_that_an_added_token_outside_the_byte_alphabet_is_its_own_text(starter):
    vocabulary = Vocabulary.from_file(str(starter / "tokenizer.json"))
    vocabulary.add_tokens([AddedToken("<｜User｜>", normalized=False), "<ö>"])
    tokenizer = Tokenizer(TextFiles(vocabulary, "", {}, frozenset()))
    ids = [vocabulary.token_to_id(t) for t in ("<｜User｜>", "<ö>")]
    joined = b"".join(tokenizer.piece(i) for i in ids).decode("utf-8", "replace")
    assert joined == tokenizer.decode(ids)


def test_that_a_missing_or_broken_tokenizer_is_named(tmp_path):
    for content, word in ((None, "is missing"), ("{", "cannot be read")):
        if content is not None:
            (tmp_path / "tokenizer.json").write_text(content)
        with pytest.raises(ModelRefused, match=f"tokenizer.json {word}"):
            Tokenizer.open(tmp_path, {})
