"""One text being written: its tokens, the target's cache and the proposers, always in step."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import mlx.core as mx

from engine.errors import BadNumbers
from engine.events import Mode
from engine.proposers import Proposal
from engine.request import Sampling
from engine.sampling import draw, finite, to_host, top_two_gap
from engine.target import Rows, Target


@dataclass(frozen=True, slots=True)
class Step:
    """What one round did, before its end is cut. Times are seconds."""

    mode: Mode
    proposed: tuple[int, ...]
    accepted: int
    committed: tuple[int, ...]  # the accepted proposals, then the target's own token
    gap: float | None
    draft_s: float
    verify_s: float
    width: int
    recheck: bool = False
    sound: bool = True  # False: the drafter's numbers were broken and its guesses dropped
    fed: tuple[int, ...] = ()  # tokens whose rows are now in the cache
    taps: mx.array | None = None  # (len(fed), taps * hidden)

    @property
    def rejected_id(self) -> int | None:
        """The first proposal that was wrong, None if none was."""
        at = self.accepted
        if at >= len(self.proposed) or at >= len(self.committed):
            return None
        return self.proposed[at]


@dataclass(frozen=True, slots=True)
class _Ahead:
    """A one-row pass whose draw has not been read: packed (2,) float32 of id and soundness."""

    packed: mx.array
    ids: mx.array  # (1,)
    taps: mx.array | None


class Session:
    """Writes one reply at the end of `tokens`.

    Between rounds the last token is pending, that is known but not yet fed: the cache holds one row
    less than there are tokens, or exactly as many while a plain round has been launched ahead.
    """

    def __init__(self, target: Target) -> None:
        self._target = target
        self.cache = target.new_cache()
        self.tokens: list[int] = []
        self._reply_at = 0
        self._sampling = Sampling()
        self._ahead: _Ahead | None = None

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
        del self.tokens[common:]
        return common

    def begin(self, pending: int, sampling: Sampling) -> None:
        """Start a reply after the tokens fed so far and `pending`, the prompt's last."""
        assert self.cache.length == len(self.tokens), (self.cache.length, len(self.tokens))
        self.tokens.append(pending)
        self._reply_at, self._sampling = len(self.tokens), sampling

    @property
    def drawn(self) -> int:
        """Tokens of the reply so far."""
        return len(self.tokens) - self._reply_at

    def rewind(self, length: int) -> None:
        """Keep the first `length` tokens; the last of them becomes pending."""
        self._ahead = None
        del self.tokens[length:]
        self.cache.rollback(min(self.cache.length, max(0, length - 1)))

    def feed(self, ids: Sequence[int]) -> Rows:
        """Append known tokens to text and cache; used for the prompt."""
        rows = self._target.forward(ids, self.cache)
        self.cache.settle()
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
        number, sound = to_host(ahead.packed)
        if not sound:
            self._refuse_numbers()
        said = int(number)
        self.tokens.append(said)
        return Step(
            "plain", (), 0, (said,), None, 0.0, time.perf_counter() - begun, 1,
            fed=(pending,), taps=ahead.taps,
        )  # fmt: skip

    @property
    def is_ahead(self) -> bool:
        """Whether the next plain round is under way already."""
        return self._ahead is not None

    def drafted(self, proposal: Proposal, draft_s: float, margin: float) -> Step:  # long: one round
        """Check a proposal in one pass and commit what the target would have said.

        A row whose two best scores are closer than `margin` is not trusted, because a pass of many
        rows may round otherwise than a pass of one: the block is cut there and that token is taken
        from a one-row pass. Margin 0 trusts every row.
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
        drawn, scores = draw(rows.logits, self.drawn, self._sampling, [*self.tokens, *known])
        flags = [] if proposal.sound is None else [proposal.sound.reshape(1)]
        read = to_host(
            mx.concatenate(
                [
                    proposal.ids.astype(mx.float32),
                    drawn.astype(mx.float32),
                    top_two_gap(scores, drawn),
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
        doubtful = next((i for i in range(accepted + 1) if gaps[i] < margin), None)
        recheck = doubtful is not None
        if doubtful is not None:
            accepted = doubtful
        if not all(sound[: accepted + 1]):
            self._refuse_numbers()
        taps = None if rows.taps is None else rows.taps[: accepted + 1]
        if recheck:
            self.cache.rollback(start + accepted)
            single = self._launch([[pending, *proposed][accepted]], self.drawn + accepted, proposed)
            number, fine = to_host(single.packed)
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
            gaps[len(committed) - 1], draft_s, time.perf_counter() - begun, k + 1, recheck, usable,
            fed=(pending, *committed[:-1]), taps=taps,
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
        drawn, _ = draw(rows.logits, first, self._sampling, history)
        packed = mx.concatenate([drawn.astype(mx.float32), finite(rows.logits)])
        mx.async_eval(packed)
        return _Ahead(packed, drawn.astype(mx.uint32), rows.taps)

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
