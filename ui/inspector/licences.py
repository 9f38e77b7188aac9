"""Which licences the model and the drafter of a chat have, as lines of the inspector."""

from app.catalogue import Found
from ui.chat.pair_text import licence_name
from ui.inspector.texts import NONE_YET, Line
from ui.wording import tr

_ROOM = 22  # letters of a name; the settings of the chat show all of it


def licences(target: Found | None, drafter: Found | None) -> list[Line]:
    """The two lines; what a licence asks and where it was read is for the pointer.

    What the pointer sees is ours alone: Qt takes such a text for markup if it looks like it.
    """
    return [
        _line(tr("Model’s licence"), target),
        _line(tr("Drafter’s licence"), drafter),
    ]


def _line(name: str, found: Found | None) -> Line:
    if found is None:
        return Line(name, NONE_YET)
    licence = found.licence
    if licence is None:
        return Line(name, licence_name(None), tr("No licence is known here."))
    read = tr("As the folder says.") if found.stated else tr("As published, by the folder’s sizes.")
    known = licence_name(licence)
    short = known if len(known) <= _ROOM else f"{known[: _ROOM - 1].rstrip()}…"
    return Line(name, short, " ".join(filter(None, (licence.terms, read))))
