"""How the transcript bears a very long answer: `python tests/bench/ui_stream.py` prints JSON.

`growth` is the cost of the last 1,000 of 6,000 chunks over that of the first 1,000, and `p99_ms`
the delay of a 10 ms timer while they come, for paragraphs and for one fence that never ends.
`cpu_p99_ms` is the same without what other programs took: the time of this thread for one chunk.
"""

import json
import os
import sys
import time
from pathlib import Path

os.environ["QT_QPA_PLATFORM"] = "offscreen"
sys.path[:0] = [str(Path(__file__).parents[2])]

from PySide6.QtWidgets import QApplication

from app.conversation import Message
from engine.events import Round, TextDelta
from tests.bench.delays import Delays, p99
from ui.chat.transcript import Transcript
from ui.theme import Themes

CHUNKS, PART = 6000, 1000


def prose(n: int) -> str:
    """Every tenth chunk is a paragraph with bold and code."""
    return f"\n\nA **bold** word and `code_{n}` in a paragraph.\n\n" if n % 10 == 9 else "word "


def fence(n: int) -> str:
    """One fence, from chunk 100 on, that is never closed."""
    if n < 100:
        return prose(n)
    return "\n```python\n" if n == 100 else f"x_{n} = {n}  # word\n" if n % 3 == 0 else "word "


def run(app: QApplication, chunk: "object", rounds: bool) -> dict[str, float | bool]:
    transcript = Transcript(Themes("light"))
    transcript.resize(1180, 780)
    transcript.show()
    transcript.show_messages([Message(1, 1, None, "user", "Go on", "stop", 0.0)])
    transcript.add(Message(2, 1, 1, "assistant", "", "streaming", 0.0))
    app.processEvents()
    delays, costs, text, each = Delays(), [], [], []
    for first in range(0, CHUNKS, PART):
        began = time.process_time()
        for n in range(first, first + PART):
            text.append(chunk(n))
            events = [TextDelta("answer", text[-1], n, n)]
            if rounds:
                events.append(
                    Round(n, "drafter", (1, 2, 3), n % 4, (1,), None, None, None, 1.0, 9.0, 4)
                )
            start = time.thread_time()
            transcript.apply(2, events)
            app.processEvents()
            each.append(time.thread_time() - start)
        costs.append(time.process_time() - began)
    whole = transcript.view_of(2).text == "".join(text)
    transcript.close()
    return {
        "growth": round(costs[-1] / costs[0], 2),
        "p99_ms": round(p99(delays.taken()), 1),
        "cpu_p99_ms": round(sorted(each)[int(len(each) * 0.99)] * 1000, 1),
        "seconds": round(sum(costs), 2),
        "text_is_whole": whole,
    }


def main() -> None:
    app = QApplication([])
    run(app, prose, rounds=False)  # fonts and caches are warm then
    print(
        json.dumps({"prose": run(app, prose, rounds=True), "fence": run(app, fence, rounds=True)})
    )


if __name__ == "__main__":
    main()
