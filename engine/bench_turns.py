"""How much sooner a second turn begins when the first is remembered."""

from dataclasses import dataclass

from engine.bench import Replies, Spread, timed
from engine.request import ModelChoice, Request, Turn

_TEXT = " ".join(
    f"On day {day} the ship sailed {17 * day % 90 + 10} miles and {11 * day % 40} birds were seen."
    for day in range(1, 73)
)  # about 1,500 tokens


@dataclass(frozen=True, slots=True)
class SecondTurn:
    """Seconds to the first token of a second turn of `tokens` tokens, and cold over warm."""

    tokens: int
    cold: Spread
    warm: Spread
    ratio: Spread


def second_turn(engine: Replies, model: ModelChoice, repeats: int) -> SecondTurn:
    """Measure how much sooner a second turn begins than the same turns from nothing.

    Raises:
        EngineError: a reply failed.
    """
    name = "slipstream bench"
    question = Turn("user", _TEXT + "\n\nWhat is this about? Answer in one sentence.")
    cold: list[float] = []
    warm: list[float] = []
    tokens = 0
    for _ in range(repeats):
        engine.forget(name)
        first = timed(engine, Request(model, (question,), conversation=name, max_tokens=16))
        turns = (question, Turn("assistant", first.finished.text), Turn("user", "Say more."))
        second = timed(engine, Request(model, turns, conversation=name, max_tokens=2))
        tokens = len(second.finished.prompt_ids)
        warm.append(second.first_s)
        cold.append(timed(engine, Request(model, turns, max_tokens=2)).first_s)
    engine.forget(name)
    ratios = [c / w for c, w in zip(cold, warm, strict=True)]
    return SecondTurn(tokens, Spread.of(cold), Spread.of(warm), Spread.of(ratios))
