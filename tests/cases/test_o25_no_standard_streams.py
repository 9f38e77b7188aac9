"""O-25: a windowed program has no stdin, stdout and stderr.

tqdm #1523 and #1593, pyinstaller #7731, transformers #24462.
"""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
CHAT = """
import sys
sys.stdin = sys.stdout = sys.stderr = None
import asyncio, dataclasses, json, threading
from pathlib import Path
from app.conversation import Settings
from app.folders import Folders
from app.program import running
from engine.request import Sampling

def crash():
    raise RuntimeError("nobody catches this")

async def chat():
    async with running(Folders.standard()) as program:
        settings = Settings(sampling=Sampling(temperature=0.0), max_tokens=16)
        conversation = await program.chat.new(settings)
        reply = await program.chat.send(conversation.id, "What is the capital of France?")
        events = []
        async def show(batch):
            events.extend(type(event).__name__ for event in batch)
        await reply.run(show)
        thread = threading.Thread(target=crash)
        thread.start()
        thread.join()
        return {"text": reply.result.text, "state": reply.result.state, "events": events}

Path(sys.argv[1]).write_text(json.dumps(asyncio.run(chat())))
"""


def test_that_a_model_loads_and_answers_without_streams(starter, tmp_path, home):
    told = tmp_path / "told.json"
    child = subprocess.run(
        [sys.executable, "-c", CHAT, told], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (child.returncode, child.stdout, child.stderr) == (0, "", "")
    answer = json.loads(told.read_text())
    assert "Paris" in answer["text"]
    assert answer["state"] == "stop"
    assert {"LoadProgress", "Loaded", "TextDelta", "Finished"} <= set(answer["events"])
    # What nobody caught is in the log, the one place that is left.
    assert "nobody catches this" in (home / "logs" / "slipstream.log").read_text()


def test_that_the_terminal_commands_run_without_streams(starter):
    for words in (["ask", "Hi", "--max-tokens", "4"], ["doctor", "--no-test"], ["--help"]):
        code = (
            "import sys\nsys.stdin = sys.stdout = sys.stderr = None\n"
            f"from app.__main__ import main\nsys.exit(main({words!r}))"
        )
        child = subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert (child.returncode, child.stdout, child.stderr) == (0, "", ""), words
