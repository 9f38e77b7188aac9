"""The one decoding loop: rounds until the reply ends.

Plain decoding is a round without drafts. A copy of enough tokens wins a round, otherwise the
drafter, otherwise plain. What a round commits is cut at the first end token, stop string or budget
before anybody sees it.
"""

import math
import time
from collections.abc import Callable, Generator, Iterator, Set
from dataclasses import dataclass, replace

import mlx.core as mx

from engine.controls import Controls
from engine.detokenizer import TextStream
from engine.events import DraftingState, DraftState, Event, Finished, FinishReason, Round
from engine.guard import Source
from engine.proposers import Context, Proposal
from engine.request import Request
from engine.sessions import Kept
from engine.step import Step
from engine.tally import Tally

COPY_AT = 4  # matching tokens from which a copy wins a round over the drafter
COPY_AT_ALONE = 3  # and where there is no drafter to ask instead


@dataclass(frozen=True, slots=True)
class Means:
    """What a reply is written with.

    Attributes:
        margin: the gap below which a row of a pass of that width is not trusted.
        widest: rows a verify pass may have, the pending one included.
        drafts: the most that the drafter is asked for.
        refused: why nothing may be drafted, or empty.
    """

    kept: Kept
    stream: TextStream
    end_ids: Set[int]
    context_limit: int
    margin: Callable[[int], float]
    widest: int
    drafts: int = 0
    refused: str = ""


class Writing:
    """One reply on its way."""

    def __init__(self, request: Request, controls: Controls, means: Means, started: float) -> None:
        self._request, self._controls, self._means = request, controls, means
        kept = means.kept
        self._session, self._guard, self._copies = kept.session, kept.guard, kept.copies
        self._drafter = kept.drafter
        self._tally = Tally(started=started)
        self._prompt = tuple(kept.session.tokens)
        self._ids: list[int] = []
        self._state: DraftState = "on"
        self._reason = ""
        self._drafter_failed = False
        self._kept_on = ""  # although plain decoding is faster: what is said of it
        self._timed: set[str] = set()  # modes whose first round is over
        self._last = started
        self._match = 0

    def events(self) -> Iterator[Event]:
        """Write to the end; the last event is `Finished`, and the session is left settled.

        Raises:
            BadNumbers: the target produced a NaN or an infinity.
        """
        self._last = time.perf_counter()
        reason: FinishReason | None = None
        while reason is None:
            yield from self._switched()
            if self._controls.stop:
                reason = "cancelled"
            elif self._room() < 1:
                reason = "context"
            elif self._left() < 1:
                reason = "length"
            else:
                reason = yield from self._round()
        yield from self._means.stream.finish()
        self._means.kept.settle()
        yield self._finished(reason)

    def _round(self) -> Generator[Event, None, FinishReason | None]:
        """One round; returns the reason if it ended the reply."""
        session = self._session
        begun = time.perf_counter()
        proposal = self._propose()
        if proposal is None:
            step = session.plain(pipeline=self._may_pipeline())
        else:
            drafted = time.perf_counter() - begun
            margin = self._means.margin(1 + proposal.ids.shape[0])
            if self._controls.stop:  # also while the margin was measured
                return None
            step = session.drafted(proposal, drafted, margin)
        if not step.committed:  # stopped
            return None
        if self._drafter is not None and step.taps is not None:
            self._drafter.observe(step.fed, step.taps)
        kept, reason = self._cut(step)
        pushed = self._means.stream.push(step.committed[:kept])
        if pushed.stopped:
            kept, reason = pushed.used, "stop"
        self._ids += step.committed[:kept]
        if reason is not None:
            ended = reason == "stop" and not pushed.stopped
            session.rewind(len(self._prompt) + len(self._ids) + ended)
        round_ = self._as_round(step, kept)
        self._learn(round_, step)
        yield round_
        yield from pushed.deltas
        if not step.sound:
            self._drafter_failed = True
        return reason

    def _cut(self, step: Step) -> tuple[int, FinishReason | None]:
        """How many committed tokens belong to the reply, and whether they end it."""
        for i, token in enumerate(step.committed):
            if token in self._means.end_ids:
                return i, "stop"
        return len(step.committed), None

    def _propose(self) -> Proposal | None:
        """The guesses of this round, None for a plain one."""
        self._match = 0
        session = self._session
        cap = min(self._left(), self._room(), self._means.widest) - 1
        # The first token comes soonest from one row, and what stands before it is the template's.
        if not self._drafts() or session.is_ahead or cap < 1 or not self._ids:
            return None
        if self._request.drafting.copies:
            self._copies.follow(session.tokens)
            match = self._copies.match()
            self._match = match.length if match else 0
            if match is not None and match.length >= self._copy_at():
                depth = self._guard.copy_depth(match.length, cap)
                if depth:
                    ids = self._copies.continuation(match, depth)
                    return Proposal("copy", mx.array(ids, dtype=mx.uint32))
        if self._drafter is None or self._drafter_failed:
            return None
        depth = self._guard.drafter_depth(min(cap, self._means.drafts))
        if not depth:
            return None
        context = Context(session.tokens, len(self._ids), self._request.sampling)
        return self._drafter.propose(context, depth)

    def _may_pipeline(self) -> bool:
        """Whether the round after this plain one is plain whatever this one draws."""
        if self._request.sampling.has_penalties or min(self._left(), self._room()) < 2:
            return False
        if not self._drafts() or self._means.refused:
            return True
        match = 0
        if self._request.drafting.copies:
            # A match grows by at most one token a token, and one too short to look up may be there.
            self._copies.follow(self._session.tokens)
            found = self._copies.match()
            match = found.length + 1 if found else 0
        drafter = self._drafter is not None and not self._drafter_failed
        match = match if match >= self._copy_at() else 0
        return self._guard.plain_ahead(drafter=drafter, match=match)

    def _copy_at(self) -> int:
        """Tokens that must match before a copy is made."""
        return COPY_AT_ALONE if self._drafter is None or self._drafter_failed else COPY_AT

    def _learn(self, round_: Round, step: Step) -> None:
        """Tell guard and tally what the round took and brought."""
        now = time.perf_counter()
        seconds: float | None = now - self._last
        self._last = now
        if not self._ids or self._tally.first_at == 0.0:
            self._tally.first_at = now
            self._tally.first_token_s = now - self._tally.started
            seconds = None
        if round_.mode not in self._timed:
            self._timed.add(round_.mode)
            seconds = None
        self._tally.saw(round_, seconds)
        guard = self._guard
        # What near-ties cost comes seldom and all at once: it is spread over the drafted rounds.
        guard.times.settled(step.settle_s)
        own = None if seconds is None else seconds - step.settle_s
        if round_.mode == "plain":
            guard.saw_plain(own)
        else:
            guard.saw(round_.mode, step.width - 1, step.accepted, own, self._match)

    def _switched(self) -> Iterator[DraftingState]:
        """Report a change of the drafting state since the last round."""
        guard = self._guard
        guard.always = self._insists()
        source: Source = "copy" if self._drafter is None else "drafter"
        # It is said once, not each time that both are about as fast.
        if not guard.always:
            self._kept_on = ""
        elif guard.kept_on(source) and not self._kept_on:
            self._kept_on = _cost(*self._rates(source))
        if not self._drafts():
            by = "The drafting switch of this conversation is off."
            state = DraftingState("off", by)
        elif self._means.refused:
            state = DraftingState("off", self._means.refused)
        elif self._drafter_failed:
            copies = self._request.drafting.copies
            failed = "The drafter's numbers were broken, so this answer goes on without it."
            state = DraftingState("on" if copies else "off", failed)
        elif guard.paused(source):
            reason = "Guessing is slower than plain decoding on this text."
            probe = guard.next_probe(source)
            state = DraftingState("paused", reason, *self._rates(source), probe)
        elif self._kept_on:
            state = DraftingState("on", self._kept_on, *self._rates(source))
        else:
            state = DraftingState("on", "")
        if (state.state, state.reason) != (self._state, self._reason):
            self._state, self._reason = state.state, state.reason
            yield state

    def _drafts(self) -> bool:
        if self._controls.drafting is None:
            return self._request.drafting.wish != "off"
        return self._controls.drafting

    def _insists(self) -> bool:
        if self._controls.insist is None:
            return self._request.drafting.wish == "on"
        return self._controls.insist

    def _rates(self, source: Source) -> tuple[float | None, float | None]:
        """Tokens per second with guesses and without, as measured."""
        plain = self._guard.times.plain
        return self._guard.rate(source), None if plain is None else 1.0 / plain

    def _left(self) -> int:
        return self._request.max_tokens - len(self._ids)

    def _room(self) -> int:
        """Tokens that still fit into the context, one of them always drawn past the last row."""
        return self._means.context_limit - len(self._session.tokens)

    def _as_round(self, step: Step, kept: int) -> Round:
        return Round(
            self._tally.rounds,
            step.mode,
            step.proposed,
            min(step.accepted, kept),
            step.committed[:kept],
            step.rejected_id,
            None if step.rejected_id is None else step.committed[step.accepted],
            step.gap,
            1000 * step.draft_s,
            1000 * step.verify_s,
            step.width,
            step.recheck,
        )

    def _finished(self, reason: FinishReason) -> Finished:
        stream = self._means.stream
        ids = (self._prompt, tuple(self._ids))
        summary = self._tally.finished(
            reason, ids, (stream.answer, stream.thinking), self._state, time.perf_counter()
        )
        return replace(
            summary,
            seed=self._request.sampling.seed,
            context_used=len(self._prompt) + len(self._ids),
            context_limit=self._means.context_limit,
        )


def _cost(drafted: float | None, plain: float | None) -> str:
    """What keeping drafting on costs, never rounded in its favour."""
    if drafted is None or plain is None:
        return "Kept on as you wish: plain decoding is faster on this text."
    scale = 1 if plain >= 10 else 10
    low, high = math.floor(scale * drafted) / scale, math.ceil(scale * plain) / scale
    return f"Kept on as you wish: {low:g} tokens a second, {high:g} without guesses."
