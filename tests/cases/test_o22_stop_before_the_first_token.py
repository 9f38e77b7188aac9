"""O-22: Stop while the model is loaded or the prompt is read, then another message.

lmstudio-ai/mlx-engine #199, lmstudio-bug-tracker #573, janhq/jan #1366.
"""

import pytest

from engine.events import LoadProgress, PromptProgress
from support.scripted import SlowEngine, words


@pytest.mark.parametrize(
    ("kind", "pace"),
    [(LoadProgress, {"load_ms": 300}), (PromptProgress, {"prompt_ms": 300})],
    ids=["loading", "reading"],
)
def test_that_stop_frees_the_window_and_the_next_answer_is_that_of_a_fresh_start(
    in_window, answered, until, errors, kind, pace
):
    engine = SlowEngine(tokens=6, **pace)

    async def scene(window):
        view = window.view
        view.send("a long prompt")
        await until(lambda: any(isinstance(e, kind) for e in _events(view)))
        view.stop()
        await until(lambda: not view.is_answering, 1.0)
        await answered(window, "hi")
        return await view._chat.messages(view.here)

    _, stopped, question, answer = in_window(engine, scene)
    assert (stopped.text, stopped.state, stopped.finished) == ("", "cancelled", None)
    assert (question.text, answer.state) == ("hi", "stop")
    assert answer.text == "".join(words(n) for n in range(6))
    assert [turn.text for turn in engine.requests[-1].turns] == ["a long prompt", "hi"]


def _events(view):
    reply = view.following.reply
    return reply.events_so_far if reply else []
