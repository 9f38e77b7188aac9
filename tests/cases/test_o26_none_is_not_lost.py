"""O-26: PySide6 6.12 on Python 3.11 loses a reference to None in every call, until it aborts.

vllm-project/vllm #49950, python/cpython #118997, unslothai/unsloth #2877. The pin below 6.12 is the
answer; this test says when it stops being one.
"""

import os
import subprocess
import sys

import pytest

from support.scripted import SlowEngine, words

CHILD = """
import sys

import pytest

from tests.support.scripted import SlowEngine, words
from PySide6.QtWidgets import QApplication, QPlainTextEdit
app = QApplication([])
view = QPlainTextEdit()
before = sys.getrefcount(None)
for number in range(20_000):
    view.appendPlainText("tok")
    if number % 1000 == 0:
        app.processEvents()
print(sys.getrefcount(None) - before)
"""


def test_that_twenty_thousand_calls_of_a_view_lose_no_reference_to_none():
    child = subprocess.run(
        [sys.executable, "-c", CHILD], capture_output=True, text=True, timeout=60,
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen"},
    )  # fmt: skip
    assert child.returncode == 0, child.stderr
    assert int(child.stdout) >= -100 * 20


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_that_an_answer_of_twenty_thousand_tokens_in_the_window_loses_none_either(
    in_window, until, errors
):
    count = 20_000

    async def scene(window):
        before = sys.getrefcount(None)
        window.view.send("go on")
        await until(lambda: window.view.is_answering)
        await until(lambda: not window.view.is_answering, 100)
        (answer,) = window.view.transcript.views[-1:]
        return answer.text, sys.getrefcount(None) - before

    text, change = in_window(SlowEngine(tokens=count), scene)
    assert text == "".join(words(n) for n in range(count))
    assert change >= -100 * count / 1000
