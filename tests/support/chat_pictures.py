"""Pictures of the transcript in every state: `python tests/support/chat_pictures.py FOLDER`."""

import os
import random
import sys
import time
from dataclasses import replace
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
sys.path[:0] = [str(Path(__file__).parents[2])]

from PySide6.QtGui import QFont
from PySide6.QtWidgets import QApplication

from app.conversation import DraftMark, Failure, Message, Pair
from app.receipts import Receipt
from engine.events import Finished, Round, TextDelta
from engine.origin import Machine, Origin
from engine.request import Sampling
from ui.chat.transcript import Transcript
from ui.theme import Themes

MACHINE = Machine("1.0", "0.32", "0.31", "cpu openblas", "a chip", "Linux")
SEARCH = '''Binary search halves the range at every step, so a million items need only about twenty looks:

```python
def find(items, wanted):
    """Return the index of wanted, or None."""
    low, high = 0, len(items)
    while low < high:
        middle = (low + high) // 2
        if items[middle] < wanted:  # in the upper half
            low = middle + 1
        else:
            high = middle
    return low if low < len(items) and items[low] == wanted else None
```

Each comparison throws away half of what is left.'''

RICH = r"""## What a comparison costs

Looking at **one** item halves the rest, so $n$ items need $\lceil \log_2 n \rceil$ looks. The sum of it:

$$\sum_{k=0}^{\log_2 n} \frac{n}{2^k} = 2n - 1 \le 2n$$

| Items | Looks | Linear search, *on average* |
|------:|:-----:|:------|
| 1,000 | 10 | 500, see [the proof](https://example.org/proof) |
| 1,000,000 | 20 | 500,000 |
| 1,000,000,000 | 30 | half a billion, which nobody waits for |

1. Sort the items once.
2. Look in the middle:
   - smaller? Go left.
   - larger? Go `right`.
3. Stop when nothing is left.

- [x] sorted
- [ ] ~~unsorted~~ not yet

> Premature optimisation is the root of all evil.
>
> Someone wise

---

Even \(x^2 + y^2 = z^2\) stands in its line, and `use vector<int>` keeps its brackets."""

ARABIC = "مرحبا! البحث الثنائي يقسم المجال إلى نصفين.\n\n1. ابدأ من الوسط\n2. قارن\n\nشكرا 👋🏽"


def rounds(count: int, seed: int = 4, deep: bool = False) -> tuple[Round, ...]:
    draw = random.Random(seed)
    made = []
    for index in range(count):
        kind = draw.random()
        if 8 <= index < 14 or kind < 0.08:
            proposed, accepted, mode = 0, 0, "plain"
        elif kind < 0.2:
            proposed, mode = draw.randint(5, 22) if deep else 4, "copy"
            accepted = proposed if draw.random() < 0.8 else proposed // 2
        else:
            proposed, mode = draw.randint(3, 7) if deep else 4, "drafter"
            accepted = min(proposed, draw.choice([0, 1, 2, 3, 4, 4, 4, 5]))
        made.append(
            Round(index, mode, tuple(range(proposed)), accepted, tuple(range(accepted + 1)), None,
                  None, None, 4.0, 48.0, proposed + 1, recheck=index == 30)
        )  # fmt: skip
    return tuple(made)


MARKS = (DraftMark(8, "paused", "Slower than plain on this text."), DraftMark(14, "on", ""),
         DraftMark(40, "off", "You turned it off."), DraftMark(42, "on", ""))  # fmt: skip


def spans(text: str, made: tuple[Round, ...]) -> tuple[tuple[int, int, int], ...]:
    tokens = sum(len(r.committed_ids) for r in made)
    step = max(1, len(text) // tokens)
    return tuple(
        (n * step, len(text) if n == tokens - 1 else (n + 1) * step, n) for n in range(tokens)
    )


def finished(made: tuple[Round, ...], **more: object) -> Finished:
    tokens = sum(len(r.committed_ids) for r in made)
    values = {
        "saved_s": (4.27, 4.27), "speedup": 1.64, "plain_steps": 12, "plain_ms": 23.4,
        "tokens_per_s": 42.19, "first_token_s": 0.74, "wall_s": 7.0, "drafting": "on",
        "accepted_at": (40, 31, 22, 15), "proposed_at": (48, 40, 31, 22), "context_used": 1204,
        "context_limit": 8192, "reused": 3980, "copied_tokens": 20,
    } | more  # fmt: skip
    return Finished(
        reason="stop", prompt_ids=tuple(range(4212)), token_ids=tuple(range(tokens)), text="",
        rounds=len(made), proposed=sum(len(r.proposed_ids) for r in made),
        accepted=sum(r.accepted for r in made), **values,
    )  # fmt: skip


def message(id_: int, role: str, text: str, **more: object) -> Message:
    return replace(Message(id_, 1, id_ - 1 or None, role, text, "stop", 0.0), **more)


def answer(id_: int, text: str, count: int = 64, deep: bool = False, **more: object) -> Message:
    made = rounds(count, seed=id_, deep=deep)
    values = {
        "rounds": made,
        "marks": MARKS,
        "spans": spans(text, made),
        "finished": finished(made),
    }
    return message(id_, "assistant", text, **(values | more))


def scenes() -> dict[str, tuple[list[Message], tuple[int, int]]]:
    ask = message(1, "user", "Write a binary search in Python and say why it is fast.")
    thought = {"thinking": "The user wants *code*.\n\n- short\n- right", "thinking_s": 2.06}
    failed = Failure("memory", "Memory ran short, so the answer was stopped.",
                     "Everything up to here is saved.", "Turn drafting off")  # fmt: skip
    code = "Here it is:\n\n```rust\n" + "".join(
        f"fn step_{n}(items: &[u64]) -> Option<u64> {{ items.iter().map(|x| x * {n}).max() }} // {n}\n"
        for n in range(40)
    ) + "```\n"  # fmt: skip
    wide, high = (1180, 780), (1180, 1180)
    return {
        "answer": ([ask, answer(2, SEARCH, **thought)], wide),
        "rich": ([message(1, "user", "And the theory?"), answer(2, RICH, 120, deep=True)], (1180, 1500)),
        "code": ([ask, answer(2, code, 400, deep=True)], high),
        "narrow": ([ask, answer(2, SEARCH, alternatives=3, position=2), message(3, "user", "a < b && <b>c</b>"), answer(4, RICH)], (480, 1900)),
        "failed": ([ask, answer(2, SEARCH[:95], 20, state="failed", failure=failed, finished=None),
                    message(3, "user", "Again?", alternatives=2),
                    answer(4, "Each comparison throws", 12, state="cancelled", finished=finished(rounds(12), saved_s=(-0.42, 1.2), speedup=None, plain_steps=3)),
                    message(5, "user", "And?"), message(6, "assistant", "", state="damaged"),
                    message(7, "user", "?"), answer(8, "Half a", 6, state="interrupted", finished=None)], high),
        "verdicts": (verdicts(), (1180, 1900)),
        "verdicts-narrow": (verdicts(), (400, 2700)),
        "pauses": (pauses(), (1180, 900)),
        "pauses-narrow": (pauses(), (400, 900)),
        "rtl": ([message(1, "user", "اشرح البحث الثنائي"), answer(2, ARABIC, 30)], wide),
    }  # fmt: skip


def pauses() -> list[Message]:
    """An answer that ended paused, and one in which drafting was kept on."""
    text = "Each comparison throws away half of what is left."
    paused = DraftMark(8, "paused", "Guessing is slower than plain decoding on this text.")
    kept = DraftMark(10, "on", "Kept on as you wish: 31 tokens a second, 40 without guesses.")
    made, slower = rounds(14), {"saved_s": (-1.22, -1.22), "speedup": 0.78}
    return [
        answer(2, text, marks=(paused,), finished=finished(made, drafting="paused", **slower)),
        answer(4, text, marks=(paused, kept), finished=finished(made, **slower)),
    ]


def receipt(verdict: str, **more: object) -> Receipt:
    values = {"tokens": 912, "total": 912, "at": None, "drafted": "", "plain": "", "gap": None,
              "reason": "", "checked": time.time()}  # fmt: skip
    return Receipt(verdict=verdict, **(values | more))


def verdicts() -> list[Message]:
    """An answer for each verdict; the one that is being checked is shown by `main`."""
    text = "Each comparison throws away half of what is left."
    found = (
        None,
        None,
        receipt("same"),
        receipt("differs", tokens=387, at=387, drafted=" however", plain=" but\n", gap=0.031),
        receipt("cannot", tokens=0, reason="The model file changed since this was written."),
        receipt("same", before=500),
    )
    made = [answer(2 * n + 2, text, 12, marks=(), receipt=one) for n, one in enumerate(found)]
    by_pair = [Origin("/a", "", f"/{name}", "", MACHINE, "guarded", Sampling()) for name in "bc"]
    for n, one in enumerate(by_pair):
        done = finished(made[-1].rounds, origin=one)
        differs = receipt(
            "differs", tokens=387, at=387, drafted=" however", plain=" but\n", gap=0.031
        )
        made.append(answer(14 + 2 * n, text, 12, marks=(), finished=done, receipt=differs))
    made += [answer(18 + n, text, 12, marks=()) for n in range(2)]
    fast = finished(made[-1].rounds, origin=Origin("", "", None, "", MACHINE, "fast", Sampling()))
    made.append(answer(20, text, 12, marks=(), finished=fast))
    return made


def main(folder: Path) -> None:
    app = QApplication.instance() or QApplication([])
    app.setFont(QFont("Inter", 10))
    folder.mkdir(parents=True, exist_ok=True)
    for appearance in ("light", "dark"):
        themes = Themes(appearance)
        app.setPalette(themes.current.palette())
        for name, (messages, size) in scenes().items():
            transcript = Transcript(themes)
            transcript.resize(*size)
            transcript.show()
            transcript.show_messages(messages)
            for view in transcript.views:
                if name == "rich" and hasattr(view, "strip"):
                    view.strip.grid.choose(20)
            if name.startswith("pauses"):
                transcript.show_wish("on" if appearance == "dark" else "auto")
            if name.startswith("verdicts"):
                transcript.show_check(4, (312, 912))
                transcript.show_check(18, "waiting")
                transcript.show_check(19, "gave way")
                transcript.show_plain_pairs([Pair(Path("/a"), Path("/c"))])
            for _ in range(60):
                app.processEvents()
                transcript.grab()
            transcript.grab().save(str(folder / f"{name}-{appearance}.png"))
            transcript.close()


def streaming(text: str, size: int = 4) -> list[TextDelta]:
    return [TextDelta("answer", text[n : n + size], n, n) for n in range(0, len(text), size)]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
