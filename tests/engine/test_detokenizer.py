import random

import pytest
from tokenizers import Tokenizer as Vocabulary
from tokenizers import decoders, models

from engine.detokenizer import TextStream
from engine.tokenizer import Tokenizer
from engine.tokenizer_files import TextFiles


@pytest.fixture(scope="module")
def smol(starter):
    tokenizer = Tokenizer.open(starter, {"eos_token_id": 2})
    yield tokenizer
    tokenizer.close()


def streamed(stream, ids):
    deltas, used = [], 0
    for token in ids:
        pushed = stream.push([token])
        deltas += pushed.deltas
        used += pushed.used
        if pushed.stopped:
            break
    deltas += stream.finish()
    return deltas, used


def test_that_random_ids_join_to_one_decode(smol, starter):
    vocabulary = Vocabulary.from_file(str(starter / "tokenizer.json"))
    rng = random.Random(1)
    for _ in range(500):
        ids = [rng.randrange(smol.vocab_size) for _ in range(rng.randrange(1, 30))]
        deltas, used = streamed(TextStream(smol), ids)
        joined = "".join(d.text for d in deltas)
        assert joined == vocabulary.decode(ids, skip_special_tokens=False), ids
        assert used == len(ids)


def test_that_a_stop_string_cuts_where_a_search_of_the_whole_text_would(smol):
    rng = random.Random(2)
    text = smol.decode(range(1000, 1400))
    for _ in range(500):
        at = rng.randrange(len(text) - 60)
        piece = text[at : at + 60]
        ids = smol.encode(piece)
        stops = []
        for _ in range(rng.randrange(1, 4)):
            begin = rng.randrange(50)
            stops.append(piece[begin : begin + rng.randrange(1, 8)] + rng.choice(["", "", "\x01"]))
        # The reference takes whole tokens and looks for the earliest match of the first that ends.
        expected = piece
        for n in range(1, len(ids) + 1):
            begun = smol.decode(ids[:n])
            found = [begun.find(s) for s in stops if s in begun]
            if found:
                expected = begun[: min(found)]
                break
        deltas, _ = streamed(TextStream(smol, stops), ids)
        shown = ""
        for delta in deltas:
            shown += delta.text
            assert expected.startswith(shown)
        assert shown == expected


def test_that_deltas_name_the_tokens_that_wrote_them(smol):
    ids = smol.encode("One two 한 three")
    deltas, _ = streamed(TextStream(smol), ids)
    covered = []
    for delta in deltas:
        covered += range(delta.first_token, delta.last_token + 1)
    assert covered == list(range(len(ids)))


def test_that_two_thousand_random_replies_equal_one_decode_up_to_the_stop(smol, starter):
    vocabulary = Vocabulary.from_file(str(starter / "tokenizer.json"))
    rng = random.Random(6)
    stopped = 0
    for _ in range(2000):
        ids = [rng.randrange(smol.vocab_size) for _ in range(rng.randrange(1, 24))]
        whole = vocabulary.decode(ids, skip_special_tokens=False)
        stops = []
        for _ in range(rng.randrange(3)):
            begin = rng.randrange(len(whole))
            stop = whole[begin : begin + rng.randrange(1, 6)] + rng.choice(["", "", "zq"])
            if stop and "\ufffd" not in stop:
                stops.append(stop)
        expected, used = whole, len(ids)
        for n in range(1, len(ids) + 1):
            # A sign at the end may still become a character.
            begun = vocabulary.decode(ids[:n], skip_special_tokens=False).rstrip("\ufffd")
            found = [at for s in stops if (at := begun.find(s)) >= 0]
            if found:
                expected, used, stopped = begun[: min(found)], n, stopped + 1
                break
        stream = TextStream(smol, stops)
        deltas, taken = streamed(stream, ids)
        assert "".join(d.text for d in deltas) == expected == stream.text, (ids, stops)
        assert taken == used
    assert stopped > 500


PIECES = ["<unk>", "▁Hello", "▁world", "s", "▁", "<0xED>", "<0x95>", "<0x9C>", "!", "<0x0A>", "▁▁"]
LLAMA = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
DECODERS = {
    "gemma": (PIECES, decoders.Sequence(LLAMA)),
    "llama": (PIECES, decoders.Sequence([*LLAMA, decoders.Strip(" ", 1, 0)])),
    "metaspace": (PIECES, decoders.Metaspace()),
    "wordpiece": (["[UNK]", "hello", "##s", "world", ".", "!", "do", "n't"], decoders.WordPiece()),
    "suffix": (["a</w>", "b", "c</w>", "d"], decoders.BPEDecoder()),
    "split-bytes": (["í", "ķ", "ľ", "a", "Ġb"], decoders.Sequence([
        decoders.ByteLevel(), decoders.Fuse()
    ])),
}  # fmt: skip


def other(kind):
    pieces, decoder = DECODERS[kind]
    vocabulary = Vocabulary(models.BPE({p: i for i, p in enumerate(pieces)}, []))
    vocabulary.decoder = decoder
    return vocabulary, Tokenizer(TextFiles(vocabulary, "", {}, frozenset()))


@pytest.mark.parametrize("kind", DECODERS)
def test_that_other_vocabularies_stream_exactly_too(kind):
    vocabulary, tokenizer = other(kind)
    assert not tokenizer.is_byte_level
    rng = random.Random(3)
    for _ in range(400):
        ids: list[int] = []
        for _ in range(rng.randrange(1, 12)):
            token = rng.randrange(vocabulary.get_vocab_size() + 1)  # one id is not known
            # Bytes come as whole characters here: see below.
            byte = tokenizer.byte(token)
            ids += [5, 6, 7] if byte is not None and byte > 127 else [token]
        deltas, _ = streamed(TextStream(tokenizer), ids)
        assert "".join(d.text for d in deltas) == vocabulary.decode(ids, skip_special_tokens=False)


@pytest.mark.parametrize("ids", [[5], [5, 6], [6, 7], [1, 5, 8], [5, 5, 6, 7, 2], [7] * 20])
def test_that_bytes_which_are_no_text_become_one_sign_each(ids):
    vocabulary, tokenizer = other("llama")
    deltas, _ = streamed(TextStream(tokenizer), ids)
    assert "".join(d.text for d in deltas) == vocabulary.decode(ids, skip_special_tokens=False)


def test_that_a_character_is_shown_with_its_last_byte_and_stays():
    _, tokenizer = other("llama")
    stream = TextStream(tokenizer)
    shown = [[d.text for d in stream.push([i]).deltas] for i in (1, 5, 6, 7, 6)]
    assert shown == [["Hello"], [], [], ["한"], ["\ufffd"]]


def test_that_a_continued_text_keeps_its_space_where_decoding_would_drop_it():
    _, tokenizer = other("llama")
    stream = TextStream(tokenizer, prefix_ids=[1])
    assert [d.text for d in stream.push([2]).deltas] == [" world"]
