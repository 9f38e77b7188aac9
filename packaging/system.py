"""What the program needs of a Linux system, and how Debian and Ubuntu call it."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence


class Need(NamedTuple):
    """One thing of the system. Without a required one the window does not open."""

    package: str
    what: str
    found_as: str  # a library, a program or a folder that is not empty
    required: bool = True


WINDOW = (
    Need("libegl1", "drawing", "libEGL.so.1"),
    Need("libgl1", "drawing", "libGL.so.1"),
    Need("libfontconfig1", "fonts", "libfontconfig.so.1"),
    Need("libglib2.0-0", "Qt's base", "libglib-2.0.so.0"),
    Need("libdbus-1-3", "the desktop's messages", "libdbus-1.so.3"),
    Need("libxkbcommon0", "the keyboard", "libxkbcommon.so.0"),
    Need("libxkbcommon-x11-0", "the keyboard under X11", "libxkbcommon-x11.so.0"),
    Need("libx11-xcb1", "windows under X11", "libX11-xcb.so.1"),
    Need("libxcb-cursor0", "windows under X11", "libxcb-cursor.so.0"),
    Need("libxcb-icccm4", "windows under X11", "libxcb-icccm.so.4"),
    Need("libxcb-image0", "windows under X11", "libxcb-image.so.0"),
    Need("libxcb-keysyms1", "windows under X11", "libxcb-keysyms.so.1"),
    Need("libxcb-randr0", "windows under X11", "libxcb-randr.so.0"),
    Need("libxcb-render-util0", "windows under X11", "libxcb-render-util.so.0"),
    Need("libxcb-shape0", "windows under X11", "libxcb-shape.so.0"),
    Need("libxcb-sync1", "windows under X11", "libxcb-sync.so.1"),
    Need("libxcb-xfixes0", "windows under X11", "libxcb-xfixes.so.0"),
    Need("libxcb-xkb1", "windows under X11", "libxcb-xkb.so.1"),
    Need("libwayland-client0", "windows under Wayland", "libwayland-client.so.0", False),
    Need("libwayland-cursor0", "windows under Wayland", "libwayland-cursor.so.0", False),
    Need("libwayland-egl1", "windows under Wayland", "libwayland-egl.so.1", False),
    Need("fonts-dejavu-core", "a font", "/usr/share/fonts", False),
)
SPEED = (
    Need("libopenblas0-pthread", "fast arithmetic, some 50 times", "libopenblas.so.0", False),
    Need("g++", "kernels compiled for this machine", "g++", False),
)
TESTS = (Need("xvfb", "a screen for the tests", "Xvfb"),)


def missing(level: str) -> list[Need]:
    """What is not there; nothing on a Mac."""
    if sys.platform != "linux":
        return []
    needs = WINDOW + SPEED + (TESTS if level == "test" else ())
    return [need for need in needs if not _is_there(need.found_as)]


def may_install() -> bool:
    """Whether apt is here and asks for no password."""
    return shutil.which("apt-get") is not None and _as_root() is not None


def install(packages: Sequence[str]) -> bool:
    """Install `packages`; what apt says is shown only when it fails."""
    root = _as_root()
    assert root is not None
    apt = [*root, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "--quiet", "--yes"]
    subprocess.run([*apt, "update"], stdin=subprocess.DEVNULL, capture_output=True)
    run = subprocess.run(
        [*apt, "install", "--no-install-recommends", *packages],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    if run.returncode:
        print("\n".join(run.stderr.splitlines()[-8:]), file=sys.stderr)
    return run.returncode == 0


def line(packages: Sequence[str]) -> str:
    """The line to type for `packages`."""
    if shutil.which("apt-get") is None:
        return "(by your system's package manager; Debian's names) " + " ".join(packages)
    return "sudo apt-get install " + " ".join(packages)


def _as_root() -> list[str] | None:
    """What to put before a command so that it may install, or None."""
    if os.geteuid() == 0:
        return []
    if shutil.which("sudo") is None:
        return None
    asked = subprocess.run(["sudo", "-n", "true"], stdin=subprocess.DEVNULL, capture_output=True)
    return ["sudo", "-n"] if asked.returncode == 0 else None


def _is_there(name: str) -> bool:
    if name.startswith("/"):
        return any(Path(name).glob("*"))
    if ".so" not in name:
        return shutil.which(name) is not None
    try:
        ctypes.CDLL(name)
    except OSError:
        return False
    return True
