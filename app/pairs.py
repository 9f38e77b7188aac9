"""Pairs of a model and a drafter, as chats choose them and answers remember them."""

from dataclasses import replace
from pathlib import Path

import resources
from app.conversation import Message, Pair, Settings
from app.settings import AppSettings


def pair_of(settings: Settings) -> Pair:
    """The pair that a chat with these settings uses."""
    return Pair(settings.target, settings.drafter)


def pair_that_wrote(message: Message) -> Pair | None:
    """The pair that wrote an answer; None where that was not kept."""
    origin = None if message.finished is None else message.finished.origin
    if origin is None:
        return None
    target = Path(origin.target)
    drafter = None if origin.drafter is None else Path(origin.drafter)
    return Pair(None if target == resources.path("starter") else target, drafter)


def seeded(app: AppSettings, settings: Settings) -> Settings:
    """Settings for a chat that begins with its pair: plain, if drafting is off for that."""
    if pair_of(settings) not in app.plain_pairs:
        return settings
    return replace(settings, drafting=replace(settings.drafting, wish="off"))


def switched(app: AppSettings, pair: Pair, on: bool) -> AppSettings:
    """Drafting switched for the chats that begin with a pair."""
    others = tuple(other for other in app.plain_pairs if other != pair)
    return replace(app, plain_pairs=others if on else (*others, pair))
