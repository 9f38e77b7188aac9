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


def test_that_other_vocabularies_stream_exactly_too():
    pieces = ["<unk>", "▁Hello", "▁world", "s", "▁", "<0xED>", "<0x95>", "<0x9C>", "!"]
    vocabulary = Vocabulary(
        models.BPE({p: i for i, p in enumerate(pieces)}, [], byte_fallback=True)
    )
    vocabulary.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    )
    tokenizer = Tokenizer(TextFiles(vocabulary, "", {}, frozenset()))
    assert not tokenizer.is_byte_level
    rng = random.Random(3)
    cases = [[1, 2, 3, 5, 6, 7, 8], [4, 5, 6, 7], [1, 1, 2]]
    cases += [[rng.choice([1, 2, 3, 4, 8]) for _ in range(12)] for _ in range(50)]
    for ids in cases:
        deltas, _ = streamed(TextStream(tokenizer), ids)
        assert "".join(d.text for d in deltas) == vocabulary.decode(ids, skip_special_tokens=False)
        assert all("\ufffd" not in d.text for d in deltas)
