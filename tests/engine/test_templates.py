import pytest

from engine.errors import TemplateRefused
from engine.request import Turn
from engine.templates import TemplateRenderer, folded


@pytest.fixture
def renderer():
    renderer = TemplateRenderer()
    yield renderer
    renderer.close()


def test_that_a_template_renders_as_in_transformers(renderer):
    from transformers.utils.chat_template_utils import render_jinja_template

    template = (
        "{%- for m in messages %}\n  {% if loop.index == 3 %}{% break %}{% endif %}"
        "[{{ m.role }}] {{ m['content'] | trim }} {{ m | tojson }}\n{% endfor %}"
    )
    messages = [{"role": "user", "content": " é<b> "}, {"role": "assistant", "content": "x"}] * 2
    [[expected], _] = render_jinja_template([messages], chat_template=template)
    assert renderer.render(template, {"messages": messages}) == expected


@pytest.mark.parametrize(
    "template",
    [
        "{% for i in range(10**9) %}{% for j in range(10**9) %}{% endfor %}{% endfor %}",
        "{{ 'a' * 10**10 }}",
        "{{ ''.__class__.__mro__ }}",
        "{% set x = messages.append(1) %}",
        "{% if x %}",
        "{{ raise_exception('roles must alternate') }}",
        "{% include '/etc/hostname' %}",
    ],
    ids=["endless", "huge", "escape", "mutation", "broken", "refusal", "file"],
)
def test_that_a_hostile_template_costs_one_sentence(renderer, template):
    with pytest.raises(TemplateRefused, match="chat template"):
        renderer.render(template, {"messages": []})
    assert renderer.render("{{ 1 + 1 }}", {}) == "2"


def test_that_the_worker_ends_with_its_owner(renderer):
    renderer.start()
    process = renderer._process
    renderer.close()
    assert process.poll() is not None


def test_that_folding_loses_no_text():
    turns = [
        Turn("system", "S"),
        Turn("user", "a"),
        Turn("user", "b"),
        Turn("assistant", "c"),
        Turn("assistant", "d"),
        Turn("user", "e"),
    ]
    assert folded(turns) == (
        Turn("user", "S\n\na\n\nb"),
        Turn("assistant", "c\n\nd"),
        Turn("user", "e"),
    )
    assert folded([Turn("system", "S"), Turn("assistant", "x")]) == (
        Turn("user", "S"),
        Turn("assistant", "x"),
    )
