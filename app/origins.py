"""The origin of a reply, and its ids, read from JSON that may be damaged."""

from dataclasses import fields as fields_of
from typing import get_args

from app.fields import Fields
from engine.origin import Machine, Origin, Written
from engine.request import Exactness, Sampling

_EXACTNESS: tuple[Exactness, ...] = get_args(Exactness)
_FINITE = 1e30
_WHOLE = 2**32 - 1


def origin_from(fields: Fields) -> Origin:
    """What wrote a reply; whatever is missing or wrong is among the complaints of `fields`."""
    fields.need(*_names(Origin))
    machine, drafter = fields.part("machine"), fields.path("drafter")
    machine.need(*_names(Machine))
    return Origin(
        fields.text("target"),
        fields.text("target_id"),
        None if drafter is None else str(drafter),
        fields.text("drafter_id"),
        Machine(*(machine.text(name) for name in _names(Machine))),
        fields.choice("exactness", "guarded", _EXACTNESS),
        _sampling(fields.part("sampling")),
    )


def written_from(fields: Fields) -> Written:
    """A reply as ids; whatever is missing or wrong is among the complaints of `fields`."""
    fields.need(*_names(Written))
    return Written(
        origin_from(fields.part("origin")),
        fields.ids("prompt_ids"),
        fields.ids("token_ids"),
        fields.optional("end_id", 0, _WHOLE),
        fields.pairs("passes"),
    )


def _sampling(fields: Fields) -> Sampling:
    fields.need(*_names(Sampling))
    usual = Sampling()
    return Sampling(
        temperature=fields.number("temperature", usual.temperature, 0, _FINITE),
        top_p=fields.number("top_p", usual.top_p, 0, 1),
        top_k=fields.integer("top_k", usual.top_k, 0, _WHOLE),
        min_p=fields.number("min_p", usual.min_p, 0, 1),
        repetition_penalty=fields.number("repetition_penalty", 1.0, 1e-9, _FINITE),
        repetition_window=fields.integer("repetition_window", 0, 0, _WHOLE),
        presence_penalty=fields.number("presence_penalty", 0.0, -_FINITE, _FINITE),
        frequency_penalty=fields.number("frequency_penalty", 0.0, -_FINITE, _FINITE),
        seed=fields.integer("seed", usual.seed, 0, 2**64 - 1),
    )


def _names(kind: type[Machine] | type[Origin] | type[Sampling] | type[Written]) -> list[str]:
    return [field.name for field in fields_of(kind)]
