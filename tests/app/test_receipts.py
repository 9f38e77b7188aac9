"""Receipts as files and as records of the store."""

import hashlib
import json
import sqlite3
import struct
from contextlib import closing
from dataclasses import replace

import pytest

from app.conversation import Settings
from app.migrations import MIGRATIONS, migrate
from app.problem import ProblemError
from app.receipts import Receipt, read, receipt_from_json, receipt_to_json, save, written_of
from app.rescue import rescue
from app.rows import seal
from app.store import ConversationStore, Written
from engine.events import Finished
from engine.origin import Machine, Origin
from engine.request import Sampling

MACHINE = Machine("0.1", "0.31", "0.30", "metal accelerate", "Apple M4", "macOS 26.1")
ORIGIN = Origin(
    "/models/ü", "a1" * 32, "/drafter", "b2" * 32, MACHINE, "exact",
    Sampling(0.7, 0.9, 40, 0.05, 1.1, 32, 0.5, -0.5, 2**64 - 1),
)  # fmt: skip
FINISHED = Finished(
    "stop", tuple(range(600)), (5, 70_000), "Because.", 1, 0, 0, None, "off",
    end_id=2, passes=((512, 512), (87, 87)), origin=ORIGIN,
)  # fmt: skip
DIFFERS = Receipt(
    "differs", 1, 2, 1, ' "however"\x1b', " but", 0.03, "", 1.75e9, 4, written_of(FINISHED)
)
SAME = Receipt("same", 2, 2, None, "", "", None, "", 1.75e9, 0, written_of(FINISHED))
CANNOT = Receipt("cannot", 0, 2, None, "", "", None, "The model file changed.", 1.75e9)
ALL = {"differs": DIFFERS, "same": SAME, "cannot": CANNOT}


@pytest.mark.parametrize("name", ALL)
def test_that_a_receipt_comes_back_equal_from_its_file(tmp_path, name):
    file = tmp_path / "a receipt.json"
    save(ALL[name], file)
    assert read(file) == ALL[name]
    assert [path.name for path in tmp_path.iterdir()] == [file.name]


def test_that_a_file_says_what_was_checked_in_plain_json(tmp_path):
    save(DIFFERS, tmp_path / "r.json")
    plain = json.loads((tmp_path / "r.json").read_bytes())
    ids = hashlib.sha256(struct.pack("<III", 5, 70_000, 2)).hexdigest()
    assert plain["ids_sha256"] == ids == DIFFERS.ids_sha256
    assert plain["verdict"] == "differs"
    assert (plain["tokens"], plain["total"], plain["at"], plain["gap"]) == (1, 2, 1, 0.03)
    assert plain["written"]["token_ids"] == [5, 70_000]
    assert plain["written"]["prompt_ids"] == list(range(600))
    origin = plain["written"]["origin"]
    assert origin["machine"] == {
        "program": "0.1", "mlx": "0.31", "mlx_lm": "0.30", "backend": "metal accelerate",
        "chip": "Apple M4", "system": "macOS 26.1",
    }  # fmt: skip
    assert (origin["target_id"], origin["drafter_id"]) == ("a1" * 32, "b2" * 32)
    assert (origin["sampling"]["seed"], origin["exactness"]) == (2**64 - 1, "exact")


def test_that_a_file_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ProblemError):
        save(SAME, tmp_path / "file" / "r.json")


def test_that_a_receipt_without_its_prompt_is_not_saved(tmp_path):
    with pytest.raises(AssertionError):
        save(replace(SAME, written=replace(SAME.written, prompt_ids=())), tmp_path / "r.json")


def edited(change):
    """A saved receipt after `change`, with a checksum that fits again."""
    plain = json.loads(receipt_to_json(DIFFERS))
    del plain["seal"]
    change(plain)
    canonical = json.dumps(plain, sort_keys=True, separators=(",", ":")).encode()
    return json.dumps(plain | {"seal": hashlib.sha256(canonical).hexdigest()})


TEXT = receipt_to_json(DIFFERS)


@pytest.mark.parametrize(
    "content",
    [
        "", "{", "[]", "7", "null", "{}", "[" * 100_000, b"\xff\xfe", '{"kind": "other"}',
        TEXT.replace("receipt 1", "receipt 2"), TEXT[:-40], TEXT.replace("70000", "70001"),
        TEXT.replace('"seal"', '"sael"'), TEXT.replace('"differs"', '"same"'),
    ],
    ids=range(14),
)  # fmt: skip
def test_that_a_foreign_or_damaged_file_is_refused_in_one_sentence(content):
    with pytest.raises(ProblemError) as caught:
        receipt_from_json(content)
    sentence = caught.value.problem.sentence
    assert sentence.startswith("The file ")
    assert sentence.count(".") == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda p: p.pop("verdict"),
        lambda p: p.pop("written"),
        lambda p: p.update(verdict="equal"),
        lambda p: p.update(tokens=-1),
        lambda p: p.update(gap="small"),
        lambda p: p.update(ids_sha256="0" * 64),
        lambda p: p.update(written=7),
        lambda p: p["written"].pop("end_id"),
        lambda p: p["written"].update(token_ids=[5, -1]),
        lambda p: p["written"].update(token_ids=[5, True]),
        lambda p: p["written"].update(prompt_ids="abc"),
        lambda p: p["written"].update(prompt_ids=[2**32]),
        lambda p: p["written"].update(passes=[[3]]),
        lambda p: p["written"].update(passes=[[3, 0]]),
        lambda p: p["written"].update(passes=7),
        lambda p: p["written"]["origin"].pop("machine"),
        lambda p: p["written"]["origin"].update(exactness="exactly"),
        lambda p: p["written"]["origin"]["machine"].update(mlx=3),
        lambda p: p["written"]["origin"]["sampling"].update(temperature=-1),
        lambda p: p["written"]["origin"]["sampling"].update(repetition_penalty=0),
        lambda p: p["written"]["origin"]["sampling"].pop("seed"),
    ],
)
def test_that_a_file_with_a_wrong_value_is_refused_though_its_checksum_fits(change):
    assert receipt_from_json(edited(lambda plain: None)) == DIFFERS
    with pytest.raises(ProblemError, match="is damaged"):
        receipt_from_json(edited(change))


def test_that_a_file_that_is_not_there_or_without_end_is_refused(tmp_path, monkeypatch):
    with pytest.raises(ProblemError, match="not there"):
        read(tmp_path / "nothing")
    (tmp_path / "large").write_text(TEXT)
    monkeypatch.setattr("app.receipts._LARGEST", 100)
    with pytest.raises(ProblemError, match="too large"):
        read(tmp_path / "large")


@pytest.fixture
def answered(store, talk):
    store.finish(talk[2].id, Written("Because."), "stop", FINISHED)
    return talk[2].id


@pytest.mark.parametrize("name", ["differs", "same"])
def test_that_the_store_keeps_a_receipt_without_keeping_the_ids_twice(store, answered, name):
    store.keep_receipt(answered, ALL[name])
    assert store.message(answered).receipt == ALL[name]
    shown = store.messages(store.message(answered).conversation)[1].receipt
    assert shown == replace(ALL[name], written=replace(ALL[name].written, prompt_ids=()))
    (size,) = store._db.execute(
        "SELECT length(receipt) FROM message WHERE id = ?", (answered,)
    ).fetchone()
    assert size < 400


def test_that_the_newest_receipt_stands_and_going_on_drops_it(store, answered):
    store.keep_receipt(answered, DIFFERS)
    store.keep_receipt(answered, SAME)
    assert store.message(answered).receipt == SAME
    assert store.reopen(answered).receipt is None
    store.keep_receipt(answered, SAME)  # it came too late
    assert store.message(answered).receipt is None


@pytest.mark.parametrize(
    "value",
    ["x''", "x'0102'", "'text'", "7", "substr(receipt, 1, length(receipt) - 5)", "receipt || x'00'",
     "zeroblob(100)"],
)  # fmt: skip
def test_that_a_spoiled_receipt_harms_nothing_else(store, answered, value):
    store.keep_receipt(answered, SAME)
    store._db.execute(f"UPDATE message SET receipt = {value} WHERE id = ?", (answered,))
    message = store.message(answered)
    assert (message.receipt, message.text, message.state) == (None, "Because.", "stop")
    assert message.finished == FINISHED
    assert store.conversation(message.conversation).damaged
    kept = store._db.execute("SELECT message, field FROM recovered").fetchall()
    assert kept == [(answered, b"receipt")]
    store.keep_receipt(answered, SAME)
    assert store.message(answered).receipt == SAME


def test_that_the_receipt_of_other_ids_is_no_receipt(store, answered):
    other = replace(SAME, written=replace(SAME.written, token_ids=(5, 6)))
    store.keep_receipt(answered, other)
    assert store.message(answered).receipt is None


def test_that_a_summary_that_is_damaged_takes_no_verdict_with_it(store, answered):
    store.keep_receipt(answered, SAME)
    store._db.execute("UPDATE message SET finished = x'00' WHERE id = ?", (answered,))
    message = store.message(answered)
    assert message.finished is None
    assert message.receipt == replace(SAME, written=None)


def first_version(path):
    """A store as version 1 of its form kept it, with one answered question."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        migrate(db, path, MIGRATIONS[:1])
        db.execute(
            "INSERT INTO conversation(title, created, updated, settings) VALUES ('a', 1, 2, '{}')"
        )
        for parent, role, text in ((None, "user", "Why?"), (1, "assistant", "Because.")):
            db.execute(
                "INSERT INTO message(conversation, parent, role, state, created, text, seal)"
                " VALUES (1, ?, ?, 'stop', 1.0, ?, ?)",
                (parent, role, text, seal(role, text, "")),
            )


def test_that_a_file_of_the_first_version_takes_receipts_and_is_kept_as_it_was(path):
    first_version(path)
    with closing(ConversationStore(path)) as store:
        assert [(m.text, m.receipt) for m in store.messages(1)] == [
            ("Why?", None),
            ("Because.", None),
        ]
        store.keep_receipt(2, CANNOT)
        assert store.messages(1)[1].receipt == CANNOT
    (kept,) = path.parent.glob("*.before-2-*")
    with closing(sqlite3.connect(kept)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (1,)
        assert db.execute("SELECT text FROM message").fetchall() == [("Why?",), ("Because.",)]


def test_that_a_file_of_the_first_version_is_rescued_too(path, tmp_path):
    first_version(path)
    rescue(path, tmp_path / "fresh.db")
    with closing(ConversationStore(tmp_path / "fresh.db")) as store:
        assert [m.text for m in store.messages(1)] == ["Why?", "Because."]


def test_that_a_rescue_takes_receipts_over(store, path, tmp_path, answered):
    store.keep_receipt(answered, DIFFERS)
    conversation = store.message(answered).conversation
    store.close()
    rescue(path, tmp_path / "fresh.db")
    with closing(ConversationStore(tmp_path / "fresh.db")) as found:
        assert found.message(answered).receipt == DIFFERS
        assert found.conversation(conversation).settings == Settings()
