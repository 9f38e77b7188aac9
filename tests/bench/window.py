"""What the window costs: `python tests/bench/window.py`, part of `make bench`.

The same question is answered by `slipstream ask` and in the window, in turns, each in a process of
its own. `ratio` is the window's tokens per second over those of the terminal, pair by pair. `start_s`
is the time from the start of the process to the first turn of its event loop after the window was
painted; `load_ms` and `stream_ms` are the delays of a 10 ms timer (99 of 100, and the worst) while
the model is loaded and while the answer is written. With a DISPLAY a real screen is painted.
"""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT)]

QUESTION = "Write a long story about a journey along a river."


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--max-tokens", type=int, default=128)
    parser.add_argument("--draft", choices=("auto", "off"), default="auto")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--child", action="store_true")
    args = parser.parse_args()
    if args.child:
        child(args)
        return
    pairs = [(terminal(args), window(args)) for _ in range(args.repeats)]
    ratios = [w["tokens_per_s"] / t["tokens_per_s"] for t, w in pairs]
    measured = ("start_s", "load_p99_ms", "load_max_ms", "stream_p99_ms", "stream_max_ms")
    found = {
        "ratio": spread(ratios),
        "terminal": spread([t["tokens_per_s"] for t, _ in pairs]),
        "window": spread([w["tokens_per_s"] for _, w in pairs]),
        "same_tokens": all(t["token_ids"] == w["token_ids"] for t, w in pairs),
        **{key: spread([w[key] for _, w in pairs]) for key in measured},
        "mlx_before_first_use": any(w["had_mlx"] for _, w in pairs),
        "load_average": round(os.getloadavg()[0], 2),
    }
    print(json.dumps(found) if args.json else text_of(found))


def text_of(found):
    """The findings in lines, each with median, least and greatest."""

    def told(key):
        return "{median:.3g} ({min:.3g} to {max:.3g})".format(**found[key])

    same = "same tokens" if found["same_tokens"] else "OTHER tokens"
    mlx = ", with MLX imported already" if found["mlx_before_first_use"] else ""
    return "\n".join(
        (
            f"window against terminal: {told('ratio')} times its tokens per second, {same}",
            f"from the start of the process to a window that answers: {told('start_s')} s{mlx}",
            f"delay of the event loop, 99 of 100, while loading: {told('load_p99_ms')} ms",
            f"  the worst: {told('load_max_ms')} ms",
            f"while an answer is written: {told('stream_p99_ms')} ms",
            f"  the worst: {told('stream_max_ms')} ms",
            f"Load average of the machine: {found['load_average']}",
        )
    )


def spread(values):
    return {
        "median": round(statistics.median(values), 3),
        "min": round(min(values), 3),
        "max": round(max(values), 3),
    }


def terminal(args):
    """The `finished` line of `slipstream ask`."""
    with tempfile.TemporaryDirectory() as home:
        said = subprocess.run(
            [sys.executable, "-m", "app", "ask", QUESTION, "--json", "--temperature", "0",
             "--max-tokens", str(args.max_tokens), "--draft", args.draft],
            cwd=ROOT, env=environment(home), capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip
    return json.loads(said.splitlines()[-1])


def window(args):
    """What the window's process measured."""
    with tempfile.TemporaryDirectory() as home:
        said = subprocess.run(
            [sys.executable, __file__, "--child", "--max-tokens", str(args.max_tokens),
             "--draft", args.draft],
            timeout=300, cwd=ROOT, env={**environment(home), "BENCH_BEGAN": str(time.time())},
            stdout=subprocess.PIPE, text=True, check=True,
        ).stdout  # fmt: skip
    return json.loads(said.splitlines()[-1])


def environment(home):
    screen = {} if os.environ.get("DISPLAY") else {"QT_QPA_PLATFORM": "offscreen"}
    return {**os.environ, "SLIPSTREAM_HOME": home, **screen}


def child(args):
    """Open the window as a person would, ask, and close it."""
    from PySide6.QtCore import QTimer

    import ui.__main__ as start
    from engine.events import Finished, PromptProgress
    from tests.bench.delays import Delays, p99

    found = {}

    class Root(start.Root):
        """The program's own root, with a person who asks one question."""

        async def run(self):
            async with asyncio.TaskGroup() as both:
                both.create_task(self.ask())
                both.create_task(super().run())

        async def ask(self):
            while self._window is None or not self._window.isVisible():
                await asyncio.sleep(0.001)
            painted = asyncio.Event()
            QTimer.singleShot(0, painted.set)
            await painted.wait()
            found["start_s"] = time.time() - float(os.environ["BENCH_BEGAN"])
            found["had_mlx"] = any(name.split(".")[0] == "mlx" for name in sys.modules)
            view = self._window.view
            sampling = replace(view.settings.sampling, temperature=0.0)
            drafting = replace(view.settings.drafting, wish=args.draft)
            view.set_settings(
                replace(
                    view.settings,
                    sampling=sampling,
                    drafting=drafting,
                    max_tokens=args.max_tokens,
                )
            )
            await asyncio.sleep(0.5)
            delays = Delays()
            view.composer.write(QUESTION)
            view.composer.button.click()
            events = []
            while not view.is_answering:
                await asyncio.sleep(0.01)
            reply = view.following.reply
            while not any(isinstance(event, PromptProgress) for event in reply.events_so_far):
                await asyncio.sleep(0.01)
            loading = delays.taken()
            while view.is_answering:
                await asyncio.sleep(0.01)
            streaming, events = delays.taken(), reply.events_so_far
            finished = next(event for event in events if isinstance(event, Finished))
            found.update(
                load_p99_ms=p99(loading),
                load_max_ms=max(loading),
                stream_p99_ms=p99(streaming),
                stream_max_ms=max(streaming),
                tokens_per_s=finished.tokens_per_s,
                token_ids=finished.token_ids,
            )
            self._window.close()

    start.Root = Root
    start.main()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
