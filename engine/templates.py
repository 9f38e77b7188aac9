"""Chat templates: from turns to the text that the model was trained to see."""

import contextlib
import json
import os
import select
import subprocess
import sys
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from engine.errors import TemplateRefused
from engine.request import Turn

SECONDS = 20.0  # wall time; the worker has its own, shorter limit of processor time
LIMIT = "template_limit"  # the code of a refusal: time or memory
_WORKER = Path(__file__).with_name("template_worker.py")
# A bundle's executable behaves as an interpreter when it is given -c.
_START = "import runpy, sys; runpy.run_path(sys.argv[1], run_name='__main__')"


class TemplateRenderer:
    """One worker process; it is started when first needed and ends with its owner."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._end: weakref.finalize[Any, Any] | None = None

    def start(self) -> None:
        """Start the worker, so that the first rendering does not wait for it."""
        if self._process is not None and self._process.poll() is None:
            return
        self.close()
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-c", _START, str(_WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._end = weakref.finalize(self, _end, self._process)

    def render(self, template: str, variables: dict[str, Any]) -> str:
        """The rendered text.

        Raises:
            TemplateRefused: the template is broken, refuses the conversation, or does not end.
        """
        self.start()
        assert self._process is not None
        request = json.dumps({"template": template, "variables": variables}) + "\n"
        answer = self._exchange(self._process, request.encode())
        if answer is None:
            self.close()
            raise _refused("it takes too long or too much memory.", LIMIT)
        if "error" in answer:
            raise _refused(str(answer["error"]))
        return str(answer["text"])

    def close(self) -> None:
        """End the worker."""
        if self._end is not None:
            self._end()
        self._process = self._end = None

    def _exchange(self, process: subprocess.Popen[bytes], request: bytes) -> dict[str, Any] | None:
        """Send one line and wait for one; None if none comes in time."""
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(request)
            process.stdin.flush()
        except BrokenPipeError:
            return None
        received = bytearray()
        while not received.endswith(b"\n"):
            ready, _, _ = select.select([process.stdout], [], [], SECONDS)
            if not ready or not (data := os.read(process.stdout.fileno(), 1 << 16)):
                return None
            received += data
        return json.loads(received)


def folded(turns: Sequence[Turn]) -> tuple[Turn, ...]:
    """The same text in roles that every template takes: user and assistant in turn, user first.

    The system text goes into the first user turn; equal neighbours are merged. Nothing is lost.
    """
    system = [turn.text for turn in turns if turn.role == "system"]
    result: list[Turn] = []
    for turn in turns:
        if turn.role == "system":
            continue
        if result and result[-1].role == turn.role:
            result[-1] = Turn(turn.role, f"{result[-1].text}\n\n{turn.text}")
        else:
            result.append(turn)
    if not result or result[0].role == "assistant":
        result.insert(0, Turn("user", ""))
    first = "\n\n".join([*system, result[0].text] if result[0].text else system)
    return (Turn("user", first), *result[1:])


def _refused(reason: str, code: str = "template") -> TemplateRefused:
    return TemplateRefused(
        code,
        f"The chat template of this model cannot be used: {reason}",
        safe="Your message and all other models are not affected.",
        action="Choose another model, or a newer copy of this one.",
    )


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()
    process.wait()
