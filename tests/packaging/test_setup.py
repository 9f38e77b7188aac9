import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def loaded(path, monkeypatch):
    """A script of packaging/, which is no package, as a module."""
    monkeypatch.syspath_prepend(str(path.parent))
    monkeypatch.delitem(sys.modules, "system", raising=False)
    spec = importlib.util.spec_from_file_location(f"script_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def checkout(tmp_path):
    """As much of a checkout as the set-up looks at, with a Python but without packages."""
    root = tmp_path / "checkout"
    shutil.copytree(ROOT / "packaging", root / "packaging", ignore=shutil.ignore_patterns("__*"))
    shutil.copy(ROOT / "pyproject.toml", root)
    (root / "engine").mkdir()
    shutil.copy(ROOT / "engine" / "starter.py", root / "engine")
    (root / "resources" / "starter").mkdir(parents=True)
    (root / "resources" / "starter" / "model.safetensors").touch()
    return root


@pytest.fixture
def setup(checkout, monkeypatch):
    return loaded(checkout / "packaging" / "setup.py", monkeypatch)


@pytest.fixture
def finished(setup):
    """A set-up that is done."""
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", setup.VENV], check=True, capture_output=True
    )
    setup.DONE.write_text(json.dumps(setup.keys("run")))
    return setup


def test_that_a_finished_set_up_has_nothing_to_do(finished):
    assert finished.is_current(finished.keys("run"))
    assert not finished.is_current(finished.keys("test"))


@pytest.mark.parametrize(
    "change",
    [
        lambda root: (root / "packaging" / "requirements.txt").write_text("six==1.16.0\n"),
        lambda root: (root / "pyproject.toml").write_text(""),
        lambda root: (root / "engine" / "starter.py").write_text(""),
        lambda root: (root / "resources" / "starter" / "model.safetensors").unlink(),
        lambda root: (root / ".venv" / "setup.json").write_text("{half"),
        lambda root: (root / ".venv" / "bin" / "python").unlink(),
        lambda root: shutil.rmtree(root / ".venv"),
    ],
    ids=["lock", "project", "converter", "no model", "half a note", "no python", "no venv"],
)
def test_that_what_changed_is_noticed(finished, checkout, change):
    change(checkout)
    assert not finished.is_current(finished.keys("run"))


def test_that_a_moved_checkout_gets_a_new_environment(finished, checkout, monkeypatch):
    moved = checkout.rename(checkout.with_name("moved"))
    setup = loaded(moved / "packaging" / "setup.py", monkeypatch)
    assert not setup.is_current(setup.keys("run"))
    assert setup.venv_fault() != ""


@pytest.mark.parametrize("what", ["empty", "dangling", "a file"])
def test_that_a_broken_environment_is_made_anew(setup, what, capsys):
    if what == "a file":
        setup.VENV.write_text("")
    else:
        (setup.VENV / "bin").mkdir(parents=True)
    if what == "dangling":
        setup.PYTHON.symlink_to("/nowhere/python3")
    setup.make_venv()
    assert setup.venv_fault() == ""
    if what != "a file":
        assert "making it anew" in capsys.readouterr().out


def test_that_no_suitable_python_is_one_sentence_with_what_to_type(setup, monkeypatch):
    monkeypatch.setattr(setup, "VERSIONS", ((2, 9),))
    with pytest.raises(SystemExit, match=r"Python 3\.11, 3\.12 or 3\.13 is needed .* install"):
        setup.interpreter()


def test_that_a_full_disk_is_told_before_anything_is_downloaded(setup, monkeypatch):
    monkeypatch.setattr(setup, "FREE_BYTES", 10**18)
    with pytest.raises(SystemExit, match="make room and run this again"):
        setup.check_machine()


def test_that_what_pip_cannot_do_is_shown_with_what_to_do(setup, monkeypatch, capfd):
    monkeypatch.setattr(setup, "PYTHON", Path(sys.executable))
    wrong = setup.ROOT / "wrong.txt"
    wrong.write_text("there-is-none==1.0 --hash=sha256:" + "0" * 64 + "\n")
    with pytest.raises(SystemExit, match="installing packages failed, see above"):
        setup.pip(
            "installing packages", "install", "--no-index", "--require-hashes", "-r", str(wrong)
        )
    assert "there-is-none" in capfd.readouterr().err


def test_that_the_purpose_must_be_named():
    run = subprocess.run(
        [sys.executable, ROOT / "packaging" / "setup.py"], capture_output=True, text=True
    )
    assert run.returncode == 1
    assert "run, or test" in run.stderr
    assert "Traceback" not in run.stderr


@pytest.fixture
def system(monkeypatch):
    return loaded(ROOT / "packaging" / "system.py", monkeypatch)


@pytest.mark.skipif(sys.platform != "linux", reason="a Mac needs none of these")
def test_that_what_is_missing_is_named_by_its_package(system, monkeypatch):
    there = system.Need("libc6", "everything", "libc.so.6")
    library = system.Need("libnone1", "nothing", "libnone-such.so.1")
    program = system.Need("none", "nothing", "no-such-program")
    monkeypatch.setattr(system, "WINDOW", (there, library))
    monkeypatch.setattr(system, "SPEED", (program,))
    assert system.missing("run") == [library, program]


def test_that_the_line_to_type_is_the_whole_line(system, monkeypatch):
    monkeypatch.setattr(system.shutil, "which", lambda name: f"/usr/bin/{name}")
    assert system.line(["libegl1", "g++"]) == "sudo apt-get install libegl1 g++"


def test_that_a_system_without_apt_is_told_the_names(system, monkeypatch):
    monkeypatch.setattr(system.shutil, "which", lambda name: None)
    assert system.line(["libegl1"]).endswith("libegl1")
    assert not system.may_install()


@pytest.fixture
def lacking(setup, monkeypatch):
    """A machine without one required library and without the right to install it."""
    need = setup.system.Need("libnone1", "windows", "libnone-such.so.1")
    monkeypatch.setattr(setup.system, "missing", lambda level: [need])
    monkeypatch.setattr(setup.system, "may_install", lambda: False)
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    return setup


def test_that_without_a_screen_a_missing_window_library_stops_nobody(lacking, capsys):
    assert lacking.install_system("run") is False
    assert "libnone1" in capsys.readouterr().out.splitlines()[-1]


def test_that_with_a_screen_the_line_to_type_comes_first(lacking, monkeypatch):
    monkeypatch.setenv("DISPLAY", ":0")
    with pytest.raises(SystemExit, match=r"type this and run the same command again: .*libnone1"):
        lacking.install_system("run")
