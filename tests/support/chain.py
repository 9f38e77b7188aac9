"""A target and a drafter whose next token depends on the last one alone."""

import time

import mlx.core as mx

from engine.cache import Cache
from engine.controls import Controls
from engine.detokenizer import TextStream
from engine.guard import Guard, Times
from engine.proposers import Proposal
from engine.request import Drafting, ModelChoice, Request
from engine.session import Session
from engine.sessions import Kept
from engine.target import Rows
from engine.writing import Means, Writing


class _Count:
    """A layer cache that only counts its rows."""

    state: tuple[mx.array, ...] = ()
    nbytes = 0

    def __init__(self):
        self.rows = 0

    def is_trimmable(self):
        return True

    def trim(self, n):
        assert n <= self.rows
        self.rows -= n
        return n


class ChainTarget:
    """Says `table[last]`, or `last + 1`; each forward pass takes `ms`, and is counted."""

    def __init__(self, table=None, vocab=64, ms=0.0):
        self.table, self.vocab, self.ms = table or {}, vocab, ms
        self.forwards = 0

    def new_cache(self):
        return Cache([_Count()])

    def forward(self, ids, cache):
        self.forwards += 1
        time.sleep(self.ms / 1000)
        ids = ids.tolist() if isinstance(ids, mx.array) else list(ids)
        logits = [[0.0] * self.vocab for _ in ids]
        for row, token in zip(logits, ids, strict=True):
            row[self.table.get(token, (token + 1) % self.vocab)] = 9.0
        cache.layers[0].rows += len(ids)
        cache.grew(len(ids))
        return Rows(mx.array(logits), mx.zeros((len(ids), 1)))


class ChainDrafter:
    """Proposes what `table` says, plus `shift`; each proposal takes `ms` and is counted.

    Its numbers are broken in the call `breaks_at`.
    """

    def __init__(self, table=None, vocab=64, shift=0, ms=0.0, breaks_at=None):
        self.breaks_at = breaks_at
        self.table, self.vocab, self.shift, self.ms = table or {}, vocab, shift, ms
        self.calls, self.rows = 0, 0

    def propose(self, context, k):
        self.calls += 1
        time.sleep(self.ms / 1000)
        ids, token = [], context.tokens[-1]
        for _ in range(k):
            token = self.table.get(token, (token + 1) % self.vocab)
            ids.append((token + self.shift) % self.vocab)
        sound = mx.array(0.0 if self.calls == self.breaks_at else 1.0)
        return Proposal("drafter", mx.array(ids, dtype=mx.uint32), sound)

    def observe(self, tokens, taps):
        assert len(tokens) == taps.shape[0]
        self.rows += len(tokens)

    def forget(self, length):
        self.rows = min(self.rows, length)

    def nbytes(self):
        return 0


class Words:
    """A vocabulary of two-digit words."""

    is_byte_level = True
    thinking_tags = None

    def piece(self, token):
        return f"{token:02d} ".encode()


def write(target, prompt, *, drafter=None, drafts=5, ends=(), limit=8192, controls=None,
          copies=False, **fields):  # fmt: skip
    """All events of one reply, and the session it leaves."""
    wish = fields.pop("wish", "on") if drafter is not None or copies else "off"
    request = Request(
        ModelChoice(None), (), drafting=Drafting(wish, copies=copies, max_drafts=drafts), **fields
    )
    session = Session(target)
    kept = Kept(session, Guard(Times(), always=wish == "on"), drafter)
    if len(prompt) > 1:
        kept.feed(prompt[:-1])
    session.begin(prompt[-1], request.sampling)
    stream = TextStream(Words(), request.stop)
    means = Means(kept, stream, frozenset(ends), limit, lambda width: 0.0, 32, drafts)
    writing = Writing(request, controls or Controls(), means, time.perf_counter())
    return list(writing.events()), session
