"""From what is on disk to what the engine is asked, and from a message to a title."""

import re
from collections.abc import Sequence
from dataclasses import replace

import resources
from app.conversation import Message, Settings
from engine.request import ModelChoice, Request, Turn

TITLE_LENGTH = 60
_MARKUP = (
    (re.compile(r"!?\[([^\]]*)\]\([^)]*\)"), r"\1"),  # links and images: their words
    (re.compile(r"</?[A-Za-z][^<>]*>"), ""),
    (re.compile(r"^\s*(?:[>#*+-]+\s+|\d+[.)]\s+)+"), ""),
    (re.compile(r"[`*~]+|(?<!\w)_+|_+(?!\w)"), ""),
    (re.compile(r"\s+"), " "),
)


def title_of(text: str) -> str:
    """The first line of `text` that has words, without markup, at most 60 characters."""
    for line in text.splitlines():
        plain = line
        for pattern, words in _MARKUP:
            plain = pattern.sub(words, plain)
        plain = plain.strip()
        if any(letter.isalnum() for letter in plain):
            return _short(plain)
    return _short(" ".join(text.split()))


def sound(text: str) -> str:
    """`text` as Unicode that can be stored: halves of surrogate pairs are joined or replaced."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def model_of(settings: Settings) -> ModelChoice:
    """The folders of a conversation's model, its own or the starter's, and how it drafts."""
    target = settings.target or resources.path("starter")
    if settings.drafter is None:
        return ModelChoice(target)
    return ModelChoice(target, settings.drafter, settings.drafter_options)


def request_for(settings: Settings, path: Sequence[Message], *, goes_on: bool) -> Request:
    """The request for the reply at the end of `path`; with `goes_on`, for the rest of it.

    Replies without words and damaged messages are left out. Each alternative of a reply has a seed
    of its own, so that answering again gives another answer, and the same one on another day.
    """
    said = path if goes_on else path[:-1]
    turns = [Turn(m.role, m.text) for m in said if m.text and m.state != "damaged"]
    if settings.system.strip():
        turns.insert(0, Turn("system", settings.system))
    seed = (settings.sampling.seed + path[-1].position - 1) % 2**64
    return Request(
        model=model_of(settings),
        turns=tuple(turns),
        conversation=str(path[-1].conversation),
        continue_last=goes_on,
        sampling=replace(settings.sampling, seed=seed),
        drafting=settings.drafting,
        max_tokens=settings.max_tokens,
        stop=settings.stop,
        thinking=settings.thinking,
        plain_text=settings.plain_text,
    )


def _short(text: str) -> str:
    if len(text) <= TITLE_LENGTH:
        return text
    cut = text[: TITLE_LENGTH - 1]
    words = cut.rsplit(" ", 1)[0] if " " in cut[TITLE_LENGTH // 2 :] else cut
    return words.rstrip(" ,;:.-") + "…"
