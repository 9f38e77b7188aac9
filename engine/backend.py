"""What MLX will run on, settled before MLX is first imported.

The Linux wheel of MLX carries a reference BLAS of about 2 GFLOP/s. A system OpenBLAS whose symbols
are global when MLX is loaded takes its place: about 110 GFLOP/s on two cores (measured).
"""

import ctypes
import os
import platform
import shutil
import sys
from dataclasses import dataclass

_LIBRARY = "libopenblas.so.0"


@dataclass(frozen=True, slots=True)
class Backend:
    """The device MLX computes on and what helps it there.

    Attributes:
        name: "metal" or "cpu".
        blas: "accelerate", "openblas" or "reference".
        compiler: whether `mx.compile` can build CPU kernels; without it they run one by one.
    """

    name: str
    blas: str
    compiler: bool


def prepare() -> Backend:
    """Load the faster BLAS and tell MLX what it can do; call before the first `import mlx`.

    Calling again changes nothing. `SLIPSTREAM_BLAS=reference` keeps the BLAS of the wheel.
    """
    if sys.platform == "darwin":
        metal = platform.machine() == "arm64"
        return Backend("metal" if metal else "cpu", "accelerate", compiler=metal)
    compiler = shutil.which("g++") is not None
    if not compiler:
        os.environ.setdefault("MLX_DISABLE_COMPILE", "1")
    return Backend("cpu", _blas(), compiler)


def _blas() -> str:
    if os.environ.get("SLIPSTREAM_BLAS") == "reference":
        return "reference"
    try:
        ctypes.CDLL(_LIBRARY, mode=ctypes.RTLD_GLOBAL)
    except OSError:
        return "reference"
    return "openblas"
