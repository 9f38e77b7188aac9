"""Do drafted replies have the ids of plain ones? Counted over any number of prompts.

Every reply is written once plain and once drafted in each mode, with the same seed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from engine.agreement_prompts import PROMPTS
from engine.bench import first_difference
from engine.controls import Controls
from engine.engine import Engine
from engine.errors import EngineError
from engine.events import Failed, Finished, Round
from engine.near_ties import draw_with_gaps
from engine.request import Drafting, DraftWish, Exactness, ModelChoice, Request, Sampling, Turn
from engine.sampling import to_host

TOP_P = 0.95  # where tokens are drawn at random, as in a new conversation
_CHUNK = 512  # rows of a pass that only reads known tokens


@dataclass(frozen=True, slots=True)
class Plan:
    """What is compared: `prompts` prompts, each at every temperature and in every mode."""

    prompts: int
    temperatures: tuple[float, ...] = (0.0, 0.7, 1.0)
    modes: tuple[Exactness, ...] = ("guarded", "exact")
    max_tokens: int = 128
    wish: DraftWish = "on"

    @property
    def replies(self) -> int:
        """How many replies are written in all, plain ones included."""
        return self.prompts * len(self.temperatures) * (1 + len(self.modes))


@dataclass(frozen=True, slots=True)
class Difference:
    """The first token at which a drafted reply left the plain one.

    Attributes:
        prompt: which prompt, from 0; its seed is the same number.
        at: index of the token.
        plain_id: what plain decoding wrote, None if its reply had ended.
        drafted_id: what stood in the drafted reply, None if it had ended.
        gap: distance of plain decoding's two best scores there, about.
    """

    prompt: int
    temperature: float
    at: int
    plain_id: int | None
    drafted_id: int | None
    gap: float


@dataclass(frozen=True, slots=True)
class Counts:
    """The replies of one mode, together.

    Attributes:
        rounds: all rounds; `drafted` of them checked a proposal, `rechecked` met a near-tie.
        first: where the first reply that differed did so.
    """

    mode: Exactness
    replies: int = 0
    equal: int = 0
    tokens: int = 0
    rounds: int = 0
    drafted: int = 0
    rechecked: int = 0
    proposed: int = 0
    accepted: int = 0
    first: Difference | None = None


@dataclass(frozen=True, slots=True)
class Agreement:
    """What was seen after `done` of `total` replies, in the order of the plan's modes."""

    done: int
    total: int
    counts: tuple[Counts, ...]
    exact_width: int | None = None

    @property
    def all_equal(self) -> bool:
        """Whether every drafted reply had the ids of the plain one."""
        return all(each.equal == each.replies for each in self.counts)


@dataclass(frozen=True, slots=True)
class _Reply:
    finished: Finished
    drafted: int


def compare(engine: Engine, model: ModelChoice, plan: Plan) -> Iterator[Agreement]:
    """Write the replies of the plan, and yield what was seen so far after each.

    Raises:
        EngineError: a reply failed.
    """
    counts = [Counts(mode) for mode in plan.modes]
    done = 0
    for prompt in range(plan.prompts):
        for temperature in plan.temperatures:
            asked = _request(model, plan, prompt, temperature)
            plain = _written(engine, asked).finished
            done += 1
            yield _seen(engine, done, plan, counts)
            for index, mode in enumerate(plan.modes):
                drafting = Drafting(plan.wish, exactness=mode)
                reply = _written(engine, replace(asked, drafting=drafting))
                counts[index] = _counted(counts[index], reply, plain)
                at = first_difference(plain.token_ids, reply.finished.token_ids)
                if at is not None and counts[index].first is None:
                    found = _difference(engine, asked, plain, reply.finished, (prompt, at))
                    counts[index] = replace(counts[index], first=found)
                done += 1
                yield _seen(engine, done, plan, counts)


def _request(model: ModelChoice, plan: Plan, prompt: int, temperature: float) -> Request:
    return Request(
        model,
        (Turn("user", PROMPTS[prompt % len(PROMPTS)]),),
        sampling=Sampling(temperature, TOP_P if temperature else 1.0, seed=prompt),
        drafting=Drafting("off"),
        max_tokens=plan.max_tokens,
    )


def _seen(engine: Engine, done: int, plan: Plan, counts: Sequence[Counts]) -> Agreement:
    gate = None if engine.model is None else engine.model.trust.gate
    width = None if gate is None else gate.exact_width
    return Agreement(done, plan.replies, tuple(counts), width)


def _written(engine: Engine, request: Request) -> _Reply:
    """One reply, and how many of its rounds checked a proposal.

    Raises:
        EngineError: it failed.
    """
    drafted = 0
    for event in engine.reply(request, Controls()):
        if isinstance(event, Round):
            drafted += event.mode != "plain"
        elif isinstance(event, Failed):
            raise EngineError(event.code, event.message, safe=event.safe, action=event.action)
        elif isinstance(event, Finished):
            return _Reply(event, drafted)
    raise AssertionError("a reply without an end")


def _counted(counts: Counts, reply: _Reply, plain: Finished) -> Counts:
    finished = reply.finished
    return replace(
        counts,
        replies=counts.replies + 1,
        equal=counts.equal + (finished.token_ids == plain.token_ids),
        tokens=counts.tokens + len(finished.token_ids),
        rounds=counts.rounds + finished.rounds,
        drafted=counts.drafted + reply.drafted,
        rechecked=counts.rechecked + finished.rechecks,
        proposed=counts.proposed + finished.proposed,
        accepted=counts.accepted + finished.accepted,
    )


def _difference(
    engine: Engine, asked: Request, plain: Finished, drafted: Finished, where: tuple[int, int]
) -> Difference:
    """The difference at `where`, that is prompt and token, and the gap that stood there."""
    assert engine.model is not None
    target = engine.model.target
    prompt, at = where
    tokens = [*plain.prompt_ids, *plain.token_ids[:at]]
    cache = target.new_cache()
    for begin in range(0, len(tokens) - 1, _CHUNK):
        target.forward(tokens[begin : min(begin + _CHUNK, len(tokens) - 1)], cache)
        cache.settle()
    logits = target.forward(tokens[-1:], cache).logits
    _, gaps = draw_with_gaps(logits, at, asked.sampling, tokens, 0.0)
    ids = [r.token_ids[at] if at < len(r.token_ids) else None for r in (plain, drafted)]
    return Difference(prompt, asked.sampling.temperature, at, ids[0], ids[1], to_host(gaps)[0])
