"""What a reply's rounds add up to, each number defined once."""

from dataclasses import dataclass, field

from engine.events import DraftState, Finished, FinishReason, Round

ENOUGH = 8  # plain steps below which no speed-up is stated
SHORTEST_S = 1.0  # a rate over less time is no rate


@dataclass(slots=True)
class Tally:
    """Counts and times of one reply; seconds unless a name says otherwise."""

    rounds: int = 0
    proposed: int = 0
    accepted: int = 0
    rechecks: int = 0
    copied: int = 0
    verifies: int = 0
    committed_by_verifies: int = 0
    plain_seconds: list[float] = field(default_factory=list[float])
    accepted_at: list[int] = field(default_factory=list[int])
    proposed_at: list[int] = field(default_factory=list[int])
    first_token_s: float = 0.0  # from the request to the first token
    started: float = 0.0  # clock at the request
    first_at: float = 0.0  # clock at the first token

    def saw(self, round_: Round, seconds: float | None) -> None:
        """Add a round; `seconds` is None for a round that is not measured."""
        self.rounds += 1
        self.rechecks += round_.recheck
        if round_.mode == "plain":
            if seconds is not None:
                self.plain_seconds.append(seconds)
            return
        self.verifies += 1
        self.committed_by_verifies += len(round_.committed_ids)
        self.proposed += len(round_.proposed_ids)
        self.accepted += round_.accepted
        if round_.mode == "copy":
            self.copied += round_.accepted
        for j in range(min(len(round_.proposed_ids), round_.accepted + 1)):
            if j == len(self.proposed_at):
                self.proposed_at.append(0)
                self.accepted_at.append(0)
            self.proposed_at[j] += 1
            self.accepted_at[j] += j < round_.accepted

    def finished(
        self,
        reason: FinishReason,
        ids: tuple[tuple[int, ...], tuple[int, ...]],
        texts: tuple[str, str],
        drafting: DraftState,
        now: float,
    ) -> Finished:
        """The summary: `ids` are those of prompt and reply, `texts` answer and thinking."""
        prompt_ids, token_ids = ids
        after_first = len(token_ids) - 1
        wall = now - self.first_at if self.first_at else 0.0
        plain = self.plain_seconds
        mean = sum(plain) / len(plain) if plain else None
        saved = speedup = None
        if self.verifies and mean is not None and after_first > 0 and wall > 0:
            low, high = (mean, mean) if len(plain) >= ENOUGH else (min(plain), max(plain))
            saved = (after_first * low - wall, after_first * high - wall)
            speedup = after_first * mean / wall if len(plain) >= ENOUGH else None
        return Finished(
            reason,
            prompt_ids,
            token_ids,
            texts[0],
            self.rounds,
            self.proposed,
            self.accepted,
            after_first / wall if wall >= SHORTEST_S and after_first > 0 else None,
            drafting,
            thinking=texts[1],
            first_token_s=self.first_token_s,
            wall_s=now - self.started,
            plain_steps=len(plain),
            plain_ms=None if mean is None else 1000 * mean,
            acceptance_length=(
                self.committed_by_verifies / self.verifies if self.verifies else None
            ),
            speedup=speedup,
            saved_s=saved,
            rechecks=self.rechecks,
            copied_tokens=self.copied,
            accepted_at=tuple(self.accepted_at),
            proposed_at=tuple(self.proposed_at),
        )
