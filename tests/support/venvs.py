"""Other programs to compare with, each in a venv of its own under .bench; ours is left alone."""

import json
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parents[2]
BENCH = ROOT / ".bench"
TORCH, TRANSFORMERS = "torch==2.13.0", "transformers==5.24.0"
DFLASH, DSPARK = "dflash==0.1.0", "mlx-dspark==0.20.3"
SECONDS = 1200  # to get packages; torch is the largest


class Unavailable(Exception):
    """The packages cannot be had here; its text is one sentence that says so."""


def transformers_python(bench=BENCH):
    """The interpreter of transformers and torch, and of z-lab's dflash, which runs on them.

    pip takes torch's CPU build where it sees one. What dflash asks for beyond is for its servers.
    """
    return _made(bench / "transformers", [TORCH, TRANSFORMERS], [DFLASH])


def dspark_python(bench=BENCH):
    """The interpreter of mlx-dspark, on the MLX that ours runs on."""
    cpu = "[cpu]" if sys.platform == "linux" else ""
    own = [f"mlx{cpu}=={version('mlx')}", f"mlx-lm=={version('mlx-lm')}"]
    return _made(bench / "mlx-dspark", [DSPARK, *own])


def _made(folder, pins, alone=()):
    """The interpreter of a venv with these packages, made anew when it has others or is not whole.

    Those in `alone` come without what they ask for.

    Raises:
        Unavailable: pip does not get them; nothing is left in the folder then.
    """
    python, ready, wanted = folder / "bin" / "python", folder / "ready.json", [*pins, *alone]
    if ready.exists() and json.loads(ready.read_text()) == wanted:
        return python
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", folder], check=True, timeout=120)
    for packages in (pins, ["--no-deps", *alone] if alone else []):
        if packages and (fault := _pip(python, packages)):
            shutil.rmtree(folder)
            names = ", ".join(wanted)
            raise Unavailable(
                f"pip cannot get {names} here, so nothing was compared with them: {fault}"
            )
    ready.write_text(json.dumps(wanted))
    return python


def _pip(python, packages):
    """Install packages; what was wrong, in pip's last words, or nothing."""
    command = [python, "-m", "pip", "--no-input", "--disable-pip-version-check", "install"]
    try:
        found = subprocess.run(
            [*command, *packages], capture_output=True, text=True, timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        return f"it is not done in {SECONDS} seconds"
    said = found.stderr.strip().splitlines() or [f"it ended with {found.returncode}"]
    return said[-1] if found.returncode else ""
