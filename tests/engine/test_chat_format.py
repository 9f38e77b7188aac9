import pytest

from engine.chat_format import ChatFormat
from engine.errors import TemplateRefused
from engine.request import Turn

HI = [Turn("user", "Hi")]


@pytest.fixture
def made():
    formats = []

    def make(template):
        formats.append(ChatFormat(template, {"bos_token": "<s>"}))
        return formats[-1]

    yield make
    for chat_format in formats:
        chat_format.close()


@pytest.mark.parametrize("name", ["enable_thinking", "thinking"])
def test_that_the_wish_about_thinking_reaches_the_template_only_when_there_is_one(made, name):
    chat_format = made(f"{{{{ {name} | default('unset') }}}}|{{{{ messages[0].content }}}}")
    texts = [chat_format.render(HI, "", wish).text for wish in (None, True, False)]
    assert texts == ["unset|Hi", "True|Hi", "False|Hi"]


def test_that_special_tokens_are_given_and_unknown_ones_left_undefined(made):
    chat_format = made("{{ bos_token }}{{ eos_token is defined }}{{ messages[0].content }}")
    assert chat_format.render(HI, "", None).text == "<s>FalseHi"


def test_that_the_first_refusal_is_told_when_no_form_is_taken(made):
    chat_format = made(
        "{% if messages[0].role == 'system' %}{{ raise_exception('no system here') }}{% endif %}"
        "{{ raise_exception('nothing at all') }}"
    )
    with pytest.raises(TemplateRefused, match="no system here"):
        chat_format.render([Turn("system", "S"), *HI], "", None)


def test_that_a_template_which_refuses_the_next_turn_still_serves_this_one(made):
    chat_format = made(
        "{% if messages | length > 1 or not add_generation_prompt %}"
        "{{ raise_exception('one question only') }}{% endif %}{{ messages[0].content }}"
    )
    rendered = chat_format.render(HI, "", None)
    assert (rendered.text, rendered.others) == ("Hi", ())


def test_that_an_endless_template_is_tried_in_one_form_only(made):
    # The first rendering alone may spend the worker's time; a second one would end otherwise.
    chat_format = made(
        "{% if messages[0].content is string and messages[0].role == 'system' %}"
        "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}"
        "{% endif %}{{ messages[0].content }}"
    )
    with pytest.raises(TemplateRefused, match="takes too long"):
        chat_format.render([Turn("system", "S"), *HI], "", None)
