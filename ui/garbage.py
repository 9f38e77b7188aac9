"""Python's cycle collector, on the GUI thread only.

Left alone it runs on whichever thread allocates most, which is the engine's, and destroys there the
QObjects that it finds in reference cycles. Qt allows that on their own thread only.
"""

import gc

from PySide6.QtCore import QObject, QTimer

INTERVAL_MS = 500


class CycleCollector(QObject):
    """Collects from now on, on the thread that made it, until `parent` is destroyed."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        gc.disable()
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._collect_due)
        self._timer.start(INTERVAL_MS)

    def _collect_due(self) -> None:
        for generation in (2, 1, 0):
            if gc.get_count()[generation] > gc.get_threshold()[generation]:
                gc.collect(generation)
                return
