"""What `slipstream check --replies` asks: ordinary questions among tasks that can be copied."""

from engine.bench_panels import PANELS

_BENCH = tuple(prompt for panel in PANELS for prompt in panel.prompts)
_TABLE = """| city | country | people |
| --- | --- | --- |
| Lisbon | Portugal | 545,000 |
| Porto | Portugal | 232,000 |
| Madrid | Spain | 3,300,000 |"""
_LOG = """09:00 start
09:05 read 12 files
09:06 error in file 7
09:07 read 12 files
09:08 done"""
_OWN = (
    "Say: one two three four one two three four one two three four.",
    "Give me a short poem about the sea, and then the same poem again.",
    f"Write this table again and add a row for Barcelona:\n\n{_TABLE}",
    f"Repeat this log exactly, then say what went wrong:\n\n{_LOG}",
    "List the days of the week three times.",
    "Explain in three steps how to boil an egg.",
    "Translate to French: The house is small. The garden is large. The dog sleeps.",
    "Count from 1 to 40, separated by commas.",
    'Write this as JSON with the keys "name" and "age": Anna is 31, Ben is 28, Carl is 45.',
    "What is 17 times 23? Show the steps.",
)
# One of each in turn, so that a few prompts are already of both kinds.
PROMPTS = tuple(
    (*_BENCH, *_OWN)[i]
    for turn in range(len(_BENCH))
    for i in (turn, len(_BENCH) + turn)
    if i < len(_BENCH) + len(_OWN)
)
