import random

from engine.proposers.copy import Match, PromptCopy


def following(tokens):
    copies = PromptCopy()
    copies.follow(tokens)
    return copies


def brute(tokens):
    """The longest earlier occurrence of the newest tokens, most recent of equals, by trying all."""
    best = None
    for at in range(len(tokens) - 1, 1, -1):
        length = 0
        while length < min(at, 64) and tokens[at - 1 - length] == tokens[-1 - length]:
            length += 1
        if length >= 2 and (best is None or length > best.length):
            best = Match(length, at)
    return best


def test_that_the_match_is_the_longest_and_then_the_most_recent():
    rng = random.Random(5)
    found = 0
    for _ in range(300):
        tokens = [rng.randrange(3) for _ in range(rng.randrange(4, 24))]
        match = following(tokens).match()
        assert match == brute(tokens), tokens
        found += match is not None
    assert found > 60


def test_that_the_continuation_is_what_stood_there():
    copies = following([1, 2, 3, 4, 5, 6, 7, 9, 1, 2, 3, 4])
    match = copies.match()
    assert match == Match(4, 4)
    assert copies.continuation(match, 3) == [5, 6, 7]
    assert copies.continuation(match, 10) == [5, 6, 7, 9, 1, 2, 3, 4, 5, 6]


def test_that_following_in_pieces_and_forgetting_equal_starting_anew():
    rng = random.Random(6)
    copies, tokens = PromptCopy(), []
    for _ in range(400):
        if tokens and rng.random() < 0.3:
            length = rng.randrange(len(tokens) + 1)
            del tokens[length:]
            copies.forget(length)
        tokens += [rng.randrange(3) for _ in range(rng.randrange(4))]
        copies.follow(tokens)
        if len(tokens) < 32:  # places beyond the 32nd are dropped, and not found again
            assert copies.match() == following(tokens).match(), tokens
