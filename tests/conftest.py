"""What every test stands on: no thread, no network and no error goes unseen."""

import asyncio
import gc
import socket
import threading

import pytest

import resources
from engine.backend import prepare

prepare()  # before any test module imports MLX

LOCAL = {"127.0.0.1", "::1", "localhost", "", None}
SECONDS_TO_END = 20.0  # for threads that a test has told to end
SLOW_SECONDS = 1800.0  # for a slow test that names no limit of its own


def pytest_collection_modifyitems(items):
    """Give slow tests the time that they are there for."""
    for item in items:
        if item.get_closest_marker("slow") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(SLOW_SECONDS))


@pytest.fixture(autouse=True)
def home(monkeypatch, tmp_path):
    """Everything the program keeps lies in a folder of this test's own, also in child processes."""
    folder = tmp_path / "home"
    monkeypatch.setenv("SLIPSTREAM_HOME", str(folder))
    return folder


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    """Only this machine can be reached; who tries further fails, even when it hides the error."""
    tried = []
    connect, connect_ex, getaddrinfo = (
        socket.socket.connect,
        socket.socket.connect_ex,
        socket.getaddrinfo,
    )

    def allow(host):
        if isinstance(host, bytes):
            host = host.decode()
        if host not in LOCAL:
            tried.append(host)
            raise OSError(f"a test may not reach {host}")

    def allow_address(address):
        if isinstance(address, tuple):  # a path is a Unix socket
            allow(address[0])

    def guarded_connect(self, address):
        allow_address(address)
        return connect(self, address)

    def guarded_connect_ex(self, address):
        allow_address(address)
        return connect_ex(self, address)

    def guarded_getaddrinfo(host, *rest, **options):
        allow(host)
        return getaddrinfo(host, *rest, **options)

    monkeypatch.setattr(socket.socket, "connect", guarded_connect)
    monkeypatch.setattr(socket.socket, "connect_ex", guarded_connect_ex)
    monkeypatch.setattr(socket, "getaddrinfo", guarded_getaddrinfo)
    yield tried
    assert not tried, f"reached for the network: {tried}"


@pytest.fixture(autouse=True)
def no_thread_outlives_its_test():
    """Threads that were started have ended, or end at once."""
    before = set(threading.enumerate())
    yield
    left = [
        thread for thread in threading.enumerate() if thread not in before and not _ends(thread)
    ]
    assert not left


def _ends(thread):
    if not isinstance(thread, threading._DummyThread):  # those cannot be joined
        thread.join(SECONDS_TO_END)
    return not thread.is_alive()


@pytest.fixture(autouse=True)
def cycles_are_collected_on_this_thread(request):
    """As in the window: QObjects in reference cycles must not die on the engine's thread."""
    if "qapp" not in request.fixturenames:
        yield
        return
    gc.disable()
    yield
    gc.collect()
    gc.enable()


@pytest.fixture
def loop(qapp):
    """An event loop that runs coroutines and Qt together, as the window's does."""
    from qasync import QEventLoop

    loop = QEventLoop(qapp, already_running=False)
    asyncio.set_event_loop(loop)
    with loop:
        yield loop
    asyncio.set_event_loop(None)


@pytest.fixture
def until():
    """`await until(condition, seconds=30)` returns as soon as `condition()` is true, or fails."""
    return _until


async def _until(condition, seconds=30.0):
    try:
        async with asyncio.timeout(seconds):
            while not condition():
                await asyncio.sleep(0.005)
    except TimeoutError:
        pytest.fail(f"still not true after {seconds} s")


class Reported(list):
    """Errors handed to a reporter, and whether the test has looked at them since."""

    looked = True

    def append(self, error):
        super().append(error)
        self.looked = False

    def __iter__(self):
        self.looked = True
        return super().__iter__()

    def __getitem__(self, index):
        self.looked = True
        return super().__getitem__(index)

    def __eq__(self, other):
        self.looked = True
        return super().__eq__(other)

    __hash__ = None


@pytest.fixture
def errors():
    """Give `errors.append` as the reporter; an error that the test never looks at fails it."""
    reported = Reported()
    yield reported
    assert reported.looked, f"nobody looked at {list(reported)}"


@pytest.fixture(scope="session")
def starter():
    """The folder of the starter model."""
    folder = resources.path("starter")
    if not (folder / "model.safetensors").is_file():
        pytest.fail("The starter model is not there: run make setup.", pytrace=False)
    return folder


@pytest.fixture(scope="session")
def smol(starter):
    """The starter's tokenizer."""
    from engine.tokenizer import Tokenizer

    tokenizer = Tokenizer.open(starter, {"eos_token_id": 2})
    yield tokenizer
    tokenizer.close()
