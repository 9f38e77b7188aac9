"""`ask` with a chat format that has no place for a system prompt: what was done is said."""

import json

from app.__main__ import main
from support.model_folders import with_template

ALTERNATE = (
    "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('No system.') }}"
    "{% endif %}[{{ m.role }}]{{ m.content }}{% endfor %}"
)


def test_that_a_system_prompt_without_a_place_is_joined_and_said(starter, tmp_path, capsys):
    folder = str(with_template(starter, tmp_path / "bare", ALTERNATE))
    words = ["ask", "Hi", "--target", folder, "--system", "Be kind.", "--max-tokens", "1"]
    assert main(words) == 0
    assert "joined with the next turn" in capsys.readouterr().err
    assert main([*words, "--json"]) == 0
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    notes = [event["notes"] for event in events if event["event"] == "prompt_progress"]
    assert [len(each) for each in notes] == [1] + [0] * (len(notes) - 1)
