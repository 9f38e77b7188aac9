"""The engine: loads a model, writes replies, keeps caches between turns.

Synchronous and single-threaded: everything here runs on the thread that made the `Engine`.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import mlx.core as mx

from engine.controls import Controls
from engine.detokenizer import TextStream
from engine.errors import EngineError, RequestRefused
from engine.events import (
    Event,
    Failed,
    Finished,
    PromptProgress,
    Rechecked,
    RecheckProgress,
)
from engine.facts import Facts
from engine.guard import Guard
from engine.opening import Model, open_model
from engine.origin import Written, change
from engine.recheck import machine, recheck, refused
from engine.request import ModelChoice, Request
from engine.session import Session
from engine.sessions import Kept
from engine.tokenizer import Prompt
from engine.trust import GateMemo
from engine.writing import Means, Writing

_CHUNK = {"cpu": 512, "gpu": 2048}  # prompt rows a pass


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes that MLX holds: in use, cached for reuse, and the most so far."""

    active: int
    cache: int
    peak: int


class Engine:
    """Owns the loaded model and the caches of its conversations.

    `memo` keeps what was measured about exactness between runs; `program` is the version of
    Slipstream, for the origin of replies.
    """

    def __init__(self, memo: GateMemo | None = None, program: str = "") -> None:
        self._memo, self._program = memo, program
        self._model: Model | None = None

    @property
    def loaded(self) -> ModelChoice | None:
        """The folders of the loaded model."""
        return None if self._model is None else self._model.choice

    @property
    def model(self) -> Model | None:
        """The loaded model, for measurements."""
        return self._model

    def load(self, choice: ModelChoice, controls: Controls) -> Iterator[Event]:
        """Load a model; the one before stays until the new one is ready.

        The last event is `Loaded`, or `Failed` with the reason; nothing follows after a stop.
        """
        try:
            yield from self._load(choice, controls)
        except EngineError as error:
            yield _failed(error)

    def reply(self, request: Request, controls: Controls) -> Iterator[Event]:
        """Write one reply, loading its model first when another one or none is loaded.

        The last event is `Finished` or `Failed`.
        """
        try:
            yield from self._reply(request, controls)
        except EngineError as error:
            yield _failed(error)

    def recheck(
        self, written: Written, choice: ModelChoice, controls: Controls
    ) -> Iterator[RecheckProgress | Rechecked]:
        """Decode a reply again plain, loading `choice` first when another target is loaded.

        The last event is `Rechecked`; nothing follows after a stop. What is kept between turns is
        not touched.
        """
        try:
            yield from self._recheck(written, choice, controls)
        except EngineError as error:
            yield refused(written, error.message)
        finally:
            mx.clear_cache()

    def unload(self) -> None:
        """Let go of the model and every cache; once more when its cycles are collected."""
        self._leave()
        mx.clear_cache()

    def close(self) -> None:
        """Let go of everything, the streams of this thread too; nothing is asked afterwards.

        A thread that imported mlx_lm and ends with its streams aborts the process at its exit
        (seen with mlx 0.32.4).
        """
        self._leave()
        mx.clear_cache()
        mx.clear_streams()

    def forget(self, conversation: str) -> None:
        """Drop the caches of one conversation."""
        if self._model is not None:
            self._model.sessions.forget(conversation)

    def facts(self, conversation: str) -> Facts | None:
        """What is known of the loaded model and the memory of a conversation; None without one."""
        return None if self._model is None else self._model.facts(conversation)

    def measure(self, controls: Controls) -> None:
        """Measure what is missing of the loaded model's exactness, and remember it.

        After a stop nothing of it is known.
        """
        if self._model is not None:
            self._model.trust.measure(stop=_stop(controls))

    def memory(self) -> Memory:
        """What MLX holds now."""
        return Memory(mx.get_active_memory(), mx.get_cache_memory(), mx.get_peak_memory())

    def _leave(self) -> None:
        if self._model is not None:
            self._model.tokenizer.close()
        self._model = None

    def _load(self, choice: ModelChoice, controls: Controls) -> Iterator[Event]:
        model = yield from open_model(choice, controls, self._memo)
        if model is None:
            return
        self._leave()
        self._model = model
        mx.clear_cache()
        yield model.report

    def _reply(self, request: Request, controls: Controls) -> Iterator[Event]:
        started = time.perf_counter()
        if self._model is None or self._model.choice != request.model:
            yield from self._load(request.model, controls)
        model = self._model
        if model is None or model.choice != request.model:
            yield _nothing_written((), request, 0, started)
            return
        prompt = model.tokenizer.prompt(
            request.turns,
            continue_last=request.continue_last,
            thinking=request.thinking,
            plain_text=request.plain_text,
        )
        _check_room(len(prompt.ids), model.target.context_limit)
        kept = model.sessions.take(request.conversation)
        if kept is None:
            drafter = None if model.drafter is None else model.drafter.start()
            kept = Kept(Session(model.target), Guard(model.sessions.times), drafter)
        yield from self._write(request, controls, kept, prompt, started)

    def _write(
        self, request: Request, controls: Controls, kept: Kept, prompt: Prompt, started: float
    ) -> Iterator[Event]:
        model = self._model
        assert model is not None
        session = kept.session
        reused = kept.resume(prompt.ids)
        session.cache.remember(min(prompt.stable, len(prompt.ids) - 1))
        chunk = _CHUNK["cpu" if mx.default_device() == mx.Device(mx.cpu) else "gpu"]
        total = len(prompt.ids)
        yield PromptProgress(reused, total, reused, prompt.notes)
        while len(session.tokens) < total - 1:
            if controls.stop:
                model.sessions.put(request.conversation, kept)
                yield _nothing_written(prompt.ids, request, model.target.context_limit, started)
                return
            ids = prompt.ids[len(session.tokens) : min(len(session.tokens) + chunk, total - 1)]
            kept.feed(ids)
            yield PromptProgress(len(session.tokens), total, reused)
        passes = session.passes
        stop = _stop(controls)
        session.begin(prompt.ids[-1], request.sampling, stop)
        read = time.perf_counter()
        mode = request.drafting.exactness
        most = min(request.drafting.max_drafts, model.drafter.most if model.drafter else 0)
        refused = model.refusal(request.drafting, 1 + most, stop)
        stream = TextStream(
            model.tokenizer,
            request.stop,
            opens_thinking=prompt.opens_thinking,
            prefix_ids=prompt.ids[-8:] if request.continue_last else (),
        )
        means = Means(
            kept,
            stream,
            model.tokenizer.end_ids,
            model.target.context_limit,
            lambda width: model.trust.margin(mode, width, stop),
            1 if refused else model.trust.widest(mode, 1 + most),
            most,
            refused,
        )
        for event in Writing(request, controls, means, started).events():
            if isinstance(event, Finished):
                model.sessions.put(request.conversation, kept)
                traced = replace(event, passes=passes, origin=model.origin(request, self._program))
                yield replace(_ended(traced, session), reused=reused, prompt_s=read - started)
            else:
                yield event

    def _recheck(
        self, written: Written, choice: ModelChoice, controls: Controls
    ) -> Iterator[RecheckProgress | Rechecked]:
        if reason := change(written.origin.machine, machine(self._program)):
            yield refused(written, reason)
            return
        if self._model is None or self._model.choice.target != choice.target:
            for _ in self._load(choice, controls):
                yield RecheckProgress(0, len(written.token_ids))
        model = self._model
        if model is None or model.choice.target != choice.target:
            return  # stopped
        if model.identity != written.origin.target_id:
            yield refused(written, "The model file changed since this was written.")
            return
        yield from recheck(
            model.target, written, controls, lambda id_: model.tokenizer.decode([id_])
        )


def _stop(controls: Controls) -> Callable[[], bool]:
    return lambda: controls.stop


def _ended(finished: Finished, session: Session) -> Finished:
    """`finished` with the end token that a session holds after the reply, if it holds one."""
    rest = session.tokens[len(finished.prompt_ids) + len(finished.token_ids) :]
    return replace(finished, end_id=rest[0]) if rest else finished


def _check_room(prompt: int, limit: int) -> None:
    if prompt >= limit:
        raise RequestRefused(
            "context_full",
            f"This conversation is longer than the model can read: {prompt:,} of {limit:,} tokens.",
            safe="Nothing of it is lost.",
            action="Start a new conversation, or shorten this one.",
        )


def _nothing_written(
    ids: tuple[int, ...], request: Request, limit: int, started: float
) -> Finished:
    return Finished(
        "cancelled", ids, (), "", 0, 0, 0, None,
        "off" if request.drafting.wish == "off" else "on",
        wall_s=time.perf_counter() - started, seed=request.sampling.seed,
        context_used=len(ids), context_limit=limit,
    )  # fmt: skip


def _failed(error: EngineError) -> Failed:
    return Failed(error.code, error.message, error.safe, error.action)
