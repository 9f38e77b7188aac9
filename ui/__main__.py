"""Start the program in a window, and end it in order."""

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Callable
from types import FrameType, TracebackType

from PySide6.QtWidgets import QApplication
from qasync import QEventLoop

from app.folders import Folders
from app.log import mend_streams
from app.program import running
from app.reply import EngineLike
from ui import icons, wording
from ui.garbage import CycleCollector
from ui.main_window import MainWindow
from ui.tasks import Tasks
from ui.theme import Theme, Themes

_log = logging.getLogger(__name__)
TASK_SECONDS = 1.0  # for what a click started, before the store is closed all the same
END_SECONDS = 2.2  # for everything, counted from the same moment; a person waits three at most


class Root:
    """Everything behind the window, from its start to its end.

    `engine` makes the engine on its thread; None takes the real one.
    """

    def __init__(self, engine: Callable[[], EngineLike] | None = None) -> None:
        self._engine = engine
        self._window: MainWindow | None = None
        self._end_asked = False

    async def run(self) -> None:
        """Show the window; return when it is closed and everything behind it has ended."""
        async with running(Folders.standard(), engine=self._engine) as program:
            settings = program.settings.current
            themes = Themes(settings.appearance, settings.text_size)
            tasks = Tasks(self._report)
            window = self._window = MainWindow(program, tasks, themes)
            _collector = CycleCollector(window)
            window.show()
            if self._end_asked:
                window.close()
            await window.close_asked.wait()
            window.keep_place()
            window.hide()
            asyncio.get_running_loop().call_later(END_SECONDS, _end_now)
            await self._end(tasks)

    async def _end(self, tasks: Tasks) -> None:
        """Cancel what runs. What is stuck in a load is left to the deadline, not waited for."""
        try:
            async with asyncio.timeout(TASK_SECONDS):
                await tasks.cancel()
        except TimeoutError:
            _log.info("Something did not end in time and was left behind.")

    def ask_end(self, _number: int, _frame: FrameType | None) -> None:
        """SIGTERM and SIGINT mean what closing the window means."""
        self._end_asked = True
        if self._window is not None:
            self._window.close()

    def uncaught(
        self, kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        """What no one caught, in a slot or in a paint, is a bug: say so, and print it as usual."""
        sys.__excepthook__(kind, error, trace)
        if self._window is not None:
            self._window.report(error)

    def _report(self, error: BaseException) -> None:
        _log.error("A task failed.", exc_info=error)
        if self._window is not None:
            self._window.report(error)


def _end_now() -> None:
    """Leave behind what has not ended: the store is right after a kill too."""
    os._exit(0)


def _has_display() -> bool:
    """Whether there is a screen to open a window on; Qt would abort the process without one."""
    places = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")
    return not sys.platform.startswith("linux") or any(os.environ.get(place) for place in places)


def main(engine: Callable[[], EngineLike] | None = None) -> int:
    """Open the window and return the exit code once it is closed."""
    mend_streams()
    if not _has_display():
        sys.stderr.write(f"{wording.NO_DISPLAY}\n")
        return 1
    app = QApplication(sys.argv[:1])
    app.setApplicationName(wording.PRODUCT)
    app.setDesktopFileName("slipstream")
    app.setWindowIcon(icons.icon("app", Theme.light().text))
    app.setQuitOnLastWindowClosed(False)
    if sys.platform != "darwin":
        app.setStyle("Fusion")  # styles of desktops bring colours of their own
    root = Root(engine)
    sys.excepthook = root.uncaught
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, root.ask_end)
    with asyncio.Runner(loop_factory=lambda: QEventLoop(app)) as runner:
        runner.run(root.run())
    return 0


if __name__ == "__main__":
    sys.exit(main())
