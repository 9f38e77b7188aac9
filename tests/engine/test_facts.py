"""What the engine tells of itself, and how a refusal reaches a reply."""

import pytest

from engine.controls import Controls
from engine.engine import Engine
from engine.events import DraftingState, Finished
from engine.exactness import Gate, Width
from engine.request import Drafting, ModelChoice, Request, Turn
from engine.trust import WIDTHS
from support.model_folders import write_small

ROW = 30 * 2 * 3 * 64 * 4  # bytes: layers, keys and values, heads, their size, float32
LIST = "Repeat this list: apples, pears, plums, apples, pears, plums, apples, pears, plums."


class Memo:
    """Remembers one gate for every key."""

    def __init__(self, gate=None):
        self.gate = gate

    def recall(self, key):
        return self.gate

    def remember(self, key, gate):
        self.gate = gate


def gate(difference):
    widths = tuple(Width(w, False, difference, 0, "kernels") for w in WIDTHS)
    return Gate(widths, 2.0, 20.0, "float32", (8,))


def answer(engine, starter, mode="guarded", wish="on"):
    drafting = Drafting(wish=wish, exactness=mode)
    turns = (Turn("user", LIST),)
    request = Request(
        ModelChoice(starter), turns, conversation="7", drafting=drafting, max_tokens=24
    )
    return list(engine.reply(request, Controls()))


@pytest.fixture(scope="module")
def engine():
    engine = Engine(Memo(gate(1e-5)))
    yield engine
    engine.unload()


def test_that_nothing_is_told_and_nothing_loaded_before_a_model_is():
    engine = Engine()
    assert engine.facts("7") is None
    engine.measure(Controls())
    assert engine.loaded is None


def test_that_the_bytes_are_those_of_the_weights_and_of_the_rows(engine, starter):
    done = answer(engine, starter)[-1]
    facts = engine.facts("7")
    model = engine.model.target.model
    parameters = {id(array): array.nbytes for array in _arrays(model.parameters())}
    assert facts.target_bytes == sum(parameters.values())
    assert done.context_used < 256
    assert facts.conversation_bytes == ROW * 256  # a KVCache grows by so many rows
    assert engine.facts("8").conversation_bytes == 0
    assert facts.active >= facts.target_bytes
    assert (facts.target, facts.drafter, facts.dtype) == (starter, None, "float32")


def test_that_the_widths_are_told_as_they_were_measured_and_measure_nothing(engine, starter):
    answer(engine, starter)
    before = engine.model.trust.gate
    facts = engine.facts("7")
    assert engine.model.trust.gate is before
    assert [(w.width, w.equal, w.max_difference) for w in facts.widths] == [
        (w, False, 1e-5) for w in WIDTHS
    ]
    assert {w.margin for w in facts.widths} == {4 * 1e-5}  # four times the largest difference
    assert (facts.exact_width, facts.is_measured, facts.fault) == (1, True, "")


def test_that_measuring_fills_what_is_missing(starter, tmp_path):
    write_small(tmp_path / "small")
    for file in ("tokenizer.json", "tokenizer_config.json"):
        (tmp_path / "small" / file).symlink_to(starter / file)
    engine = Engine(Memo())
    list(engine.load(ModelChoice(tmp_path / "small"), Controls()))
    assert (engine.facts("").is_measured, engine.facts("").widths) == (False, ())
    engine.measure(Controls())
    facts = engine.facts("")
    assert facts.is_measured
    assert facts.widths[0].width == 2
    engine.unload()


@pytest.mark.parametrize(
    ("found", "mode"), [(gate(5.0), "guarded"), (gate(1e-5), "exact")], ids=["fault", "exact"]
)
def test_that_a_refusal_is_said_and_the_answer_is_written_plain(engine, starter, found, mode):
    plain = answer(engine, starter, wish="off")[-1]
    model = engine.model
    kept = model.trust.gate
    model.trust.gate = found
    engine.forget("7")
    events = answer(engine, starter, mode)
    told = [event for event in events if isinstance(event, DraftingState)]
    reason = model.trust.refusal(mode)
    model.trust.gate = kept
    assert told == [DraftingState("off", reason)]
    assert reason
    done = events[-1]
    assert isinstance(done, Finished)
    assert (done.token_ids, done.proposed, done.drafting) == (plain.token_ids, 0, "off")


def test_that_a_remembered_fault_is_told_with_the_loading(starter):
    engine = Engine(Memo(gate(5.0)))
    loaded = list(engine.load(ModelChoice(starter), Controls()))[-1]
    assert loaded.drafting_refused == engine.facts("").fault != ""
    engine.unload()


def _arrays(tree):
    if isinstance(tree, dict):
        tree = list(tree.values())
    if isinstance(tree, list):
        return [array for part in tree for array in _arrays(part)]
    return [tree]
