"""O-25: a windowed program has neither stdout nor stderr.

tqdm/tqdm #1523, #1593; pyinstaller/pyinstaller #7731; huggingface/transformers #24462. The exception
in a slot is the window's part.
"""

import subprocess
import sys

from app.folders import Folders
from app.log import NAME

WITHOUT_STREAMS = """
import sys
sys.stdout = sys.stderr = None
from app.log import mend_streams
mend_streams()

import asyncio, threading
from dataclasses import replace
from pathlib import Path
from app.folders import Folders
from app.program import running

def fail():
    raise ValueError("in a corner")

async def main():
    async with running(Folders.below(Path(sys.argv[1]))) as program:
        settings = replace(program.settings.current.defaults, max_tokens=3)
        reply = await program.chat.send((await program.chat.new(settings)).id, "Why?")
        await reply.run(None)
        thread = threading.Thread(target=fail)
        thread.start()
        thread.join()
        Path(sys.argv[1], "state").write_text(reply.result.state)

asyncio.run(main())
"""


def test_that_a_model_loads_and_answers_and_what_nobody_caught_is_in_the_log(tmp_path, starter):
    command = [sys.executable, "-c", WITHOUT_STREAMS, tmp_path]
    ended = subprocess.run(command, timeout=60, check=False, capture_output=True)
    assert (ended.returncode, ended.stdout) == (0, b"")
    assert b"Traceback" not in ended.stderr
    assert (tmp_path / "state").read_text() == "length"
    assert "ValueError: in a corner" in (Folders.below(tmp_path).logs / NAME).read_text()
