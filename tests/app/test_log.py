import logging
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from app.log import CRASHES, NAME, logging_to


def test_that_the_log_is_in_the_folder_and_names_no_home(tmp_path):
    with logging_to(tmp_path):
        logging.getLogger("here").warning("cannot open %s", Path.home() / "model")
    logging.getLogger("here").warning("after the end")
    text = (tmp_path / NAME).read_text()
    assert "WARNING here: cannot open ~/model" in text
    assert "after" not in text


def test_that_what_nobody_caught_is_logged_and_handed_on(tmp_path, monkeypatch):
    handed_on = []
    monkeypatch.setattr(sys, "excepthook", lambda kind, error, trace: handed_on.append(error))
    monkeypatch.setattr(threading, "excepthook", lambda args: handed_on.append(args.exc_value))
    hooks = sys.excepthook, threading.excepthook
    errors = [ValueError("in a slot"), ValueError("on a thread")]

    def fail():
        raise errors[1]

    with logging_to(tmp_path):
        sys.excepthook(ValueError, errors[0], None)
        thread = threading.Thread(target=fail)
        thread.start()
        thread.join()
    assert handed_on == errors
    assert (sys.excepthook, threading.excepthook) == hooks
    text = (tmp_path / NAME).read_text()
    assert "ValueError: in a slot" in text
    assert "ValueError: on a thread" in text


def test_that_a_hook_set_by_others_meanwhile_stays(tmp_path, monkeypatch):
    def theirs(*_):
        raise AssertionError

    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    monkeypatch.setattr(threading, "excepthook", threading.excepthook)
    with logging_to(tmp_path):
        sys.excepthook = threading.excepthook = theirs
    assert sys.excepthook is theirs
    assert threading.excepthook is theirs


def test_that_a_folder_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(OSError, match="nowhere"), logging_to(tmp_path / "nowhere"):
        pass


WITHOUT_STREAMS = """
import sys
sys.stdout = sys.stderr = None
from app.log import logging_to, mend_streams
mend_streams()
from pathlib import Path
print("to nobody")
sys.stderr.write("to nobody")
sys.stderr.flush()
with logging_to(Path(sys.argv[1])):
    sys.excepthook(ValueError, ValueError("in a slot"), None)
"""


def test_that_the_log_works_without_stdout_and_stderr(tmp_path):
    ended = subprocess.run(
        [sys.executable, "-X", "dev", "-c", WITHOUT_STREAMS, tmp_path], timeout=60, check=False
    )
    assert ended.returncode == 0
    assert "ValueError: in a slot" in (tmp_path / NAME).read_text()


def test_that_streams_that_are_there_stay():
    code = "import sys; from app.log import mend_streams; mend_streams(); print('seen')"
    seen = subprocess.run([sys.executable, "-c", code], timeout=60, check=True, capture_output=True)
    assert seen.stdout == b"seen\n"


ABORTING = """
import os, sys
from pathlib import Path
from app.log import logging_to
with logging_to(Path(sys.argv[1])):
    os.abort()
"""


def test_that_a_native_abort_leaves_its_stacks(tmp_path):
    ended = subprocess.run([sys.executable, "-c", ABORTING, tmp_path], timeout=60, check=False)
    assert ended.returncode != 0
    assert "Fatal Python error: Aborted" in (tmp_path / CRASHES).read_text()


def test_that_stacks_go_where_somebody_asked_for_them_before(tmp_path):
    command = [sys.executable, "-X", "faulthandler", "-c", ABORTING, tmp_path]
    ended = subprocess.run(command, timeout=60, check=False, capture_output=True)
    assert b"Fatal Python error: Aborted" in ended.stderr
    assert not (tmp_path / CRASHES).exists()


def test_that_aborts_are_no_longer_watched_for_after_the_end(tmp_path):
    code = "import faulthandler, sys; from pathlib import Path; from app.log import logging_to\n"
    code += "with logging_to(Path(sys.argv[1])): assert faulthandler.is_enabled()\n"
    code += "assert not faulthandler.is_enabled()"
    subprocess.run([sys.executable, "-c", code, tmp_path], timeout=60, check=True)
