"""How late a timer of Qt fires: what a person feels as a stutter."""

from PySide6.QtCore import QElapsedTimer, QObject, Qt, QTimer

EVERY_MS = 10


class Delays(QObject):
    """Collects in `late`, in milliseconds, how much later than due a 10 ms timer fires."""

    def __init__(self) -> None:
        super().__init__()
        self.late: list[float] = []
        self._clock = QElapsedTimer()
        self._clock.start()
        self._timer = QTimer(self)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._fired)
        self._timer.start(EVERY_MS)

    def taken(self) -> list[float]:
        """What was collected since the last call."""
        late, self.late = self.late, []
        return late

    def _fired(self) -> None:
        self.late.append(max(0.0, self._clock.nsecsElapsed() / 1e6 - EVERY_MS))
        self._clock.restart()


def p99(late: list[float]) -> float:
    """The delay that one of a hundred exceeds."""
    ordered = sorted(late)
    return ordered[int(len(ordered) * 0.99)] if ordered else 0.0
