import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from app.conversation import DraftMark, Failure, Settings
from app.store import ConversationStore, Written
from engine.events import Finished, Round
from engine.request import Drafting, Sampling

ROUND = Round(0, "copy", (5, 6), 1, (5, 7), 6, 7, 0.5, 0.25, 12.5, 3)
MARK = DraftMark(1, "paused", "Plain is faster here.")
FINISHED = Finished("stop", (1, 2), (5, 7), "Because.", 1, 2, 1, 20.0, "on", thinking="hm")
FAILURE = Failure("no_memory", "Memory ran short.", "Saved.", "Continue")


def test_that_a_finished_reply_comes_back_equal_after_reopening(store, path, talk):
    conversation, question, reply = talk
    store.grow(reply.id, Written("Bec", "hm", 0.5, [ROUND, (0, 3, 0)]))
    store.finish(reply.id, Written("Because.", "hm", 1.5, [MARK, (3, 8, 1)]), "stop", FINISHED)
    store.close()
    with closing(ConversationStore(path)) as again:
        whole = replace(
            reply,
            text="Because.",
            state="stop",
            thinking="hm",
            thinking_s=1.5,
            rounds=(ROUND,),
            marks=(MARK,),
            spans=((0, 3, 0), (3, 8, 1)),
            finished=FINISHED,
        )
        assert again.message(reply.id) == whole
        without_prompt = replace(whole, finished=replace(FINISHED, prompt_ids=()))
        assert again.messages(conversation) == [question, without_prompt]


def test_that_a_failed_reply_keeps_its_text_and_its_reason(store, talk):
    store.finish(talk[2].id, Written("half"), "failed", None, FAILURE)
    message = store.message(talk[2].id)
    assert (message.text, message.state, message.failure) == ("half", "failed", FAILURE)


def test_that_a_reply_left_open_is_interrupted_after_the_next_start(store, path, talk):
    store.grow(talk[2].id, Written("as far as this", records=[ROUND]))
    store.close()
    with closing(ConversationStore(path)) as again:
        assert again.settle() == 1
        message = again.message(talk[2].id)
        assert (message.text, message.state, message.rounds) == (
            "as far as this",
            "interrupted",
            (ROUND,),
        )
        assert [c.id for c in again.conversations("far this")] == [talk[0]]
        assert again.settle() == 0


def test_that_settings_come_back_equal(store):
    settings = Settings(
        Path("/models/ü"), Path("/drafter"), "Be kind.", Sampling(0.3, 0.9, 40, 0.1, 1.1, 32, 0.5, -0.5, 2**64 - 1),
        Drafting("off", False, 3, "exact"), 77, ("\n\n", "END"), True,
    )  # fmt: skip
    made = store.add_conversation(settings)
    assert store.conversation(made.id) == made
    store.set_settings(made.id, Settings())
    assert store.conversation(made.id).settings == Settings()


def test_that_conversations_are_listed_pinned_first_then_newest(store):
    ids = [store.add_conversation(Settings()).id for _ in range(3)]
    assert [c.id for c in store.conversations()] == ids[::-1]
    store.add_turn(ids[1], None, "later", "later")
    assert [c.id for c in store.conversations()] == [ids[1], ids[2], ids[0]]
    store.pin(ids[0], True)
    assert [c.id for c in store.conversations()] == [ids[0], ids[1], ids[2]]
    store.pin(ids[0], False)
    assert [c.id for c in store.conversations()] == [ids[1], ids[2], ids[0]]


def test_that_the_first_message_names_a_conversation_and_later_ones_do_not(store, talk):
    assert store.conversation(talk[0]).title == "Why?"
    store.add_turn(talk[0], talk[2].id, "And then?", "And then?")
    assert store.conversation(talk[0]).title == "Why?"
    store.rename(talk[0], "Salt")
    assert store.conversation(talk[0]).title == "Salt"


def test_that_a_deleted_conversation_can_be_restored_until_the_next_start(store, talk):
    other = store.add_conversation(Settings()).id
    store.delete(talk[0])
    assert [c.id for c in store.conversations()] == [other]
    assert store.conversations("why") == []
    store.restore(talk[0])
    assert {c.id for c in store.conversations()} == {talk[0], other}
    store.delete(talk[0])
    store.settle()
    store.restore(talk[0])
    assert [c.id for c in store.conversations()] == [other]
    assert store.messages(talk[0]) == []
    assert store.message(talk[2].id) is None


def test_that_what_was_deleted_for_good_is_not_in_the_file(store, path):
    conversation = store.add_conversation(Settings()).id
    store.add_turn(conversation, None, "xylophonic secret", "xylophonic secret")
    store.delete(conversation)
    store.settle()
    store.close()
    left = path.read_bytes()
    for journal in path.parent.glob("*-wal"):
        left += journal.read_bytes()
    assert b"xylophonic" not in left


def test_that_an_empty_conversation_of_another_day_goes_at_the_next_start(store, path):
    old, pinned, new = (store.add_conversation(Settings()).id for _ in range(3))
    store.pin(pinned, True)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE conversation SET updated = 1.0 WHERE id IN (?, ?)", (old, pinned))
    store.settle()
    assert {c.id for c in store.conversations()} == {pinned, new}


def test_that_an_answer_again_is_shown_beside_the_first_and_both_can_be_chosen(store, talk):
    conversation, question, reply = talk
    store.finish(reply.id, Written("first"), "stop")
    _, second = store.add_turn(conversation, question.id, None)
    assert (second.position, second.alternatives) == (2, 2)
    assert [m.id for m in store.messages(conversation)] == [question.id, second.id]
    store.choose(second.id, -1)
    shown = store.messages(conversation)
    assert [(m.id, m.position, m.alternatives) for m in shown] == [
        (question.id, 1, 1),
        (reply.id, 1, 2),
    ]
    store.choose(reply.id, -1)
    assert store.messages(conversation) == shown


def test_that_an_edited_first_question_makes_a_branch_with_its_own_answers(store, talk):
    conversation, question, reply = talk
    edited, answer = store.add_turn(conversation, None, "Why not?")
    assert [m.id for m in store.messages(conversation)] == [edited.id, answer.id]
    _, again = store.add_turn(conversation, edited.id, None)
    store.choose(edited.id, -1)
    assert [m.id for m in store.messages(conversation)] == [question.id, reply.id]
    store.choose(question.id, 1)
    assert [m.id for m in store.messages(conversation)] == [edited.id, again.id]
    store.choose(again.id, -1)
    assert [m.id for m in store.messages(conversation)] == [edited.id, answer.id]


def test_that_the_path_to_a_message_is_its_own_branch_without_traces(store, talk):
    conversation, question, reply = talk
    store.finish(reply.id, Written("first", records=[ROUND]), "stop")
    store.add_turn(conversation, question.id, None)
    follow, _ = store.add_turn(conversation, reply.id, "more")
    assert [m.id for m in store.path(follow.id)] == [question.id, reply.id, follow.id]
    assert store.path(follow.id)[1].rounds == ()
    assert store.path(9_999) == []


def test_that_what_is_not_there_is_none_and_changes_nothing(store):
    assert store.message(5) is None
    assert store.conversation(5) is None
    assert store.messages(5) == []
    store.choose(5, 1)


def test_that_a_reopened_reply_goes_on_after_its_text_and_trace(store, talk):
    reply = talk[2]
    store.finish(reply.id, Written("one ", records=[ROUND]), "length", FINISHED, FAILURE)
    opened = store.reopen(reply.id)
    assert (opened.text, opened.state, opened.rounds, opened.finished, opened.failure) == (
        "one ", "streaming", (ROUND,), None, None,
    )  # fmt: skip
    later = replace(ROUND, index=1)
    store.finish(reply.id, Written("one two", records=[later]), "stop")
    assert store.message(reply.id).rounds == (ROUND, later)


def test_that_a_change_that_fails_half_way_leaves_nothing_behind(store, talk):
    with pytest.raises(sqlite3.IntegrityError):
        store.add_turn(9_999, None, "to nobody")
    assert store.conversations("nobody") == []
    assert len(store.messages(talk[0])) == 2


@pytest.mark.parametrize(
    ("words", "is_found"),
    [
        ("salt", True), ("SALT", True), ("sal", True), ("alt", False), ("sea salt", True), ("salt sea", True),
        ("salt moon", False), ('"', False), ("salt AND", False), ("sea*", True), ("海水", True), ("水", True),
        ("café", True), ("cafe", True), ("  ", True), ("Named", True), ("%", False),
    ],
)  # fmt: skip
def test_that_search_finds_words_by_their_beginning(store, words, is_found):
    conversation = store.add_conversation(Settings()).id
    _, reply = store.add_turn(conversation, None, "Why is the sea salty? café", "named so")
    store.finish(reply.id, Written("海水是咸的"), "stop")
    assert bool(store.conversations(words)) == is_found


def test_that_search_knows_the_new_words_of_a_reply_and_not_the_old(store, talk):
    store.finish(talk[2].id, Written("magnesium"), "stop")
    store.finish(talk[2].id, Written("sodium"), "stop")
    assert store.conversations("magnesium") == []
    assert [c.id for c in store.conversations("sodium")] == [talk[0]]


def test_that_a_store_in_memory_works_too():
    with closing(ConversationStore(None)) as store:
        conversation = store.add_conversation(Settings()).id
        store.add_turn(conversation, None, "hi", "hi")
        assert [c.title for c in store.conversations("hi")] == ["hi"]


def test_that_what_cannot_be_undone_any_more_keeps_its_reason(store):
    def fail():
        with store._transaction():
            store._db.execute("ROLLBACK")  # as SQLite does by itself when the disk is full
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()


def test_that_a_torn_message_is_shown_as_lost_among_intact_ones(store, path, talk):
    store.finish(talk[2].id, Written("torn here " * 5_000), "stop")
    follow, _ = store.add_turn(talk[0], talk[2].id, "more")
    store.close()
    content = bytearray(path.read_bytes())
    at = content.rindex(b"torn here torn") // 4096 * 4096  # the last page of the text
    first = next(n for n in range(at - 4096, 0, -4096) if b"torn here" not in content[n : n + 4096])
    torn = first + 4096
    content[torn : torn + 4] = b"\xff\xff\xff\xff"  # it names a page that is not there
    path.write_bytes(content)
    with closing(ConversationStore(path)) as again:
        messages = again.messages(talk[0])
        assert [m.id for m in messages][:3] == [talk[1].id, talk[2].id, follow.id]
        assert (messages[1].text, messages[1].state) == ("", "damaged")
        assert messages[2].text == "more"
        assert again.conversation(talk[0]).damaged


def test_that_a_copy_in_memory_has_everything_and_leaves_the_file_alone(store, path, talk):
    store.finish(talk[2].id, Written("Because.", records=[ROUND]), "stop", FINISHED)
    expected = store.messages(talk[0])
    store.close()
    before = path.read_bytes()
    with closing(ConversationStore.copied(path)) as copy:
        assert copy.messages(talk[0]) == expected
        assert [c.id for c in copy.conversations("because")] == [talk[0]]
        copy.add_turn(talk[0], talk[2].id, "more")
        assert len(copy.messages(talk[0])) == 4
    assert path.read_bytes() == before


def test_that_what_is_no_store_cannot_be_copied(tmp_path):
    (tmp_path / "text").write_bytes(b"not a store" * 1_000)
    for name in ("nothing", "text"):
        with pytest.raises(sqlite3.Error):
            ConversationStore.copied(tmp_path / name)
    assert not (tmp_path / "nothing").exists()


def test_that_a_search_index_that_is_locked_is_not_taken_for_broken(store, path, talk):
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        store._db.execute("PRAGMA busy_timeout = 0")
        assert store.complaint() == ""
        other.execute("ROLLBACK")
    assert [c.id for c in store.conversations("why")] == [talk[0]]
