from dataclasses import replace
from pathlib import Path

import pytest

import resources
from app.conversation import Message, Settings
from app.turns import model_of, request_for, sound, title_of
from engine.request import DrafterOptions, Sampling, Turn


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Why is the sea salt?", "Why is the sea salt?"),
        ("\n\n  # Hello **you**\nmore", "Hello you"),
        ("> - 1. quoted `code` and [a link](http://x.example)", "quoted code and a link"),
        ("<b>bold</b> and 1 < 2 > 0", "bold and 1 < 2 > 0"),
        ("snake_case stays, _this_ does not", "snake_case stays, this does not"),
        ("```\nprint(1)\n```", "print(1)"),
        ("3. apples", "apples"),
        ("-5 degrees", "-5 degrees"),
        ("???", "???"),
        ("   ", ""),
        ("日本語のタイトル", "日本語のタイトル"),
    ],
)
def test_that_a_title_is_the_first_line_with_words_without_markup(text, title):
    assert title_of(text) == title


@pytest.mark.parametrize("text", ["word " * 40, "x" * 200, "a" * 59 + " b" * 9, "???" * 99])
def test_that_a_title_has_at_most_sixty_characters(text):
    assert 30 <= len(title_of(text)) <= 60
    assert title_of(text).endswith("…")
    assert not title_of(text).endswith(" …")


def test_that_half_a_surrogate_pair_becomes_text_that_can_be_stored():
    assert sound("a\ud83d\ude00b") == "a😀b"
    assert sound("a\ud83d") == "a\ufffd"
    assert sound("plain ü 日") == "plain ü 日"


def message(id_, role, text, state="stop", position=1):
    return Message(
        id_, 9, id_ - 1 or None, role, text, state, 0.0, position=position, alternatives=9
    )


PATH = [
    message(1, "user", "one"),
    message(2, "assistant", "two"),
    message(3, "user", "three"),
    message(4, "assistant", "", "streaming"),
]


def test_that_the_turns_are_the_messages_before_the_reply():
    request = request_for(Settings(), PATH, goes_on=False)
    assert request.turns == (Turn("user", "one"), Turn("assistant", "two"), Turn("user", "three"))
    assert request.conversation == "9"
    assert not request.continue_last


def test_that_a_reply_that_goes_on_is_the_last_turn():
    path = [*PATH[:3], message(4, "assistant", "begun", "streaming")]
    request = request_for(Settings(), path, goes_on=True)
    assert request.turns[-1] == Turn("assistant", "begun")
    assert request.continue_last


def test_that_a_system_prompt_comes_first_unless_it_is_blank():
    assert request_for(Settings(system="Be kind."), PATH, goes_on=False).turns[0] == Turn(
        "system", "Be kind."
    )
    assert request_for(Settings(system=" \n"), PATH, goes_on=False).turns[0] == Turn("user", "one")


def test_that_replies_without_words_and_damaged_messages_are_left_out():
    path = [
        PATH[0],
        message(2, "assistant", "", "cancelled"),
        message(3, "user", "t\ufffd", "damaged"),
        PATH[3],
    ]
    assert request_for(Settings(), path, goes_on=False).turns == (Turn("user", "one"),)


def test_that_each_alternative_has_a_seed_of_its_own():
    settings = Settings(sampling=Sampling(temperature=1.0, seed=2**64 - 1))
    path = [*PATH[:3], message(4, "assistant", "", position=1)]
    first = request_for(settings, path, goes_on=False)
    second = request_for(settings, [*path[:3], replace(path[3], position=2)], goes_on=False)
    assert (first.sampling.seed, second.sampling.seed) == (2**64 - 1, 0)


def test_that_a_conversation_without_a_model_has_the_starter():
    assert model_of(Settings()).target == resources.path("starter")
    assert model_of(Settings(target=Path("/m"), drafter=Path("/d"))).drafter == Path("/d")


def test_that_a_drafters_options_go_with_it_and_mean_nothing_without_one():
    asked = DrafterOptions(8, 0.5)
    paired = Settings(drafter=Path("/d"), drafter_options=asked)
    assert model_of(paired).options == asked
    assert model_of(replace(paired, drafter=None)) == model_of(Settings())
