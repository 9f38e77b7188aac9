import json
import os
import select
import subprocess
import sys
from pathlib import Path

import pytest

from engine.errors import TemplateRefused
from engine.request import Turn
from engine.templates import _WORKER, TemplateRenderer, folded


@pytest.fixture
def renderer():
    renderer = TemplateRenderer()
    yield renderer
    renderer.close()


TEMPLATES = {
    "blocks": "{%- for m in messages %}\n  {% if loop.index == 3 %}{% break %}{% endif %}"
    "[{{ m.role }}] {{ m['content'] | trim }} {{ m | tojson }}\n{% endfor %}",
    "generation": "{% for m in messages %}{% if m.role == 'assistant' %}{% generation %}"
    "{% set q = 1 %}{{ m.content }}{{ loop.index0 }}{% if loop.last %}<|im_end|>{% endif %}"
    "{% endgeneration %}{{ q is defined }}"
    "{% else %}{{ m.role }}: {{ m.content }}{% endif %}\n{% endfor %}",
    "unasked-names": "{% if tools is not none or documents is not none %}T{% endif %}{{ x }}",
    "namespace": "{% set ns = namespace(n=0) %}{% for m in messages %}{% set ns.n = ns.n + 1 %}"
    "{% endfor %}{{ ns.n }}{{ dict(a=1, b='x') | tojson }}",
    "json": "{{ messages | tojson(indent=2, sort_keys=true) }}"
    "{{ messages[0] | tojson(separators=(',', ':')) }}",
    "text": "{{ messages[1:] | map(attribute='content') | join('|') }}{{ 'ab' * 3 }}"
    "{{ messages[0].content.split('a')[-1] }}{{ [1] * 2 }}{{ 2 * 3 }}",
    "macro": "{% macro f(x) %}<{{ x }}>{% endmacro %}{% for m in messages %}{{ f(m) }}{% endfor %}",
}


@pytest.mark.parametrize("name", TEMPLATES)
def test_that_a_template_renders_as_in_transformers(renderer, name):
    from transformers.utils.chat_template_utils import render_jinja_template

    messages = [{"role": "user", "content": " é<b> a "}, {"role": "assistant", "content": "x"}] * 2
    [[expected], _] = render_jinja_template([messages], chat_template=TEMPLATES[name])
    variables = {"messages": messages, "tools": None, "documents": None}
    assert renderer.render(TEMPLATES[name], variables) == expected


@pytest.mark.parametrize(
    "template",
    [
        "{% for i in range(10**9) %}{% for j in range(10**9) %}{% endfor %}{% endfor %}",
        "{{ 'a' * 10**10 }}",
        "{% set n = namespace(s='a') %}{% for i in range(60) %}{% set n.s = n.s ~ n.s %}{% endfor %}",
        "{{ 'a' | center(10**11) }}",
        "{% set n = namespace(_x=1) %}",
        "{{ cycler.__init__.__globals__.os }}",
        "{% macro f(x) %}{{ f(x) }}{% endmacro %}{{ f(1) }}",
        "{{ ''.__class__.__mro__ }}",
        "{% set x = messages.append(1) %}",
        "{% if x %}",
        "{{ raise_exception('roles must alternate') }}",
        "{% include '/etc/hostname' %}",
    ],
    ids=[
        "endless",
        "huge",
        "doubling",
        "wide",
        "hidden-name",
        "globals",
        "recursion",
        "escape",
        "mutation",
        "broken",
        "refusal",
        "file",
    ],
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


def test_that_a_worker_which_died_is_replaced(renderer):
    renderer.start()
    renderer._process.kill()
    renderer._process.wait()
    assert renderer.render("{{ 1 + 1 }}", {}) == "2"


def runs(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{process}/stat")  # where nobody collects it, an ended process is listed
    return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] != "Z"


def test_that_the_worker_ends_when_its_program_is_killed():
    program = (
        "from engine.templates import TemplateRenderer; r = TemplateRenderer(); r.start();"
        "print(r.render('{{ 1 }}', {}), r._process.pid, flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        rendered, worker = parent.stdout.readline().split()
        assert rendered == "1"
        assert runs(int(worker))
        parent.kill()
    for _ in range(1000):
        if not runs(int(worker)):
            break
        select.select([], [], [], 0.01)
    assert not runs(int(worker))


def test_that_the_worker_ends_where_no_system_limits_its_memory():
    program = (
        "import resource, runpy, sys; resource.setrlimit = lambda *_: None;"
        f"runpy.run_path({str(_WORKER)!r}, run_name='__main__')"
    )
    doubling = "{% set n = namespace(s='a') %}{% for i in range(34) %}{% set n.s = n.s ~ n.s %}{% endfor %}"
    request = json.dumps({"template": doubling, "variables": {}}) + "\n"
    done = subprocess.run(
        [sys.executable, "-c", program], input=request, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (1, "")


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
