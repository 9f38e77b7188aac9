"""What no linter says about the shape of this repository."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("app", "engine", "ui", "resources", "packaging")
FILE_LINES, FUNCTION_LINES = 300, 50  # of the program; a test file may have 500 lines


def sources(*folders):
    return [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]


def loaded_by(statement):
    """The top-level modules that a fresh interpreter holds after `statement`."""
    code = f"{statement}\nimport sys\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    return set(run.stdout.split())


def is_excused(lines, first, last):
    return any("# long: " in line for line in lines[first:last])


def long_functions(path):
    lines = path.read_text().splitlines()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = node.end_lineno - node.lineno + 1
            signature_end = node.body[0].lineno - 1
            excused = is_excused(lines, node.lineno - 1, max(signature_end, node.lineno))
            if length > FUNCTION_LINES and not excused:
                yield f"{path.relative_to(ROOT)}:{node.lineno} {node.name}: {length} lines"


def test_that_packaging_is_a_folder_and_not_a_package():
    # As a package it would hide the library `packaging`, which huggingface_hub imports later.
    assert not (ROOT / "packaging" / "__init__.py").exists()
    code = "import packaging.version; print(packaging.version.__file__)"
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "site-packages" in run.stdout


def test_that_tests_are_a_folder_and_not_a_package():
    # An installed distribution may claim the name `tests`: ours must never depend on it.
    assert not list((ROOT / "tests").rglob("__init__.py"))


def test_that_the_top_level_holds_only_what_a_newcomer_expects():
    run = subprocess.run(
        ["git", "ls-files", "--cached"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if run.returncode:
        pytest.skip("not a git checkout")
    top = {line.partition("/")[0] for line in run.stdout.splitlines()}
    assert top <= {
        *FOLDERS,
        "tests",
        ".ci",
        ".gitignore",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "LICENSE",
        "Makefile",
        "README.md",
        "pyproject.toml",
    }


def test_that_files_stay_short():
    long = []
    for path in sources(*FOLDERS, "tests"):
        lines = path.read_text().splitlines()
        most = FILE_LINES if path.relative_to(ROOT).parts[0] in FOLDERS else 500
        if len(lines) > most and not is_excused(lines, 0, 1):
            long.append(f"{path.relative_to(ROOT)}: {len(lines)} lines")
    assert not long


def test_that_functions_stay_short():
    long = [each for path in sources(*FOLDERS) for each in long_functions(path)]
    assert not long


def test_that_no_file_is_named_after_nothing():
    vague = {"util", "utils", "helper", "helpers", "manager", "common", "misc", "base", "core"}
    assert not [path for path in sources(*FOLDERS) if path.stem in vague]


@pytest.mark.parametrize("call", ["moveToThread", "setMarkdown", "setHtml", "insertHtml"])
def test_that_the_window_never_calls(call):
    # A moved object's lambdas run on the other thread; a model's text is never markup for Qt.
    assert not [path for path in sources("ui") if f".{call}(" in path.read_text()]


def test_that_the_program_runs_without_qt():
    assert not {"PySide6", "shiboken6", "qasync"} & loaded_by("import app.program")


def test_that_the_program_starts_without_mlx():
    assert not {"mlx", "mlx_lm", "transformers", "numpy"} & loaded_by("import app.program")


def test_that_the_window_opens_without_mlx():
    # `import mlx_lm` takes over two seconds: the engine's thread does it.
    assert not {"mlx", "mlx_lm", "transformers", "numpy"} & loaded_by("import ui.__main__")


def test_that_the_collector_is_touched_only_on_the_thread_of_the_window():
    allowed = {ROOT / "ui" / "garbage.py", ROOT / "app" / "program.py"}
    touched = [
        path
        for path in sources("app", "engine", "ui", "resources")
        if path not in allowed and "gc.collect(" in path.read_text()
    ]
    assert not touched


def test_that_nothing_names_a_package_index():
    # Which index serves the packages is the machine's business, not the repository's.
    names = ["packaging", "Makefile", "pyproject.toml", ".ci"]
    files = [path for name in names for path in (ROOT / name, *(ROOT / name).rglob("*"))]
    texts = [path.read_text() for path in files if path.suffix in {".txt", ".toml", ".py"}]
    texts += [(ROOT / "Makefile").read_text().replace("--no-emit-index-url", "")]
    for text in texts:
        assert "://" not in text
        assert "index-url" not in text
        assert "--find-links" not in text


def test_that_every_pinned_package_has_a_hash():
    for name in ("requirements.txt", "requirements-dev.txt", "starter.txt"):
        text = (ROOT / "packaging" / name).read_text().replace("\\\n", " ")
        pins = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
        assert pins
        assert not [pin for pin in pins if "==" not in pin or "--hash=sha256:" not in pin]


def test_that_what_the_tests_install_includes_what_the_program_needs():
    def pins(name):
        lines = (ROOT / "packaging" / name).read_text().splitlines()
        return {line.split()[0] for line in lines if "==" in line and line[0].isalnum()}

    assert pins("requirements.txt") < pins("requirements-dev.txt")


def test_that_what_any_thread_may_import_needs_only_the_standard_library():
    words = "errors, events, facts, request, controls, backend"
    names = ", ".join(f"engine.{word}" for word in words.split(", "))
    loaded = loaded_by(f"import {names}, app.conversation")
    foreign = loaded - sys.stdlib_module_names - {"app", "engine", "__main__"}
    bare = loaded_by("pass")  # what this interpreter's own site packages bring
    assert foreign <= bare
