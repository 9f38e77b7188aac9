"""Whether a window can open here, settled before Qt is asked: Qt would end the process."""

import shutil
import socket
import sys
from collections.abc import Mapping
from pathlib import Path

_SECONDS = 2.0  # for a local display server to accept
_DRAWS_NOWHERE = ("offscreen", "minimal", "vnc", "linuxfb", "eglfs")


def no_window(environment: Mapping[str, str], platform: str = sys.platform) -> str:
    """Why no window can open and what to do instead; empty if nothing speaks against it."""
    if platform != "linux":
        return ""
    if environment.get("QT_QPA_PLATFORM", "").partition(":")[0] in _DRAWS_NOWHERE:
        return ""
    if environment.get("WAYLAND_DISPLAY"):
        return ""
    display = environment.get("DISPLAY", "")
    if not display:
        return (
            "There is no screen here (neither DISPLAY nor WAYLAND_DISPLAY is set), so no window "
            f"can open. To chat in the terminal: {_ask()}"
        )
    if not _answers(display):
        return (
            f"The screen that DISPLAY names ({display}) does not answer, so no window can open. "
            f"To chat in the terminal: {_ask()}"
        )
    return ""


def _answers(display: str) -> bool:
    """Whether a local X server accepts; one on another machine is believed to."""
    number = display.removeprefix("unix").removeprefix(":").partition(".")[0]
    if not number.isdigit():
        return True
    path = f"/tmp/.X11-unix/X{number}"
    for address in (path, "\0" + path):
        with socket.socket(socket.AF_UNIX) as server:
            server.settimeout(_SECONDS)
            if server.connect_ex(address) == 0:
                return True
    return False


def _ask() -> str:
    """The line to type, whether or not the command is on the PATH."""
    command = "slipstream"
    if shutil.which(command) is None:
        beside = Path(sys.executable).with_name(command)
        here = Path.cwd()
        command = str(beside.relative_to(here) if beside.is_relative_to(here) else beside)
    return f'{command} ask "Why is the sea salt?"'
