"""O-10 (iii) in the window: a model without a chat format says so and offers to write on."""

from dataclasses import replace

from app.conversation import Settings
from engine.engine import Engine
from support.model_folders import without_template


def test_that_a_model_without_a_chat_format_writes_on_when_it_is_told_to(
    in_window, answered, until, errors, starter, tmp_path
):
    folder = without_template(starter, tmp_path / "bare")

    async def scene(window):
        view = window.view
        view.set_settings(replace(Settings(), target=folder, max_tokens=3))
        await until(lambda: view.settings.target == folder)
        await answered(window, "Once upon a time")
        refused = (await view._here_stored())[-1]
        assert refused.state == "failed"
        window._act_here(refused.failure.action)
        await until(lambda: view.is_answering)
        await until(lambda: not view.is_answering)
        return refused.failure, (await view._here_stored())[-1]

    failure, answer = in_window(Engine(), scene)
    assert failure.code == "no_template"
    assert failure.action.startswith("Write on as plain text")
    assert answer.state == "length", answer
    assert len(answer.finished.token_ids) == 3
    assert errors == []
