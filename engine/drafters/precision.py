"""Whether a Laguna drafter was matched to the precision of its target, by the names of both.

All four drafters of a Laguna model are bfloat16 with the same shapes; only the name says which
target each belongs to. The plain one accepted none of 8,449 guesses on the INT4 target, whose
streams are rotated, and the one for INT4 did at once (field report on Laguna-S-2.1).
"""

import re
from pathlib import Path

_TAG = re.compile(r"(?<![a-z0-9])(nvfp4|mxfp4|fp8|int8|int4)(?![a-z0-9])", re.IGNORECASE)


def note(target: Path, drafter: Path) -> str:
    """A warning where the folders name different precisions, else nothing."""
    found, wanted = _tag(drafter), _tag(target)
    if found == wanted:
        return ""
    return (
        f"The model's name says {wanted or 'no precision'}, its drafter's {found or 'none'}. Every "
        "word stays right, but few guesses may be: use the drafter whose name ends as the model's."
    )


def _tag(folder: Path) -> str:
    """The precision in a folder's name; in a hub's cache the name stands two levels up."""
    in_cache = folder.parent.name == "snapshots"
    found = _TAG.search(folder.parent.parent.name if in_cache else folder.name)
    return found[1].upper() if found else ""
