"""One text being written: its tokens, the target's cache and the proposers, always in step."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import mlx.core as mx

from engine.errors import BadNumbers
from engine.near_ties import draw_with_gaps, reach
from engine.origin import Pass, grown, shortened
from engine.proposers import Proposal
from engine.request import Sampling
from engine.sampling import finite, to_host
from engine.step import Step, stopped
from engine.target import Rows, Target

# Rows of a reply that may be written anew for near-ties at 16 bits, where these are frequent: then
# it would cost as much as plain decoding. In float32 one in thousands of tokens is a near-tie.
_SETTLED_FULLY = 128


@dataclass(frozen=True, slots=True)
class _Ahead:
    """A one-row pass whose draw has not been read: packed (3,) float32 of id, soundness and gap.

    Where the gap does not matter it is left out.
    """

    packed: mx.array
    ids: mx.array  # (1,)
    taps: mx.array | None


class Session:
    """Writes one reply at the end of `tokens`.

    Between rounds the last token is pending, that is known but not yet fed: the cache holds one row
    less than there are tokens, or exactly as many while a plain round has been launched ahead.

    Rows that a pass of several rows has written are rounded otherwise than those of plain decoding.
    `_wide` is where the reply's first such row stands. A near-tie is settled on a cache in which
    they have been written anew, one by one, so what is drawn there is what plain decoding draws.
    """

    def __init__(self, target: Target) -> None:
        self._target = target
        self.cache = target.new_cache()
        self.tokens: list[int] = []
        self.passes: tuple[Pass, ...] = ()  # of the rows before the reply, see `origin.Written`
        self._reply_at = 0
        self._sampling = Sampling()
        self._ahead: _Ahead | None = None
        self._wide: int | None = None
        self._margin = 0.0  # the largest with which those rows were judged
        self._settled = 0  # rows written anew in this reply
        self._stop: Callable[[], bool] | None = None

    def resume(self, prompt: Sequence[int]) -> int:
        """Keep what text and cache share with `prompt`, its last token excepted.

        Returns:
            How many rows are in the cache now; nothing is pending.
        """
        self._ahead = None
        common = min(_common_prefix(prompt[:-1], self.tokens), self.cache.length)
        common = self.cache.reachable(common)
        if not self.cache.can_rollback(common):
            self.cache, common = self._target.new_cache(), 0
        self.cache.rollback(common)
        self.passes = shortened(self.passes, common)
        del self.tokens[common:]
        return common

    def begin(
        self, pending: int, sampling: Sampling, stop: Callable[[], bool] | None = None
    ) -> None:
        """Start a reply after the tokens fed so far and `pending`, the prompt's last.

        `stop` is asked between rows that are written anew.
        """
        assert self.cache.length == len(self.tokens), (self.cache.length, len(self.tokens))
        self.tokens.append(pending)
        self._reply_at, self._sampling, self._stop = len(self.tokens), sampling, stop
        self._wide, self._margin, self._settled = None, 0.0, 0
        self.cache.remember(self.cache.length)

    @property
    def drawn(self) -> int:
        """Tokens of the reply so far."""
        return len(self.tokens) - self._reply_at

    def rewind(self, length: int) -> None:
        """Keep the first `length` tokens; the last of them becomes pending."""
        self._ahead = None
        del self.tokens[length:]
        self.cache.rollback(min(self.cache.length, max(0, length - 1)))
        if self._wide is not None and self.cache.length <= self._wide:
            self._wide, self._margin = None, 0.0

    def feed(self, ids: Sequence[int]) -> Rows:
        """Append known tokens to text and cache; used for the prompt."""
        rows = self._target.forward(ids, self.cache)
        self.cache.settle()
        self.passes = grown(self.passes, len(ids), len(ids))
        self.tokens.extend(ids)
        return rows

    def plain(self, *, pipeline: bool) -> Step:
        """Commit one token by a one-row pass.

        With `pipeline` the next pass is built on the unread draw and scheduled before this one is
        read, so that the device does not wait for Python; source: mlx-lm's generate_step.
        """
        begun = time.perf_counter()
        pending = self.tokens[-1]
        ahead = self._ahead or self._launch([pending], self.drawn)
        self._ahead = None
        if pipeline:
            self._ahead = self._launch(ahead.ids, self.drawn + 1)
        number, sound, *gaps = to_host(ahead.packed)
        recheck, settle_s = bool(gaps) and self._is_near(gaps[0], self._margin), 0.0
        if recheck:
            self._ahead = None
            ahead, settle_s = self._settle_row(len(self.tokens) - 1, ())
            if ahead is None:
                return stopped("plain", begun)
            number, sound, *_ = to_host(ahead.packed)
        if not sound:
            self._refuse_numbers()
        said = int(number)
        self.tokens.append(said)
        return Step(
            "plain", (), 0, (said,), gaps[0] if gaps else None, 0.0, time.perf_counter() - begun, 1,
            recheck, settle_s, fed=(pending,), taps=ahead.taps,
        )  # fmt: skip

    @property
    def is_ahead(self) -> bool:
        """Whether the next plain round is under way already."""
        return self._ahead is not None

    def drafted(self, proposal: Proposal, draft_s: float, margin: float) -> Step:  # long: one round
        """Check a proposal in one pass and commit what the target would have said.

        A row whose draw could be another one were two logits closer by `margin` is not trusted,
        because a pass of many rows may round otherwise than a pass of one: the block is cut there
        and that token is taken from a one-row pass. Margin 0 trusts every row.
        """
        begun = time.perf_counter()
        assert self._ahead is None
        start, pending = self.cache.length, self.tokens[-1]
        k = proposal.ids.shape[0]
        fed = mx.concatenate([mx.array([pending], dtype=mx.uint32), proposal.ids])
        rows = self._target.forward(fed, self.cache)
        # Penalties look at the drafts themselves: the one case of a second read in a round.
        known = [int(i) for i in to_host(proposal.ids.astype(mx.float32))] if (
            self._sampling.has_penalties
        ) else []  # fmt: skip
        margin = max(margin, self._margin)
        history = [*self.tokens, *known]
        drawn, gap = draw_with_gaps(rows.logits, self.drawn, self._sampling, history, margin)
        flags = [] if proposal.sound is None else [proposal.sound.reshape(1)]
        read = to_host(
            mx.concatenate(
                [
                    proposal.ids.astype(mx.float32),
                    drawn.astype(mx.float32),
                    gap,
                    finite(rows.logits),
                    *flags,
                ]
            )
        )
        proposed = tuple(int(i) for i in read[:k])
        said = [int(i) for i in read[k : 2 * k + 1]]
        gaps, sound = read[2 * k + 1 : 3 * k + 2], read[3 * k + 2 : 4 * k + 3]
        usable = not flags or bool(read[-1])
        accepted = _common_prefix(proposed, said) if usable else 0
        near = (i for i in range(accepted + 1) if self._is_near(gaps[i], margin))
        doubtful = next(near, None)
        recheck = doubtful is not None
        if doubtful is not None:
            accepted = doubtful
        if not all(sound[: accepted + 1]):
            self._refuse_numbers()
        taps = None if rows.taps is None else rows.taps[: accepted + 1]
        settle_s = 0.0
        if margin and self._wide is None:
            self._wide = start
        self._margin = margin
        if recheck:
            single, settle_s = self._settle_row(start + accepted, proposed[:accepted])
            if single is None:
                return stopped(proposal.mode, begun)
            number, fine, *_ = to_host(single.packed)
            if not fine:
                self._refuse_numbers()
            said[accepted] = int(number)
            if taps is not None and single.taps is not None:
                taps = mx.concatenate([taps[:accepted], single.taps])
        else:
            self.cache.rollback(start + accepted + 1)
        committed = tuple(said[: accepted + 1])
        # A re-checked row may agree with the next draft after all; its row is not there to go on.
        if recheck and accepted < k and committed[accepted] == proposed[accepted]:
            accepted += 1
        self.tokens.extend(committed)
        return Step(
            proposal.mode, proposed if usable else (), accepted, committed,
            gaps[len(committed) - 1], draft_s, time.perf_counter() - begun, k + 1, recheck,
            settle_s, usable, fed=(pending, *committed[:-1]), taps=taps,
        )  # fmt: skip

    def settle(self) -> None:
        """End a reply: no launched pass is left, the cache is whole and evaluated."""
        self.rewind(len(self.tokens))
        self.cache.remember(self.cache.length)
        self.cache.settle()

    def _launch(
        self, ids: mx.array | Sequence[int], first: int, drafts: Sequence[int] = ()
    ) -> _Ahead:
        """Schedule a one-row pass and its draw, token `first` of the reply."""
        rows = self._target.forward(ids, self.cache)
        history = self.tokens[: self._reply_at + self.drawn]
        history = [*history, *drafts[: first - self.drawn]]
        # A plain reply asks for no gaps: its rows are its own, so nothing could be turned around.
        margin = self._margin if self._wide is not None else 0.0
        drawn, gaps = draw_with_gaps(rows.logits, first, self._sampling, history, margin)
        wanted = [drawn.astype(mx.float32), finite(rows.logits), *([gaps] if margin else [])]
        packed = mx.concatenate(wanted)
        mx.async_eval(packed)
        return _Ahead(packed, drawn.astype(mx.uint32), rows.taps)

    def _is_near(self, gap: float, margin: float) -> bool:
        """Whether a draw with that gap may be another one in a pass of one row."""
        return margin == float("inf") or gap < reach(margin, self._sampling)

    def _settle_row(self, row: int, drafts: tuple[int, ...]) -> tuple[_Ahead | None, float]:
        """Draw after `row` alone, on rows of which none was written by a pass of several.

        `drafts` are the accepted ones between the pending token and that row. Rows so far back that
        the cache cannot forget them stay, and so do all beyond `_SETTLED_FULLY`: then the row alone
        is written anew.

        Returns:
            The pass, None if it was stopped, and the seconds before it.
        """
        begun = time.perf_counter()
        tokens = [*self.tokens, *drafts]
        first = row if self._wide is None else min(row, self._wide)
        is_rare = self._target.dtype == mx.float32
        may = is_rare or self._settled < _SETTLED_FULLY
        if not may or self.cache.reachable(first) < self._reply_at - 1:
            first = row
        self.cache.rollback(self.cache.reachable(first))
        while self.cache.length < row:
            if self._stop is not None and self._stop():
                return None, 0.0
            self._target.forward([tokens[self.cache.length]], self.cache)
            self.cache.settle()
            self._settled += 1
        if first < row or first == self._wide:
            self._wide, self._margin = None, 0.0
        at = self.drawn + len(drafts)
        return self._launch([tokens[row]], at, drafts), time.perf_counter() - begun

    def _refuse_numbers(self) -> None:
        self.rewind(len(self.tokens))
        raise BadNumbers(
            "bad_numbers",
            "The model produced numbers that are not finite, so nothing can be drawn from them.",
            safe="Everything written so far is kept.",
            action="Try again; if it happens again, verify or download the model anew.",
        )


def _common_prefix(proposed: Sequence[int], said: Sequence[int]) -> int:
    """How many leading proposals are what the target said."""
    pairs = enumerate(zip(proposed, said, strict=False))
    return next((i for i, (a, b) in pairs if a != b), len(proposed))
