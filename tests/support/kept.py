"""One text with its drafter, written round by round as a test wants it."""

from engine.guard import Guard, Times
from engine.proposers import Context
from engine.request import Sampling
from engine.session import Session
from engine.sessions import Kept

GREEDY = Sampling()
SAMPLINGS = {
    "greedy": GREEDY,
    "0.7": Sampling(temperature=0.7, top_p=0.95, seed=5),
    "1.0": Sampling(temperature=1.0, seed=8),
}


def kept_for(target, drafter):
    return Kept(Session(target), Guard(Times()), drafter)


def read(kept, prompt, sampling=GREEDY, chunk=512):
    """Resume with a prompt and feed what is new of it."""
    at = kept.resume(prompt)
    while at < len(prompt) - 1:
        piece = prompt[at : min(at + chunk, len(prompt) - 1)]
        kept.feed(piece)
        at += len(piece)
    kept.session.begin(prompt[-1], sampling)


def write(kept, n, widths, sampling=GREEDY, pipeline=True):
    """`n` tokens in rounds of up to the given drafts; returns the drafted steps."""
    session, steps, rounds = kept.session, [], 0
    while session.drawn < n:
        k = min(widths[rounds % len(widths)], n - session.drawn - 1)
        rounds += 1
        if k <= 0 or session.is_ahead:
            next_plain = widths[rounds % len(widths)] == 0 and session.drawn + 2 < n
            step = session.plain(pipeline=pipeline and next_plain)
        else:
            assert kept.drafter.length == len(session.tokens) - 1
            proposal = kept.drafter.propose(Context(session.tokens, session.drawn, sampling), k)
            step = session.drafted(proposal, 0.0, 0.0)
            steps.append(step)
        kept.drafter.observe(step.fed, step.taps)
    return steps
