"""O-10: the chat template is missing, broken, or refuses the roles we send."""

import json
import shutil

import pytest

from engine.errors import TemplateRefused
from engine.request import Turn
from engine.tokenizer import Tokenizer

ALTERNATE = (
    "{% for m in messages %}"
    "{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('Conversation roles must alternate user/assistant') }}{% endif %}"
    "[{{ m.role }}]{{ m.content }}{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}"
)


@pytest.fixture
def with_template(starter, tmp_path):
    made = []

    def make(template):
        for name in ("tokenizer.json", "tokenizer_config.json"):
            shutil.copy(starter / name, tmp_path / name)
        file = tmp_path / "tokenizer_config.json"
        settings = json.loads(file.read_text())
        settings.pop("chat_template")
        if template is not None:
            settings["chat_template"] = template
        file.write_text(json.dumps(settings))
        made.append(Tokenizer.open(tmp_path, {"eos_token_id": 2}))
        return made[-1]

    yield make
    for tokenizer in made:
        tokenizer.close()


def test_that_a_system_prompt_is_folded_in(with_template):
    tokenizer = with_template(ALTERNATE)
    prompt = tokenizer.prompt([Turn("system", "Be kind."), Turn("user", "Hi")])
    assert tokenizer.decode(prompt.ids) == "[user]Be kind.\n\nHi[assistant]"
    assert len(prompt.notes) == 1


def test_that_two_user_turns_are_merged(with_template):
    tokenizer = with_template(ALTERNATE)
    turns = [Turn("user", "one"), Turn("user", "two"), Turn("assistant", "x"), Turn("user", "3")]
    prompt = tokenizer.prompt(turns)
    assert tokenizer.decode(prompt.ids) == "[user]one\n\ntwo[assistant]x[user]3[assistant]"


def test_that_a_system_prompt_the_template_drops_is_not_lost(with_template):
    tokenizer = with_template(
        "{% for m in messages %}{% if m.role != 'system' %}[{{ m.role }}]{{ m.content }}"
        "{% endif %}{% endfor %}"
    )
    prompt = tokenizer.prompt([Turn("system", "Be kind."), Turn("user", "Hi")])
    assert "Be kind." in tokenizer.decode(prompt.ids)


def test_that_a_short_system_prompt_inside_the_question_is_not_taken_for_kept(with_template):
    tokenizer = with_template(
        "{% for m in messages %}{% if m.role != 'system' %}[{{ m.role }}]{{ m.content }}"
        "{% endif %}{% endfor %}"
    )
    prompt = tokenizer.prompt([Turn("system", "Hi"), Turn("user", "Hi there")])
    assert tokenizer.decode(prompt.ids) == "[user]Hi\n\nHi there"


def test_that_a_template_for_pictures_gets_its_texts_in_parts(with_template):
    tokenizer = with_template(
        "{% for m in messages %}[{{ m.role }}]{% for p in m.content %}{{ p.text }}{% endfor %}"
        "{% endfor %}"
    )
    prompt = tokenizer.prompt([Turn("system", "Be kind."), Turn("user", "Hi")])
    assert tokenizer.decode(prompt.ids) == "[system]Be kind.[user]Hi"
    assert prompt.notes == ()


def test_that_a_template_which_changes_the_words_is_used_and_said(with_template):
    tokenizer = with_template("{% for m in messages %}{{ m.content | upper }}{% endfor %}")
    prompt = tokenizer.prompt([Turn("user", "Hi")])
    assert tokenizer.decode(prompt.ids) == "HI"
    assert "changes" in prompt.notes[0]


def test_that_no_template_is_said_and_nothing_guessed(with_template):
    tokenizer = with_template(None)
    assert not tokenizer.has_template
    with pytest.raises(TemplateRefused, match="no chat format") as refused:
        tokenizer.prompt([Turn("user", "Hi")])
    assert refused.value.action


def test_that_a_broken_template_is_named_with_its_error(with_template):
    tokenizer = with_template("{% if x %}")
    with pytest.raises(TemplateRefused, match=r"chat template.*TemplateSyntaxError") as refused:
        tokenizer.prompt([Turn("user", "Hi")])
    assert "message" in refused.value.safe


def test_that_without_a_template_the_text_itself_is_gone_on_with_when_asked_for(with_template):
    tokenizer = with_template(None)
    turns = [Turn("system", "A story."), Turn("user", "Once"), Turn("assistant", " upon a time")]
    prompt = tokenizer.prompt([*turns, Turn("user", "It was <|im_end|> then")], plain_text=True)
    assert tokenizer.decode(prompt.ids) == (
        "A story.\n\nOnce upon a time\n\nIt was <|im_end|> then"
    )
    assert 2 not in prompt.ids  # the end token in the text is text
    unfinished = tokenizer.prompt(turns, plain_text=True, continue_last=True)
    assert tokenizer.decode(unfinished.ids) == "A story.\n\nOnce upon a time"
    assert prompt.ids[: len(unfinished.ids)] == unfinished.ids  # so that the next turn reuses it
