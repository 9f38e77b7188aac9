import random
from dataclasses import replace

from app.conversation import Message
from engine.events import Finished, Round
from engine.tally import Tally
from ui.inspector.figures import Figures, live, of_answer, of_rounds

DONE = Finished(
    "stop", (1,), tuple(range(11)), "", 3, 0, 0, 5.0, "on", plain_steps=4, plain_ms=250.0
)


def round_(proposed, accepted, draft_ms=4.0, verify_ms=48.0):
    return Round(
        0, "drafter" if proposed else "plain", tuple(range(proposed)), accepted,
        tuple(range(accepted + 1)), None, None, None, draft_ms, verify_ms, proposed + 1,
    )  # fmt: skip


def test_that_positions_are_counted_as_the_engine_counts_them():
    chance = random.Random(3)
    rounds = []
    for _ in range(500):
        proposed = chance.choice((0, 1, 3, 7, 20))
        rounds.append(round_(proposed, chance.randint(0, proposed)))
    tally = Tally()
    for each in rounds:
        tally.saw(each, 0.05)
    found = of_rounds(rounds)
    assert found.proposed_at == tuple(tally.proposed_at)
    assert found.accepted_at == tuple(tally.accepted_at)
    assert (found.proposed, found.accepted) == (tally.proposed, tally.accepted)
    assert (found.rounds, found.drafted) == (500, tally.verifies)


def test_that_times_are_summed_over_drafted_rounds_only():
    found = of_rounds([round_(4, 2), round_(0, 0), round_(4, 4, draft_ms=6.0, verify_ms=52.0)])
    assert (found.guess_ms, found.check_ms, found.written) == (10.0, 100.0, 3 + 1 + 5)


def test_that_rates_are_those_of_the_summary():
    found = of_answer(Message(2, 1, 1, "assistant", "x", "stop", 0.0, finished=DONE))
    assert (found.rate, found.plain_rate) == (5.0, 4.0)


def test_that_two_answers_add_up_to_their_own_mean():
    slow = of_answer(Message(2, 1, 1, "assistant", "x", "stop", 0.0, finished=DONE))
    fast = replace(DONE, tokens_per_s=20.0, plain_steps=12, plain_ms=50.0)
    both = slow.plus(of_answer(Message(4, 1, 3, "assistant", "x", "stop", 0.0, finished=fast)))
    assert both.rate == 20 / 2.5  # 10 tokens in 2 s, 10 in 0.5 s
    assert both.plain_rate == 16 / 1.6  # 4 steps in 1 s, 12 in 0.6 s


def test_that_an_answer_that_broke_off_adds_nothing():
    assert of_answer(Message(2, 1, 1, "assistant", "x", "interrupted", 0.0)) == Figures()


def test_that_a_live_answer_is_timed_by_its_rounds():
    found = live([round_(4, 3), round_(0, 0, draft_ms=0.0)], Figures())
    assert found.rate == 5 / 0.1
    assert found.plain_rate == 1000 / 48.0
    again = live([round_(4, 3), round_(0, 0, draft_ms=0.0)], found)
    assert (again.rounds, again.rate) == (4, 50.0)
