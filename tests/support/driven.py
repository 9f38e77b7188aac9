"""A real window in a process of its own, driven by a script: `python -m tests.support.driven`.

Words: what to wait for before the end (shown, loading, reading, writing), how it ends (close,
stay), and the milliseconds of one loading step, one reading step and one token. It prints a line
when it has come to that point and whether MLX was imported by then.
"""

import asyncio
import sys

import ui.__main__ as root
from engine.events import LoadProgress, PromptProgress, TextDelta
from tests.support.scripted import SlowEngine

MOMENTS = {"loading": (LoadProgress, 1), "reading": (PromptProgress, 1), "writing": (TextDelta, 10)}


class DrivenWindow(root.MainWindow):
    """Does what the script says as soon as it is shown."""

    def show(self):
        super().show()
        self._tasks.start(self._drive())

    async def _drive(self):
        moment, ending = sys.argv[1:3]
        if moment != "shown":
            self.view.composer.write("Why?")
            self.view.composer.button.click()
            while not self._reached(moment):
                await asyncio.sleep(0.005)
        imported = any(name.split(".")[0] in {"mlx", "mlx_lm", "numpy"} for name in sys.modules)
        sys.stdout.write("mlx\n" if imported else "ready\n")
        sys.stdout.flush()
        if ending == "close":
            self.close()

    def _reached(self, moment):
        kind, count = MOMENTS[moment]
        reply = self.view.following.reply
        seen = reply.events_so_far if reply else []
        if moment == "loading" and reply is not None and STARTED:
            return True
        return sum(isinstance(event, kind) for event in seen) >= count


STARTED = []


def engine():
    load_ms, prompt_ms, ms = (float(word) for word in sys.argv[3:6])
    STARTED.append(True)
    return SlowEngine(ms, 100_000, load_ms=load_ms, prompt_ms=prompt_ms)


if __name__ == "__main__":
    root.MainWindow = DrivenWindow
    sys.exit(root.main(engine))
