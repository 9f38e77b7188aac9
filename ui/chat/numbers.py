"""All numbers of an answer, each with what it means."""

from dataclasses import dataclass

from engine.events import Finished
from ui.chat.strip_text import down, up
from ui.wording import tr


@dataclass(frozen=True, slots=True)
class Number:
    """A name, a value, and one sentence about it."""

    name: str
    value: str
    meaning: str


def of_answer(finished: Finished) -> list[Number]:
    """The numbers of a finished answer; what was not measured is left out."""
    return [number for number in (*_of_text(finished), *_of_drafting(finished)) if number.value]


def _of_text(finished: Finished) -> list[Number]:
    prompt, reused = len(finished.prompt_ids), finished.reused
    rate = finished.tokens_per_s
    return [
        Number(
            tr("Speed"),
            tr("{rate} tok/s", rate=down(rate)) if rate else "",
            tr("Tokens per second of wall time, after the first one."),
        ),
        Number(
            tr("First word"),
            tr("{seconds} s", seconds=up(finished.first_token_s, 2)) if prompt else "",
            tr("From the start of the answer to its first token."),
        ),
        Number(
            tr("Written"),
            tr(
                "{count:,} tokens in {seconds} s",
                count=len(finished.token_ids),
                seconds=up(finished.wall_s),
            ),
            tr("Thinking included."),
        ),
        Number(
            tr("Read"),
            tr("{count:,} tokens, {reused:,} of them kept", count=prompt, reused=reused)
            if prompt
            else "",
            tr("The chat so far; what was kept from the turn before is not read again."),
        ),
        Number(
            tr("Context"),
            tr("{used:,} of {limit:,}", used=finished.context_used, limit=finished.context_limit)
            if finished.context_limit
            else "",
            tr("Tokens of this chat, of those that the model can read."),
        ),
        Number(tr("Seed"), str(finished.seed), tr("The same seed draws the same answer.")),
    ]


def _of_drafting(finished: Finished) -> list[Number]:
    proposed, steps = finished.proposed, finished.plain_steps
    return [
        Number(
            tr("Guesses accepted"),
            tr("{right:,} of {all:,}", right=finished.accepted, all=proposed) if proposed else "",
            tr("The model checks every guess and keeps those it would have written."),
        ),
        Number(
            tr("By position"),
            "  ".join(
                f"{right}/{seen}"
                for right, seen in zip(finished.accepted_at, finished.proposed_at, strict=False)
            ),
            tr("Accepted of proposed, for the first guess of a round, the second, and so on."),
        ),
        Number(
            tr("Copied"),
            tr("{count:,} tokens", count=finished.copied_tokens) if finished.copied_tokens else "",
            tr("Guesses found in the chat itself, and accepted."),
        ),
        Number(
            tr("Plain step"),
            tr("{ms} ms, over {count}", ms=down(finished.plain_ms), count=steps)
            if finished.plain_ms and steps
            else "",
            tr("One token without guesses, timed during this answer."),
        ),
        Number(
            tr("Near-ties"),
            tr("{count:,} checked again", count=finished.rechecks) if finished.rechecks else "",
            tr("Where two words scored almost the same, the model decided alone."),
        ),
        Number(
            tr("Rounds"),
            tr("{count:,}", count=finished.rounds) if finished.rounds else "",
            tr("A round is one pass of the model: a guess and its check, or a plain step."),
        ),
    ]
