"""What the settings of a chat say of the chosen folders: what they are, the licence, what fits."""

from app.catalogue import Found, Licence, Pair
from ui.wording import tr

SIZES = "Its sizes are those of {name}."
LICENCE, LICENCE_STATED = "Licence: {name}.", "Licence, as the folder says: {name}."
SAME_LICENCE = "Licence: {name}, like the model’s."
SEE_PAGE = "Licence: see the model’s page."
GOES_WITH = "A drafter for it: {repository}."
GAIN = "Others measured {low:.1f} to {high:.1f} times the plain speed ({on}); not measured here."
NO_GAIN = "Others report little or no gain from drafting for mixtures of experts."
BELONGS = "It was made for {repository}, not for the model above."
IS_DRAFTER = "This is a drafter: choose it below, and its model here."
IS_DRAFTER_OF = "This is a drafter: choose it below, and its model {repository} here."
NO_DRAFTER = "This is a model that chats, and no drafter."
MEMORY = "Memory that others saw in use: {gigabytes:g} GB, with {of} ({source})."
SOURCE = "Known from: {source}."


def target_note(target: Found | None, *, has_drafter: bool) -> str:
    """What to know of the folder chosen as the model; empty where there is none."""
    if target is None:
        return ""
    pair = target.pair
    if target.is_drafter:
        if pair is None:
            return tr(IS_DRAFTER)
        return tr(IS_DRAFTER_OF, repository=pair.target.repositories[0])
    said = " ".join(_known(target, None))
    if pair is None or not pair.drafters or has_drafter:
        return said
    names = [drafter.repositories[0] for drafter in pair.drafters]
    fits = [tr(GOES_WITH, repository=tr(" or ").join(names)), *_gain(pair)]
    return f"{said}\n{' '.join(fits)}"


def drafter_note(drafter: Found | None, target: Found | None) -> str:
    """What to know of the folder chosen as the drafter, beside the one of the model."""
    if drafter is None:
        return ""
    if not drafter.is_drafter:
        return tr(NO_DRAFTER)
    pair = drafter.pair
    said = " ".join(_known(drafter, None if target is None else target.licence))
    if pair is None or (target is not None and not target.is_drafter and target.pair is pair):
        return said
    return f"{tr(BELONGS, repository=pair.target.repositories[0])}\n{said}"


def hint(found: Found | None) -> str:
    """For the pointer: what others saw it take, and where all this is known from."""
    if found is None or found.pair is None or found.half is None:
        return ""
    memory = found.pair.memory
    said = [] if memory is None else [
        tr(MEMORY, gigabytes=memory.gigabytes, of=memory.of, source=memory.source)
    ]  # fmt: skip
    return "\n".join([*said, tr(SOURCE, source=found.half.source)])


def licence_name(licence: Licence | None) -> str:
    """The name of a licence where there is room for no more."""
    return tr("see its page") if licence is None else licence.name


def _known(found: Found, told: Licence | None) -> list[str]:
    """Of which model the folder is, and the licence with what it asks, if that was not told."""
    said = [] if found.half is None else [tr(SIZES, name=found.half.repositories[0].split("/")[1])]
    licence = found.licence
    if licence is None:
        return [*said, tr(SEE_PAGE)]
    if licence == told:
        return [*said, tr(SAME_LICENCE, name=licence.name)]
    said.append(tr(LICENCE if found.stated is None else LICENCE_STATED, name=licence.name))
    return [*said, licence.terms] if licence.terms else said


def _gain(pair: Pair) -> list[str]:
    """What others measured; of mixtures without a figure, what is said of all."""
    gain = pair.gain
    if gain is not None:
        return [tr(GAIN, low=gain.low, high=gain.high, on=gain.on)]
    return [tr(NO_GAIN)] if pair.mixture else []
