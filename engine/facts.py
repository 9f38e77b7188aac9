"""What is known of the loaded model here, as plain values for any thread."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class WidthFact:
    """One width as the gate saw it, see `exactness.Width`; `margin` is that of Guarded mode."""

    width: int
    equal: bool
    max_difference: float
    margin: float
    not_run: str = ""


@dataclass(frozen=True, slots=True)
class Facts:
    """The loaded pair, its memory, and how exact it is on this machine.

    Attributes:
        target: its folder.
        drafter: the folder that was asked for, also when it was refused.
        refused: why no drafter takes part, empty if one does or none was asked for.
        target_bytes: of its parameters.
        drafter_bytes: of its own parameters.
        conversation_bytes: of the caches of the conversation that was asked about; 0 if none are
            kept.
        active: bytes that MLX holds in arrays.
        spare: bytes that MLX keeps to use again.
        dtype: what the target computes in.
        is_measured: whether every width that rounds may have was measured.
        exact_width: rows up to which a pass is bit-equal to single steps; 1 before any measurement.
        widths: what was measured, ascending.
        fault: why drafting is refused for this target, or empty.
        note: a warning about the pair, see `events.Loaded`, or empty.
    """

    target: Path
    drafter: Path | None
    refused: str
    target_bytes: int
    drafter_bytes: int
    conversation_bytes: int
    active: int
    spare: int
    dtype: str
    is_measured: bool
    exact_width: int
    widths: tuple[WidthFact, ...]
    fault: str
    note: str = ""
