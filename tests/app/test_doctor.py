"""The `doctor` command with scripted engines, and as a process."""

import json
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace

import pytest

from app.__main__ import main
from engine.events import Finished
from engine.exactness import Gate, Width
from support.scripted import SlowEngine

ROOT = Path(__file__).parents[2]


class Wavering(SlowEngine):
    """Says something else when it drafts."""

    def reply(self, request, controls):
        for event in super().reply(request, controls):
            if isinstance(event, Finished) and request.drafting.wish != "off":
                event = Finished("stop", (), (1,), "", 1, 0, 0, None, "on")
            yield event


@pytest.fixture
def doctor(capsys, starter):
    """Run it in this process: the exit code and the report."""

    def run(engine, *words):
        code = main(["doctor", "--json", *words], make_engine=lambda: engine)
        out, err = capsys.readouterr()
        assert err == ""
        assert out.count("\n") == 1
        return code, json.loads(out)

    return run


def test_that_the_report_has_what_a_helper_asks_for(doctor, home):
    code, report = doctor(SlowEngine())
    assert code == 0
    assert report["ok"] is True
    assert report["python"] == sys.version.split()[0]
    assert report["mlx"] == version("mlx")
    assert report["mlx_lm"] == version("mlx-lm")
    assert report["qt"] == version("PySide6_Essentials")
    assert report["backend"] in ("cpu", "metal")
    assert report["blas"] in ("openblas", "reference", "accelerate")
    assert Path(report["starter"]).is_dir()
    assert Path(report["data_dir"]).is_relative_to(home)
    assert report["version"][0].isdigit()
    assert all({"what", "action"} <= problem.keys() for problem in report["problems"])


def test_that_the_engine_is_tried_with_and_without_drafting(doctor):
    engine = SlowEngine(tokens=6)
    _, report = doctor(engine)
    assert [request.drafting.wish for request in engine.requests] == ["on", "off"]
    assert report["self_test"]["same_tokens"] is True
    assert report["self_test"]["text"] == "".join(f"word{n} " for n in range(6))


@pytest.mark.parametrize(
    ("engine", "what"),
    [
        (SlowEngine(refuse=True), "There are no weights."),
        (SlowEngine(fail_at=1), "The script fails here."),
        (Wavering(), "Drafting changed the tokens"),
    ],
)
def test_that_an_engine_that_does_not_work_is_a_problem_and_a_failure(doctor, engine, what):
    code, report = doctor(engine)
    assert code == 1
    assert report["ok"] is False
    assert [what in problem["what"] for problem in report["problems"] if problem["stops"]] == [True]


def test_that_a_place_where_nothing_can_be_saved_is_a_problem(doctor, monkeypatch, tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    monkeypatch.setenv("SLIPSTREAM_HOME", str(file / "home"))
    code, report = doctor(SlowEngine())
    assert code == 1
    assert any(str(file) in problem["what"] for problem in report["problems"])


def test_that_the_text_says_the_same_as_the_json(capsys, starter):
    assert main(["doctor"], make_engine=SlowEngine) == 0
    out, _ = capsys.readouterr()
    assert f"mlx        {version('mlx')}\n" in out
    assert "self-test  passed" in out
    assert out.endswith("Ready to chat.\n")


def test_that_without_the_test_neither_mlx_nor_qt_is_brought(starter):
    code = """
import sys
from app.__main__ import main
code = main(["doctor", "--json", "--no-test"])
assert not {"PySide6", "mlx", "mlx_lm", "transformers", "numpy"} & set(sys.modules)
sys.exit(code)
"""
    child = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (child.returncode, child.stderr) == (0, "")
    assert json.loads(child.stdout)["self_test"] is None


def known(*widths):
    """An engine that knows this much about its model."""
    engine = SlowEngine()
    gate = Gate(widths, 4.5, 20.0, "float32", (8, 48)) if widths else None
    engine.model = SimpleNamespace(trust=SimpleNamespace(gate=gate))
    return engine


@pytest.mark.parametrize(
    ("widths", "exactness", "text"),
    [
        (
            (),
            {"measured": False, "exact_width": None, "max_difference": None, "fault": None},
            "not measured yet; slipstream check measures it",
        ),
        (
            (Width(2, True), Width(3, True), Width(4, False, 5e-5, 0, "kernels")),
            {
                "measured": True,
                "exact_width": 3,
                "widest": 4,
                "max_difference": 5e-5,
                "fault": None,
            },
            "equal to the last bit: up to 3; up to 4 rows at once scores differ by 5e-05",
        ),
        (
            (Width(2, False, 4e-5, 0, "kernels"), Width(3, False, not_run="RuntimeError")),
            {
                "measured": True,
                "exact_width": 1,
                "widest": 2,
                "max_difference": 4e-5,
                "fault": None,
            },
            "equal to the last bit: none; up to 2 rows at once scores differ by 4e-05",
        ),
        (
            (Width(2, True), Width(3, True)),
            {"measured": True, "exact_width": 3, "widest": 3, "max_difference": 0, "fault": None},
            "equal to the last bit up to 3 rows at once",
        ),
    ],
    ids=["unknown", "some", "none", "all"],
)
def test_that_it_says_what_is_known_of_exactness(doctor, capsys, widths, exactness, text):
    assert doctor(known(*widths))[1]["self_test"]["exactness"] == exactness
    assert main(["doctor"], make_engine=lambda: known(*widths)) == 0
    assert f"exactness  {text}\n" in capsys.readouterr().out


def test_that_a_fault_is_a_problem_with_which_one_can_chat(doctor):
    code, report = doctor(known(Width(2, False, 9.0, 1, "cache")))
    assert (code, report["ok"]) == (0, True)
    assert any("Drafting is refused" in problem["what"] for problem in report["problems"])
