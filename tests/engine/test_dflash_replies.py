"""Replies written with Laguna's drafter are the replies written without one, whatever happens."""

import mlx.core as mx
import pytest
from mlx import nn

from engine.controls import Controls
from engine.drafters import open_drafter
from engine.events import DraftingState, Finished, Round
from engine.proposers import Context
from engine.request import Sampling
from engine.target import Target
from support.chain import write as reply
from support.drafters import write_drafter
from support.forced import Scheduled, uncached
from support.kept import GREEDY, SAMPLINGS, kept_for, read, write
from support.tiny_dflash import DRAFTER, PAIRS, WIDE, random_weights
from support.tiny_laguna import PROMPT, TARGET, tiny_laguna

SAMPLED = [SAMPLINGS["0.7"], SAMPLINGS["1.0"]]


def opened(name, folder):
    config, drafter = PAIRS[name]
    target = Target(tiny_laguna(config), dict(config), drafter["dflash_config"]["target_layer_ids"])
    write_drafter(folder, drafter, random_weights(drafter))
    return target, open_drafter(folder, target)


@pytest.mark.parametrize(
    ("name", "sampling"),
    [*((name, GREEDY) for name in PAIRS), *(("pair", s) for s in SAMPLED)],
    ids=str,
)
def test_that_a_drafted_reply_is_the_uncached_reply(name, sampling, tmp_path):
    target, drafter = opened(name, tmp_path)
    truth = uncached(target.model, PROMPT, 40, sampling)
    for widths in ([15], [2], [0, 3]):
        kept = kept_for(target, drafter.start())
        read(kept, PROMPT, sampling, chunk=5)
        steps = write(kept, 40, widths, sampling)
        assert kept.session.tokens == truth
        assert steps
        assert all(step.sound for step in steps)


def test_that_every_accept_length_is_exact_over_many_windows(tmp_path):
    target, drafter = opened("pair", tmp_path)
    truth = uncached(target.model, PROMPT, 60)
    assert len(set(truth[12:])) > 8
    schedule = [0, 2, 1, 3, 0, 1, 2]
    kept = kept_for(target, Scheduled(drafter.start(), truth, schedule))
    read(kept, PROMPT, chunk=5)
    steps = write(kept, 60, [3])
    assert kept.session.tokens == truth
    whole = steps[:-1]  # the last one is cut by the number of tokens
    assert [step.accepted for step in whole] == [schedule[i % 7] for i in range(len(whole))]
    assert len(whole) > 20


def test_that_noise_shared_with_the_target_is_accepted_always(tmp_path):
    # A drafter that scores as the target does must agree at any temperature.
    target, drafter = opened("pair", tmp_path)
    for sampling in SAMPLED:
        truth = uncached(target.model, PROMPT, 24, sampling)
        kept = kept_for(target, drafter.start())
        read(kept, PROMPT, sampling)

        def scores(hidden, truth=truth, kept=kept):
            at = len(kept.session.tokens)
            ids = mx.array([truth[: at + hidden.shape[1]]])
            rows = target.model(ids, cache=target.model.make_cache())
            return rows[:, at - 1 :][:, : hidden.shape[1]]

        drafter.score = scores
        steps = write(kept, 24, [3], sampling)
        assert kept.session.tokens == truth
        assert all(step.accepted == len(step.proposed) for step in steps)


def test_that_switching_mid_reply_changes_no_word(tmp_path):
    target, drafter = opened("pair", tmp_path)
    truth = uncached(target.model, PROMPT, 60)
    kept = kept_for(target, Scheduled(drafter.start(), truth, [3, 1, 0]))
    read(kept, PROMPT)
    for until, widths in ((15, [3]), (30, [0]), (45, [2]), (60, [0, 0, 3])):
        write(kept, until, widths)
    assert kept.session.tokens == truth


@pytest.mark.parametrize("cut", [0, 1, 2, 3])
def test_that_a_turn_after_a_stop_inside_a_block_is_exact(cut, tmp_path):
    target, drafter = opened("pair", tmp_path)
    truth = uncached(target.model, PROMPT, 40)
    kept = kept_for(target, Scheduled(drafter.start(), truth, [3]))
    read(kept, PROMPT)
    steps = write(kept, 24, [3])
    assert steps[-1].accepted == 3
    end = len(kept.session.tokens) - cut
    kept.session.rewind(end)
    kept.settle()
    assert kept.drafter.length == kept.session.cache.length == end - 1
    second = [*truth[:end], 9, 8, 7, 6, 5]
    kept.drafter = kept.drafter._drafter
    read(kept, second)
    assert kept.session.cache.length == kept.drafter.length == len(second) - 1
    fresh = kept_for(target, drafter.start())
    read(fresh, second, chunk=7)
    asked = Context(second, 0, GREEDY)
    assert (
        kept.drafter.propose(asked, 3).ids.tolist() == fresh.drafter.propose(asked, 3).ids.tolist()
    )
    write(kept, 20, [3])
    assert kept.session.tokens == uncached(target.model, second, 20)


def answers(target, drafter, **fields):
    """The reply's events with the drafter on."""
    return reply(target, PROMPT, drafter=drafter, drafts=3, **fields)


@pytest.mark.parametrize("at", range(8))
def test_that_an_end_token_ends_the_reply_wherever_it_lies_in_a_block(at, tmp_path):
    target, drafter = opened("pair", tmp_path)
    truth = uncached(target.model, PROMPT, 30)
    end = truth[12 + at]
    first = truth.index(end, 12) - 12
    events, session = answers(
        target, Scheduled(drafter.start(), truth, [3]), ends=(end,), max_tokens=20
    )
    assert events[-1].reason == "stop"
    assert list(events[-1].token_ids) == truth[12 : 12 + first]
    assert session.cache.length == len(session.tokens) - 1 or session.tokens[-1] != end


@pytest.mark.parametrize("budget", [1, 2, 3, 4, 5, 9])
def test_that_a_budget_is_kept_to_the_token(budget, tmp_path):
    target, drafter = opened("pair", tmp_path)
    truth = uncached(target.model, PROMPT, 30)
    events, session = answers(target, Scheduled(drafter.start(), truth, [3, 1]), max_tokens=budget)
    assert events[-1].reason == "length"
    assert list(events[-1].token_ids) == truth[12 : 12 + budget]
    assert session.cache.length == 12 + budget - 1


@pytest.mark.parametrize("stop", range(1, 7))
def test_that_a_stop_string_inside_a_block_cuts_there(stop, tmp_path):
    target, drafter = opened("pair", tmp_path)
    truth = uncached(target.model, PROMPT, 30)
    word = f"{truth[12 + stop]:02d}"
    first = truth.index(truth[12 + stop], 12)
    events, _ = answers(target, Scheduled(drafter.start(), truth, [3]), stop=(word,), max_tokens=20)
    assert events[-1].reason == "stop"
    assert events[-1].text == "".join(f"{t:02d} " for t in truth[12:first])


@pytest.mark.parametrize("room", [1, 2, 3, 6])
def test_that_the_context_limit_is_kept_to_the_row(room, tmp_path):
    target, drafter = opened("pair", tmp_path)
    truth = uncached(target.model, PROMPT, 30)
    events, _ = answers(target, Scheduled(drafter.start(), truth, [3]), limit=12 + room)
    assert events[-1].reason == "context"
    assert list(events[-1].token_ids) == truth[12 : 12 + room]


def test_that_counts_add_up_and_switching_off_is_heard(tmp_path):
    target, drafter = opened("pair", tmp_path)
    truth = uncached(target.model, PROMPT, 40)
    controls = Controls()
    controls.drafting = False
    events, _ = answers(
        target, Scheduled(drafter.start(), truth, [3]), max_tokens=10, controls=controls
    )
    assert [e.state for e in events if isinstance(e, DraftingState)] == ["off"]
    assert {e.mode for e in events if isinstance(e, Round)} == {"plain"}
    events, _ = answers(target, Scheduled(drafter.start(), truth, [3, 0, 2]), max_tokens=30)
    rounds = [e for e in events if isinstance(e, Round)]
    assert isinstance(events[-1], Finished)
    assert sum(len(r.committed_ids) for r in rounds) == 30 == len(events[-1].token_ids)
    assert events[-1].proposed == sum(len(r.proposed_ids) for r in rounds) > 0
    assert events[-1].accepted == sum(r.accepted for r in rounds) > 0


@pytest.mark.parametrize("sampling", [GREEDY, SAMPLINGS["0.7"]], ids=["greedy", "0.7"])
def test_that_broken_numbers_drop_the_drafts_and_the_reply_goes_on(sampling, tmp_path):
    target, drafter = opened("pair", tmp_path)
    drafter.model.norm.weight = drafter.model.norm.weight * float("nan")
    kept = kept_for(target, drafter.start())
    read(kept, PROMPT, sampling)
    steps = write(kept, 20, [3], sampling)
    assert kept.session.tokens == uncached(target.model, PROMPT, 20, sampling)
    assert not any(step.sound or step.proposed for step in steps)


def test_that_penalties_change_no_word(tmp_path):
    target, drafter = opened("pair", tmp_path)
    sampling = Sampling(temperature=0.7, repetition_penalty=1.3, frequency_penalty=0.2, seed=3)
    truth = uncached(target.model, PROMPT, 24, sampling)
    kept = kept_for(target, drafter.start())
    read(kept, PROMPT, sampling)
    write(kept, 24, [3], sampling)
    assert kept.session.tokens == truth


@pytest.mark.parametrize("dtype", [mx.float16, mx.bfloat16], ids=str)
def test_that_the_drafter_computes_in_the_targets_dtype(dtype, tmp_path):
    config = TARGET | {"mlp_layer_types": ["dense"] * 5}  # MLX gathers experts on a CPU in float32
    model = tiny_laguna(config)
    model.set_dtype(dtype)
    target = Target(model, config, (1, 3, 4))
    write_drafter(tmp_path, DRAFTER, random_weights(DRAFTER))
    drafter = open_drafter(tmp_path, target)
    kept = kept_for(target, drafter.start())
    read(kept, PROMPT)
    assert drafter.model.fc.weight.dtype == dtype
    write(kept, 12, [3])
    assert {a.dtype for window in kept.drafter._windows for a in window.arrays} == {dtype}
    hidden = drafter.model.block(drafter.embed(mx.array([[1, 2]])), kept.drafter._windows)
    assert hidden.dtype == dtype


def test_that_a_quantised_target_drafts_exactly(tmp_path):
    config = TARGET | WIDE | {"moe_intermediate_size": 64, "shared_expert_intermediate_size": 64}
    model = tiny_laguna(config)
    nn.quantize(model, 32, 4)
    target = Target(model, config, (1, 3, 4))
    drafter_config = DRAFTER | WIDE
    write_drafter(tmp_path, drafter_config, random_weights(drafter_config, scale=0.2))
    drafter = open_drafter(tmp_path, target)
    truth = uncached(target.model, PROMPT, 24)
    kept = kept_for(target, Scheduled(drafter.start(), truth, [2, 0, 3]))
    read(kept, PROMPT)
    write(kept, 24, [3])
    assert kept.session.tokens == truth
