"""The guard against simulated machines: how long rounds take and what is accepted is scripted."""

import random
import statistics
from itertools import pairwise

from engine.guard import Guard, Times


def play(guard, rounds, seconds, chance, cap=7, seed=0):
    """Rounds of a drafter whose drafts are right with `chance`; returns tokens, time and depths."""
    rng = random.Random(seed)
    tokens, clock, depths = 0, 0.0, []
    for _ in range(rounds):
        depth = guard.drafter_depth(cap)
        accepted = 0
        while accepted < depth and rng.random() < chance:
            accepted += 1
        took = seconds(depth)
        if depth:
            guard.saw("drafter", depth, accepted, took)
        else:
            guard.saw_plain(took)
        tokens += accepted + 1
        clock += took
        depths.append(depth)
    return tokens, clock, depths


def test_that_a_good_drafter_is_used_deep():
    tokens, clock, depths = play(Guard(Times()), 400, lambda d: 1.0 + 0.05 * d, 0.9)
    assert tokens / clock > 3.0  # always the full depth would give 4.2
    assert sum(d >= 5 for d in depths) > 300


def test_that_a_hopeless_drafter_costs_under_five_percent_of_a_long_reply():
    # Case O-05: 10 ms a pass, 8 ms a draft, never right.
    guard = Guard(Times())
    tokens, clock, depths = play(guard, 512, lambda d: 0.010 + 0.008 * d, 0.0)
    assert clock <= 1.05 * 0.010 * tokens
    assert sum(d > 0 for d in depths[32:]) <= len(depths[32:]) / 8
    assert guard.paused("drafter")
    assert guard.rate("drafter") < 1 / guard.times.plain


def test_that_a_losing_drafter_is_paused_within_thirty_rounds():
    _, _, depths = play(Guard(Times()), 30, lambda d: 1.0 + 0.6 * d, 0.3)
    assert sum(d > 0 for d in depths[-8:]) <= 1


def test_that_a_drafter_that_becomes_good_is_taken_up_again():
    guard = Guard(Times())
    play(guard, 100, lambda d: 1.0 + 0.1 * d, 0.0)
    assert guard.paused("drafter")
    _, _, depths = play(guard, 600, lambda d: 1.0 + 0.1 * d, 0.95)
    assert not guard.paused("drafter")
    assert sum(d > 2 for d in depths[-100:]) > 80


def test_that_a_plain_round_comes_at_least_every_sixty_five():
    _, _, depths = play(Guard(Times()), 500, lambda d: 1.0, 0.95)
    gaps = [i for i, d in enumerate(depths) if d == 0]
    assert max(b - a for a, b in pairwise(gaps)) <= 65


def test_that_on_never_pauses():
    guard = Guard(Times(), always=True)
    _, _, depths = play(guard, 200, lambda d: 1.0 + d, 0.0)
    assert all(d > 0 for d in depths[1:])
    assert not guard.paused("drafter")


def test_that_on_learns_what_plain_costs_before_it_drafts():
    guard = Guard(Times(), always=True)
    _, _, depths = play(guard, 60, lambda d: 1.0 + 0.01 * d, 1.0)
    assert depths[0] == 0
    assert statistics.median(depths[10:]) >= 6  # else it never gets to know what depth pays


def test_that_copies_grow_with_their_match_and_stop_where_they_lose():
    guard = Guard(Times())
    guard.times.saw("copy", 0, 1.0)
    assert guard.copy_depth(4, 31) == 7 or guard.copy_depth(4, 31) <= 8
    for depth in (7, 31):
        guard.times.saw("copy", depth, 1.0 + 0.02 * depth)
    assert guard.copy_depth(32, 31) == 31
    assert guard.copy_depth(4, 31) <= 8
    for _ in range(30):
        guard.saw("copy", 7, 0, None, 4)
    assert guard.copy_depth(4, 31) == 0
    assert guard.paused("copy")
    assert not guard.plain_ahead(drafter=False, match=4)  # a shorter one may come, not tried yet
    for _ in range(30):
        guard.saw("copy", 4, 0, None, 3)
    assert guard.copy_depth(3, 31) == 0
    assert guard.plain_ahead(drafter=False, match=4)
    # Long matches were not tried: what short ones do says nothing about them.
    assert guard.copy_depth(32, 31) == 31
    assert not guard.plain_ahead(drafter=False, match=32)
    guard.saw("copy", 31, 31, None, 32)
    assert not guard.paused("copy")


def test_that_times_between_known_depths_are_interpolated():
    times = Times()
    assert times.at("drafter", 3) is None
    times.saw("drafter", 0, 1.0)
    times.saw("drafter", 4, 2.0)
    assert times.at("drafter", 1) == 1.25
    assert times.at("drafter", 4) == 2.0
    assert times.at("drafter", 8) == 3.0
    assert times.at("copy", 4) is None
    times.saw("copy", 4, 0.5)
    assert times.at("copy", 4) == 1.0  # more rows are never faster than one


def test_that_the_rate_told_never_contradicts_the_pause():
    guard = Guard(Times())
    guard.saw_plain(2.0)
    guard.saw("drafter", 4, 0, 1.0)  # measured in a quiet moment, the plain round in a busy one
    assert guard.rate("drafter") == 0.5
    guard.saw("drafter", 4, 5, 5.0)
    assert guard.rate("drafter") == 2.0 / 2.0  # 1 + (6 - 1) / 5 tokens; 1.8 s are not believed
