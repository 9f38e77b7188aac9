import gc
import threading
import weakref

from PySide6.QtCore import QObject, QTimer

from app.confined import Confined
from ui.garbage import CycleCollector


def test_that_cycles_with_qobjects_die_on_this_thread(loop, until):
    died_on = []

    class Knot(QObject):
        def __init__(self):
            super().__init__()
            self.me = self
            self.timer = QTimer(self)
            self.timer.start(1000)

        def __del__(self):
            died_on.append(threading.current_thread())

    def allocate(_):
        for _ in range(50_000):
            knot = []
            knot.append(knot)

    async def scene():
        parent = QObject()
        CycleCollector(parent)
        Knot()
        confined = Confined("engine", object)
        await confined.call(allocate)
        await until(lambda: died_on)
        await confined.close()

    loop.run_until_complete(scene())
    assert died_on == [threading.main_thread()]


def test_that_the_collector_takes_over_from_pythons_own(qapp):
    gc.enable()
    parent = QObject()
    CycleCollector(parent)
    assert not gc.isenabled()


def test_that_nothing_is_collected_before_it_is_due(qapp):
    class Knot:
        def __init__(self):
            self.me = self

    collector = CycleCollector(QObject(qapp))
    gc.collect()
    knot = weakref.ref(Knot())
    collector._collect_due()
    assert knot() is not None
    gc.collect()
    assert knot() is None
