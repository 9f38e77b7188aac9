"""A process whose engine was made on a thread ends in order."""

import subprocess
import sys

CHILD = """
import asyncio, sys
from dataclasses import replace
from pathlib import Path
from app.folders import Folders
from app.program import running

async def main():
    async with running(Folders.below(Path(sys.argv[1]))) as program:
        settings = replace(program.settings.current.defaults, target=Path(sys.argv[1], "nothing"))
        reply = await program.chat.send((await program.chat.new(settings)).id, "Why?")
        await reply.run(None)
        print(reply.result.state, reply.result.failure.code)

asyncio.run(main())
"""


def test_that_the_engine_gives_back_the_streams_of_its_thread(tmp_path):
    # With mlx 0.32.4, `import mlx_lm` on a thread that then ends aborts the process at its exit.
    ended = subprocess.run(
        [sys.executable, "-c", CHILD, tmp_path],
        timeout=60,
        check=False,
        capture_output=True,
        text=True,
    )
    assert ended.stdout.startswith("failed ")
    assert (ended.returncode, ended.stderr) == (0, "")
