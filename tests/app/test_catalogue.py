"""The known pairs: the file, what a folder is of them, and what a folder says of its licence."""

import asyncio
import json
import os

import pytest

import resources
from app import catalogue
from app.catalogue import Licence
from app.conversation import Settings
from app.folders import Folders
from app.program import running
from support.published import XS
from support.published_dspark import CONFIGS
from support.scripted import SlowEngine
from support.tiny_dspark import DEEPSPEC

LFM = "LFM Open License v1.0"
# As published: model_type, hidden_size, num_hidden_layers, vocab_size, max_position_embeddings.
TARGETS = {
    "SmolLM2-135M-Instruct": ("llama", 576, 30, 49152, 8192),
    "LFM2.5-1.2B-Instruct": ("lfm2", 2048, 16, 65536, 128000),
    "LFM2.5-2.6B": ("lfm2", 2048, 30, 128000, 128000),
    "LFM2.5-8B-A1B": ("lfm2_moe", 2048, 24, 128000, 128000),
    "LFM2.5-24B-A2B": ("lfm2_moe", 2048, 40, 128000, 128000),
    "Laguna-XS-2.1": ("laguna", 2048, 40, 100352, 262144),
    "Laguna-S-2.1": ("laguna", 3072, 48, 100352, 1048576),
    "Laguna-XS.2": ("laguna", 2048, 40, 100352, 131072),
    "Qwen3-4B": ("qwen3", 2560, 36, 151936, 40960),
    "Qwen3-8B": ("qwen3", 4096, 36, 151936, 40960),
    "Qwen3-14B": ("qwen3", 5120, 40, 151936, 40960),
    "MiniCPM5-2B": ("llama", 2048, 42, 130560, 131072),
}
NAMES = "model_type", "hidden_size", "num_hidden_layers", "vocab_size", "max_position_embeddings"
QWEN = DEEPSPEC | {
    "hidden_size": 2560, "vocab_size": 151936, "num_target_layers": 36, "num_hidden_layers": 5,
}  # fmt: skip
DRAFTERS = {
    "LiquidAI/LFM2.5-1.2B-Instruct-DSpark": CONFIGS["LFM2.5-1.2B-Instruct-DSpark"],
    "LiquidAI/LFM2.5-2.6B-DSpark": CONFIGS["LFM2.5-2.6B-DSpark"],
    "LiquidAI/LFM2.5-8B-A1B-DSpark": CONFIGS["LFM2.5-8B-A1B-DSpark"],
    "poolside/Laguna-XS-2.1-DFlash": XS,
    "deepseek-ai/dspark_qwen3_4b_block7": QWEN,
    "z-lab/Qwen3-8B-DFlash-b16": {
        "architectures": ["DFlashDraftModel"], "model_type": "qwen3", "hidden_size": 4096,
        "num_hidden_layers": 5, "num_target_layers": 36, "vocab_size": 151936,
        "dflash_config": {"mask_token_id": 151669, "target_layer_ids": [1, 9, 17, 25, 33]},
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def known():
    return catalogue.read()


@pytest.fixture
def folder(tmp_path):
    """Write a folder of that config and these files; its name says nothing."""

    def write(config, **files):
        (tmp_path / "config.json").write_text(json.dumps(config))
        for name, text in files.items():
            (tmp_path / name.replace("_", ".")).write_text(text)
        return tmp_path

    return write


def target(name):
    return dict(zip(NAMES, TARGETS[name], strict=True))


def test_that_the_shipped_file_is_whole_and_says_where_each_fact_is_from(known):
    assert known.problem is None
    assert [pair.name for pair in known.pairs] == list(TARGETS)
    for pair in known.pairs:
        halves = [pair.target, *pair.drafters]
        for said in (*halves, *([pair.gain] if pair.gain else []), *([pair.memory] if pair.memory else [])):  # fmt: skip
            assert len(said.source) > 10
        for half in halves:
            assert all(name.count("/") == 1 for name in half.repositories)
            assert half.repositories
            assert half.active is None or half.active < half.parameters
        assert pair.mixture == ((pair.target.active or 0) > 0)
    repositories = [name for pair in known.pairs for name in pair.target.repositories]
    assert len(set(repositories)) == len(repositories)


def test_that_every_licence_is_named_as_published(known):
    names = {
        half.repositories[0]: half.licence and half.licence.name
        for pair in known.pairs
        for half in (pair.target, *pair.drafters)
    }
    assert {name for name in names if name.startswith("LiquidAI/")} == {
        name for name, licence in names.items() if licence == LFM
    }
    assert {names[n] for n in names if "2.1" in n} == {"OpenMDW-1.1"}
    assert names["poolside/Laguna-XS.2"] == names["Qwen/Qwen3-4B"] == "Apache License 2.0"
    # Their pages state none, so none is guessed.
    assert {n for n in names if names[n] is None} == {
        *(f"deepseek-ai/dspark_qwen3_{size}_block7" for size in ("4b", "8b", "14b")),
        *("openbmb/MiniCPM5-2B", "openbmb/MiniCPM5-2B-DSpark", "z-lab/Qwen3-4B-DFlash-b16"),
        "z-lab/Qwen3-8B-DFlash-b16",
    }
    terms = {licence.name: licence.terms for licence in known.licences.values()}
    assert all(terms.values())
    assert "10 million US dollars of yearly revenue" in terms[LFM]


def test_that_published_counts_are_in_it(known):
    halves = {h.repositories[0]: h for p in known.pairs for h in (p.target, *p.drafters)}
    assert halves["LiquidAI/LFM2.5-1.2B-Instruct-DSpark"].parameters == 295_725_953
    assert halves["LiquidAI/LFM2.5-2.6B-DSpark"].parameters == 327_707_521
    assert halves["LiquidAI/LFM2.5-2.6B"].parameters == 2_697_198_592
    assert halves["poolside/Laguna-XS-2.1-DFlash"].parameters == 462_064_896


@pytest.mark.parametrize("name", TARGETS)
def test_that_a_model_is_known_by_its_sizes_and_not_by_its_name(known, folder, name):
    found = known.find(folder(target(name)))
    assert (found.pair.name, found.is_drafter) == (name, False)
    assert found.half is found.pair.target
    assert found.licence == found.half.licence


@pytest.mark.parametrize("name", DRAFTERS)
def test_that_a_drafter_is_known_by_its_sizes(known, folder, name):
    found = known.find(folder(DRAFTERS[name]))
    assert found.is_drafter
    assert found.half.repositories[0] == name
    assert found.half in found.pair.drafters


@pytest.mark.parametrize("field", NAMES[:4])
def test_that_another_size_is_another_model(known, folder, field):
    config = target("LFM2.5-2.6B")
    assert (
        known.find(folder(config | {field: "llama" if field == "model_type" else 7})).pair is None
    )


@pytest.mark.parametrize("field", ["hidden_size", "vocab_size", "architectures"])
def test_that_another_size_is_another_drafter(known, folder, field):
    other = ["Qwen3DSparkModel"] if field == "architectures" else 7
    found = known.find(folder(CONFIGS["LFM2.5-2.6B-DSpark"] | {field: other}))
    assert (found.is_drafter, found.pair) == (True, None)


def test_that_what_is_no_model_is_nothing(known, tmp_path, folder):
    assert known.find(tmp_path) is None
    assert known.find(tmp_path / "not there") is None
    assert known.find(folder([1])) is None
    (tmp_path / "config.json").unlink()
    os.mkfifo(tmp_path / "config.json")  # opening it would wait for ever
    assert known.find(tmp_path) is None


APACHE = "\n\n                     Apache License\n               Version 2.0, January 2004\n"
SAID = {
    "a file": ({"LICENSE": f"{LFM}\n\nBased on the Apache License 2.0."}, LFM),
    "a file over the readme": ({"LICENSE": APACHE, "README_md": "---\nlicense: mit\n---"}, "Apache License 2.0"),
    "markdown": ({"LICENSE_md": "# OpenMDW License Agreement, version 1.1"}, "OpenMDW-1.1"),
    "an unknown file": ({"LICENSE": "\n## My Own  Terms\nnever sell it"}, "My Own Terms"),
    "readme": ({"README_md": "---\nlanguage: en\nlicense: apache-2.0\ntags: [a]\n---\ntext"}, "Apache License 2.0"),
    "other by name": ({"README_md": "---\nlicense: other\nlicense_name: 'lfm1.0'\n---"}, LFM),
    "a list": ({"README_md": "---\nlicense:\n- mit\n---"}, "MIT License"),
    "another by a word inside": ({"LICENSE": "Permit to be Limited\nSubmit it"}, "Permit to be Limited"),
    "another version": ({"LICENSE": "LFM Open License v2.0"}, "LFM Open License v2.0"),
    "another by its beginning": ({"LICENSE": "LFM Open License v1.05"}, "LFM Open License v1.05"),
}  # fmt: skip


@pytest.mark.parametrize("case", SAID)
def test_that_what_a_folder_says_of_its_licence_counts_first(known, folder, case):
    files, name = SAID[case]
    found = known.find(folder(target("Laguna-XS.2"), **files))
    assert found.stated.name == found.licence.name == name


SILENT = {
    "empty": {"LICENSE": " \n"},
    "no front matter": {"README_md": "license: mit\n"},
    "unfinished": {"README_md": "---\nlicense: mit\n"},
    "other": {"README_md": "---\nlicense: other\n---\n"},
    "in the text": {"README_md": "---\na: b\n---\nlicense: mit\n"},
    "only marks": {"LICENSE": "=====\n----\n"},
}


@pytest.mark.parametrize("case", SILENT)
def test_that_silence_is_not_a_licence(known, folder, case):
    found = known.find(folder(target("Qwen3-4B"), **SILENT[case]))
    assert found.stated is None
    assert found.licence.name == "Apache License 2.0"


def test_that_a_hostile_licence_is_a_short_line_of_plain_letters(known, folder):
    text = "<b>Free</b>\x1b[31m\u202e \x07" + "!" * 5000 + "\nmore"
    found = known.find(folder(target("LFM2.5-2.6B"), LICENSE=text))
    assert found.licence.name.startswith("<b>Free</b>\N{REPLACEMENT CHARACTER}[31m")
    assert len(found.licence.name) <= 80
    assert found.licence.name.isprintable()
    assert found.licence.terms == ""


def test_that_files_that_cannot_be_read_say_nothing(known, folder, tmp_path):
    os.mkfifo(tmp_path / "LICENSE")
    (tmp_path / "README.md").mkdir()
    assert known.find(folder(target("Qwen3-8B"))).stated is None
    (tmp_path / "LICENSE").unlink()
    (tmp_path / "LICENSE").write_bytes(b"\xff\xfe\x00 words \x80")
    assert known.find(tmp_path).stated == Licence("\N{REPLACEMENT CHARACTER}" * 3 + " words \N{REPLACEMENT CHARACTER}")  # fmt: skip


def whole():
    return json.loads(resources.path(catalogue.NAME).read_text())


def without(*keys):
    value = content = whole()
    for key in keys[:-1]:
        value = value[key]
    del value[keys[-1]]
    return json.dumps(content)


def with_value(new, *keys):
    value = content = whole()
    for key in keys[:-1]:
        value = value[key]
    value[keys[-1]] = new
    return json.dumps(content)


DAMAGED = {
    "no JSON": "{",
    "a list": "[]",
    "nothing in it": "{}",
    "no source": without("pairs", 2, "target", "source"),
    "no licence field": without("pairs", 2, "drafters", 0, "licence"),
    "an unknown licence": with_value("free", "pairs", 1, "target", "licence"),
    "a number as text": with_value("16", "pairs", 1, "target", "shape", "layers"),
    "a gain that shrinks": with_value(0.2, "pairs", 1, "gain", "high"),
    "pairs are a word": with_value("none", "pairs"),
}


@pytest.mark.parametrize("case", DAMAGED)
def test_that_a_damaged_file_is_an_empty_catalogue_that_says_so(tmp_path, starter, case):
    path = tmp_path / "damaged.json"
    path.write_text(DAMAGED[case])
    damaged = catalogue.read(path)
    assert damaged.pairs == ()
    assert damaged.problem.title == "The list of known models is damaged"
    assert damaged.problem.sentence.count("\n") == 0
    assert damaged.problem.action == "Install Slipstream again"
    found = damaged.find(starter)
    assert (found.pair, found.is_drafter) == (None, False)


def test_that_a_missing_file_is_a_damaged_one(tmp_path):
    assert catalogue.read(tmp_path / "none.json").problem is not None
    (tmp_path / "bytes.json").write_bytes(b"\xff\x00")
    assert catalogue.read(tmp_path / "bytes.json").problem is not None


def test_that_the_program_lives_with_a_damaged_file_and_says_so(tmp_path, monkeypatch):
    path = tmp_path / "damaged.json"
    path.write_text("{")
    shipped = resources.path
    monkeypatch.setattr(
        resources, "path", lambda name: path if name == catalogue.NAME else shipped(name)
    )

    async def scene():
        async with running(Folders.below(tmp_path), engine=SlowEngine) as program:
            target, drafter = program.inspection.pair(Settings())
            return program, target, drafter

    program, target, drafter = asyncio.run(scene())
    assert [problem.title for problem in program.problems] == [
        "The list of known models is damaged"
    ]
    assert program.catalogue.pairs == ()
    assert (target.pair, target.licence.name, drafter) == (None, "Apache License", None)
