"""A reply decoded again plain: the same ids, or the first that differs.

Every pass has the rows it had when the reply was written, but for the drafts. The reply's own ids
are fed, one row a pass, and each pass is held against the id that follows it, so the passes up to a
difference are those of plain decoding, and none waits for the one before it to be read.
"""

import math
import platform
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from importlib.metadata import version

import mlx.core as mx

from engine.backend import prepare
from engine.cache import Cache
from engine.controls import Controls
from engine.events import Rechecked, RecheckProgress
from engine.origin import Machine, Written, steps
from engine.sampling import draw, finite, to_host, top_two_gap
from engine.target import Target

_INCOMPLETE = "What is kept of this answer is not enough to write it again."
_OTHER_WORDS = "This answer has tokens that the model does not know."
_TOO_LONG = "This answer is longer than what the model can read."
_FORGOTTEN = "The model's memory of the conversation cannot be built as it was."
_NOT_FINITE = "The model produced numbers that are not finite."


def machine(program: str) -> Machine:
    """What computes here; `program` is the version of Slipstream."""
    backend, device = prepare(), mx.device_info()
    chip = str(device.get("device_name") or device.get("architecture") or platform.machine())
    mac = platform.mac_ver()[0]
    return Machine(
        program,
        version("mlx"),
        version("mlx-lm"),
        f"{backend.name} {backend.blas}",
        chip,
        f"macOS {mac}" if mac else platform.system(),
    )


def refused(written: Written, reason: str) -> Rechecked:
    """The end of a check that cannot be made."""
    return Rechecked(0, len(written.token_ids), reason=reason)


def recheck(
    target: Target, written: Written, controls: Controls, text: Callable[[int], str]
) -> Iterator[RecheckProgress | Rechecked]:
    """Decode `written` again, one row a pass, up to the first difference.

    The last event is `Rechecked`; nothing follows after a stop.

    Args:
        target: the model that wrote it.
        written: the reply.
        controls: stop is read before every pass.
        text: says what one id writes.
    """
    if reason := _against(target, written):
        yield refused(written, reason)
        return
    cache = target.new_cache()
    with closing(_fed(target, cache, written, controls)) as feeding:
        for fits in feeding:
            if not fits:
                yield refused(written, _FORGOTTEN)
                return
    if not controls.stop:
        yield from _compared(target, cache, written, controls, text)


def _against(target: Target, written: Written) -> str:
    """Why the ids cannot be fed; empty if they can."""
    length = len(written.prompt_ids)
    kept = sum(rows for rows, _ in written.passes)
    if not written.token_ids or length == 0 or kept != length - 1:
        return _INCOMPLETE
    ids = (*written.prompt_ids, *written.token_ids, written.end_id or 0)
    if max(ids) >= target.vocab_size:
        return _OTHER_WORDS
    return _TOO_LONG if len(ids) - 1 > target.context_limit else ""


def _fed(
    target: Target, cache: Cache, written: Written, controls: Controls
) -> Generator[bool, None, None]:
    """Feed the prompt as it was fed, yielding whether each pass could be cut as it was."""
    at, ids = 0, written.prompt_ids
    for width, kept in steps(written.passes):
        if controls.stop:
            return
        rows = ids[at : at + width]
        at += kept
        if kept < width:
            cache.remember(at)
        # What a cut pass had behind the cut is gone; rows before it never depend on it.
        target.forward([*rows, *rows[-1:] * (width - len(rows))], cache)
        cache.settle()
        fits = kept == width or cache.can_rollback(at)
        yield fits
        if fits:
            cache.rollback(at)


def _compared(
    target: Target, cache: Cache, written: Written, controls: Controls, text: Callable[[int], str]
) -> Iterator[RecheckProgress | Rechecked]:
    total = len(written.token_ids)
    end = () if written.end_id is None else (written.end_id,)
    expected = (*written.token_ids, *end)
    tokens, first = (*written.prompt_ids, *expected), len(written.prompt_ids)
    ahead = _launched(target, cache, tokens[:first], 0, written)
    for index, token in enumerate(expected):
        if controls.stop:
            return
        now = ahead
        if index + 1 < len(expected):
            ahead = _launched(target, cache, tokens[: first + index + 1], index + 1, written)
        said, gap, sound = to_host(now)
        if not sound:
            yield refused(written, _NOT_FINITE)
            return
        if int(said) != token:
            near = gap if math.isfinite(gap) else None  # no second token was possible
            yield Rechecked(index, total, index, text(token), text(int(said)), near)
            return
        yield RecheckProgress(min(index + 1, total), total)
    yield Rechecked(total, total)


def _launched(
    target: Target, cache: Cache, history: Sequence[int], index: int, written: Written
) -> mx.array:
    """Schedule the pass that draws token `index`: (3,) float32 of id, gap and soundness."""
    rows = target.forward([history[-1]], cache)
    drawn, scores = draw(rows.logits, index, written.origin.sampling, history)
    gap = top_two_gap(scores, drawn)
    packed = mx.concatenate([drawn.astype(mx.float32), gap, finite(rows.logits)])
    mx.async_eval(packed)
    return packed
