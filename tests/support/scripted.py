"""An engine that plays a script: no model, no MLX, a chosen pace."""

import threading
import time
from collections.abc import Iterator

from engine.controls import Controls
from engine.errors import ModelRefused
from engine.events import (
    DraftingState,
    Event,
    Failed,
    Finished,
    Loaded,
    LoadProgress,
    PromptProgress,
    Round,
    TextDelta,
)
from engine.request import ModelChoice, Request

FIRST_ID = 100


class SlowEngine:
    """One token per `ms` milliseconds, `tokens` of them; token n writes the text `words(n)`.

    While drafting is on, rounds commit two tokens and one in turn (a copied token that was right,
    then one that was wrong); otherwise one. `load_ms` and `prompt_ms` are the pace of four steps of
    loading and of reading the prompt. `fail_at` ends the reply with `Failed` after that many tokens
    and `crash_at` raises RuntimeError there; `refuse` raises ModelRefused before anything.
    `started`, when given, is set as soon as a reply begins; `gate`, when given, is waited for
    before the first token.
    """

    model = None  # nothing can be measured on it

    def __init__(
        self,
        ms: float = 0.0,
        tokens: int = 10,
        *,
        load_ms: float = 0.0,
        prompt_ms: float = 0.0,
        fail_at: int | None = None,
        crash_at: int | None = None,
        refuse: bool = False,
        thinking: int = 0,
        gate: threading.Event | None = None,
        started: threading.Event | None = None,
    ) -> None:
        self.ms, self.tokens = ms, tokens
        self.load_ms, self.prompt_ms = load_ms, prompt_ms
        self.fail_at, self.crash_at, self.refuse = fail_at, crash_at, refuse
        self.thinking = thinking  # so many first tokens are thinking
        self.gate, self.started = gate, started
        self.loaded: ModelChoice | None = None
        self.requests: list[Request] = []
        self.forgotten: list[str] = []
        self.unloads = 0
        self.closed_on: threading.Thread | None = None
        self.notes: tuple[str, ...] = ()  # what the chat format made of the conversation
        self.stays_deaf = False  # to Stop, while it decodes

    def load(self, choice: ModelChoice, controls: Controls) -> Iterator[Event]:
        if self.refuse:
            raise ModelRefused(
                "no_weights", "There are no weights.", safe="All is saved.", action="Choose another"
            )
        for quarter in range(1, 5):
            time.sleep(self.load_ms / 1000)
            if controls.stop:
                return
            yield LoadProgress("target", 25 * quarter, 100)
        self.loaded = choice
        yield Loaded("scripted", None, 100, 0, 8192)

    def unload(self) -> None:
        self.loaded = None
        self.unloads += 1

    def forget(self, conversation: str) -> None:
        self.forgotten.append(conversation)

    def close(self) -> None:
        self.closed_on = threading.current_thread()

    def reply(self, request: Request, controls: Controls) -> Iterator[Event]:
        self.requests.append(request)
        if self.started is not None:
            self.started.set()
        if self.loaded != request.model:
            yield from self.load(request.model, controls)
        for quarter in range(1, 5):
            time.sleep(self.prompt_ms / 1000)
            if controls.stop:
                break
            yield PromptProgress(10 * quarter, 40, 0, self.notes if quarter == 1 else ())
        if self.gate is not None:
            self.gate.wait()
        yield from self._decode(request, controls)

    def _decode(self, request: Request, controls: Controls) -> Iterator[Event]:
        was_on: bool | None = None
        rounds: list[Round] = []
        written = 0
        while written < self.tokens and (self.stays_deaf or not controls.stop):
            on = request.drafting.wish != "off" if controls.drafting is None else controls.drafting
            if on != was_on:
                if was_on is not None or not on:
                    yield DraftingState("on" if on else "off", "A person switched it.")
                was_on = on
            round_ = self._round(len(rounds), written, on)
            rounds.append(round_)
            time.sleep(self.ms * len(round_.committed_ids) / 1000)
            if self.crash_at is not None and written >= self.crash_at:
                raise RuntimeError("The script crashes here.")
            if self.fail_at is not None and written >= self.fail_at:
                yield Failed(
                    "script",
                    "The script fails here.",
                    "Everything up to here is saved.",
                    "Continue",
                )
                return
            yield round_
            for n in range(written, written + len(round_.committed_ids)):
                yield TextDelta("thinking" if n < self.thinking else "answer", words(n), n, n)
            written += len(round_.committed_ids)
        yield self._finished(controls, rounds, written)

    def _round(self, index: int, written: int, on: bool) -> Round:
        first = FIRST_ID + written
        if not on:
            return Round(index, "plain", (), 0, (first,), None, None, None, 0.0, self.ms, 1)
        if index % 2 == 0 and written + 2 <= self.tokens:
            return Round(
                index, "copy", (first,), 1, (first, first + 1), None, None, 1.25, 0.5, self.ms, 2
            )
        return Round(index, "copy", (7,), 0, (first,), 7, first, 0.75, 0.5, self.ms, 2)

    def _finished(self, controls: Controls, rounds: list[Round], written: int) -> Finished:
        return Finished(
            reason="cancelled" if controls.stop else "stop",
            prompt_ids=tuple(range(40)),
            token_ids=tuple(range(FIRST_ID, FIRST_ID + written)),
            text="".join(words(n) for n in range(self.thinking, written)),
            rounds=len(rounds),
            proposed=sum(len(r.proposed_ids) for r in rounds),
            accepted=sum(r.accepted for r in rounds),
            tokens_per_s=1000 / self.ms if self.ms else None,
            drafting="on",
            thinking="".join(words(n) for n in range(min(self.thinking, written))),
        )


def words(n: int) -> str:
    """The text that token `n` of every scripted reply writes."""
    return f"word{n} "
