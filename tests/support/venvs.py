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
DSPARK = "mlx-dspark==0.20.3"
SECONDS = 1200  # to get packages; torch is the largest


class Unavailable(Exception):
    """The packages cannot be had here; its text is one sentence that says so."""


def transformers_python(bench=BENCH):
    """The interpreter of transformers and torch; pip takes torch's CPU build where it sees one."""
    return _made(bench / "transformers", [TORCH, TRANSFORMERS])


def dspark_python(bench=BENCH):
    """The interpreter of mlx-dspark, on the MLX that ours runs on."""
    cpu = "[cpu]" if sys.platform == "linux" else ""
    own = [f"mlx{cpu}=={version('mlx')}", f"mlx-lm=={version('mlx-lm')}"]
    return _made(bench / "mlx-dspark", [DSPARK, *own])


def _made(folder, pins):
    """The interpreter of a venv with these packages, made anew when it has others or is not whole.

    Raises:
        Unavailable: pip does not get them; nothing is left in the folder then.
    """
    python, ready = folder / "bin" / "python", folder / "ready.json"
    if ready.exists() and json.loads(ready.read_text()) == pins:
        return python
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", folder], check=True, timeout=120)
    command = [python, "-m", "pip", "--no-input", "--disable-pip-version-check", "install", *pins]
    try:
        found = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
        said = found.stderr.strip().splitlines() or [f"it ended with {found.returncode}"]
    except subprocess.TimeoutExpired:
        found, said = None, [f"not done in {SECONDS} seconds"]
    if found is None or found.returncode:
        shutil.rmtree(folder)
        names = ", ".join(pins)
        raise Unavailable(
            f"pip cannot get {names} here, so nothing was compared with them: {said[-1]}"
        )
    ready.write_text(json.dumps(pins))
    return python
