"""What Guarded costs over Fast: the same replies in both modes, in turns."""

from dataclasses import dataclass

from engine.bench import Replies, Spread, Timed, timed
from engine.bench_panels import PANELS
from engine.request import Drafting, Exactness, ModelChoice, Request, Sampling, Turn

_PANELS = ("prose", "copy-heavy")  # ordinary text, and text in which much is drafted
_PROMPTS = tuple(p for panel in PANELS if panel.name in _PANELS for p in panel.prompts[:2])
_SHORT = 48  # tokens of a reply: many short ones, so that other work falls on both modes
_SAMPLINGS = {
    "greedy": Sampling(),
    "sampled": Sampling(temperature=0.7, top_p=0.95, seed=1),
}


@dataclass(frozen=True, slots=True)
class GuardedAgainstFast:
    """Tokens per second; `ratio` is Guarded over Fast, pair by pair.

    Attributes:
        name: how tokens were drawn.
        rounds: of the Guarded replies; `rechecked` of them met a near-tie.
        same_tokens: whether both modes wrote the same, which Fast does not promise.
    """

    name: str
    guarded: Spread
    fast: Spread
    ratio: Spread
    rounds: int
    rechecked: int
    same_tokens: bool


def guarded_against_fast(
    engine: Replies, model: ModelChoice, repeats: int
) -> tuple[GuardedAgainstFast, ...]:
    """Write the same replies in both modes in turns, greedy and sampled.

    Raises:
        EngineError: a reply failed.
    """
    return tuple(_compared(engine, model, repeats, name) for name in _SAMPLINGS)


def _compared(engine: Replies, model: ModelChoice, repeats: int, name: str) -> GuardedAgainstFast:
    pairs: list[tuple[Timed, Timed]] = []
    for repeat in range(repeats):
        for prompt in _PROMPTS:
            # Who goes first changes from repeat to repeat.
            order: tuple[Exactness, ...] = ("fast", "guarded")
            order = order if repeat % 2 == 0 else order[::-1]
            done = {
                mode: timed(
                    engine,
                    Request(
                        model,
                        (Turn("user", prompt),),
                        sampling=_SAMPLINGS[name],
                        drafting=Drafting(exactness=mode),
                        max_tokens=_SHORT,
                    ),
                )
                for mode in order
            }
            pairs.append((done["guarded"], done["fast"]))
    guarded = [g for g, _ in pairs]
    return GuardedAgainstFast(
        name,
        Spread.of([g.rate for g in guarded]),
        Spread.of([f.rate for _, f in pairs]),
        Spread.of([g.rate / f.rate for g, f in pairs]),
        sum(g.finished.rounds for g in guarded),
        sum(g.finished.rechecks for g in guarded),
        all(g.finished.token_ids == f.finished.token_ids for g, f in pairs),
    )
