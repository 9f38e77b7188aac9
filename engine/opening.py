"""From the folders of a target and a drafter to a model that is ready to write."""

from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import mlx.core as mx

from engine import drafters, loading
from engine.controls import Controls
from engine.drafters import precision
from engine.errors import DrafterRefused
from engine.events import Loaded, LoadProgress
from engine.exactness import Gate, Width
from engine.facts import Facts, WidthFact
from engine.loading import LoadedModel
from engine.origin import Origin
from engine.proposers import DrafterModel
from engine.recheck import machine
from engine.request import Drafting, ModelChoice, Request
from engine.sessions import Sessions
from engine.target import Target
from engine.tokenizer import Tokenizer
from engine.trust import GateMemo, Trust

_BUDGET = 2 << 30  # bytes of caches kept between turns


@dataclass(frozen=True, slots=True)
class Model:
    """A loaded model and what belongs to it."""

    choice: ModelChoice
    target: Target
    drafter: DrafterModel | None
    tokenizer: Tokenizer
    sessions: Sessions
    report: Loaded
    identity: str
    drafter_identity: str
    trust: Trust

    def origin(self, request: Request, program: str) -> Origin:
        """What a reply to `request` is written with."""
        folder = self.choice.drafter if self.drafter is not None else None
        return Origin(
            str(self.choice.target),
            self.identity,
            None if folder is None else str(folder),
            self.drafter_identity,
            machine(program),
            request.drafting.exactness,
            request.sampling,
        )

    def refusal(self, drafting: Drafting, rows: int, stop: Callable[[], bool]) -> str:
        """Why nothing is drafted as it is asked for, empty if something may be.

        Measures first where the mode has to wait for that, passes of so many `rows` included;
        `stop` interrupts it.
        """
        reason, mode = self.target.plain_only_reason, drafting.exactness
        if not reason and drafting.wish != "off" and self.trust.is_wanted(mode, rows):
            self.trust.measure(rows, stop)
        return reason or self.trust.refusal(mode)

    def facts(self, conversation: str) -> Facts:
        """What is known of it and of the memory of one conversation; nothing is measured."""
        report, gate = self.report, self.trust.gate
        return Facts(
            self.choice.target,
            self.choice.drafter,
            report.drafting_refused,
            report.target_bytes,
            report.drafter_bytes,
            self.sessions.bytes_of(conversation),
            mx.get_active_memory(),
            mx.get_cache_memory(),
            str(self.target.dtype).removeprefix("mlx.core."),
            self.trust.is_measured,
            1 if gate is None else gate.exact_width,
            () if gate is None else tuple(_fact(seen, gate) for seen in gate.widths),
            self.trust.fault,
            report.note,
        )


def open_model(
    choice: ModelChoice, controls: Controls, memo: GateMemo | None
) -> Generator[LoadProgress, None, Model | None]:
    """Load a model and its drafter; None after a stop, and then no memory is held.

    Raises:
        EngineError: the target cannot be used. A drafter that is refused only means no drafts.
    """
    loaded = yield from _read(choice.target, controls)
    if loaded is None:
        return None
    tokenizer = Tokenizer.open(choice.target, loaded.config)
    if choice.drafter is not None:
        yield LoadProgress("drafter", 0, 1)
    target, drafter, refused = _paired(loaded, choice)
    trust = Trust.of(target, loaded.identity, memo)
    report = Loaded(
        choice.target.name,
        None if drafter is None else drafter.name,
        loaded.bytes,
        0 if drafter is None else drafter.nbytes,
        target.context_limit,
        refused or target.plain_only_reason or trust.fault,
        _note(choice, target, drafter),
    )
    return Model(
        choice,
        target,
        drafter,
        tokenizer,
        Sessions(_BUDGET),
        report,
        loaded.identity,
        drafters.identity(choice.drafter) if drafter and choice.drafter else "",
        trust,
    )


def _note(choice: ModelChoice, target: Target, drafter: DrafterModel | None) -> str:
    """What should be known of a pair that was opened."""
    if drafter is None or choice.drafter is None or target.family != "laguna":
        return ""
    return precision.note(choice.target, choice.drafter)


def _fact(seen: Width, gate: Gate) -> WidthFact:
    margin = gate.margin(seen.width)
    return WidthFact(seen.width, seen.equal, seen.max_difference, margin, seen.not_run)


def _read(folder: Path, controls: Controls) -> Generator[LoadProgress, None, LoadedModel | None]:
    """Read a model's weights; None if it was stopped, and then no memory is held."""
    with closing(loading.load(folder)) as steps:
        while not controls.stop:
            try:
                step = next(steps)
            except StopIteration as end:
                return end.value
            yield LoadProgress("target", step.done, step.total)
    return None


def _paired(loaded: LoadedModel, choice: ModelChoice) -> tuple[Target, DrafterModel | None, str]:
    """The target with the taps that its drafter wants, the drafter, and why there is none.

    A drafter that is refused costs the drafts, never the chat.
    """
    folder = choice.drafter
    if folder is None:
        return Target(loaded.model, loaded.config), None, ""
    try:
        target = Target(loaded.model, loaded.config, drafters.taps(folder))
        return target, drafters.open_drafter(folder, target, choice.options), ""
    except DrafterRefused as error:
        reason = " ".join(part for part in (error.message, error.action) if part)
        return Target(loaded.model, loaded.config), None, reason
