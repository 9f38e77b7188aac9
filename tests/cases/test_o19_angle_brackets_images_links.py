"""O-19: angle brackets vanish; images and links act by themselves."""

import http.server
import threading
from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication

from app.conversation import Message
from ui.chat.popover import LinkPopover
from ui.chat.transcript import Transcript
from ui.theme import Themes

pytestmark = pytest.mark.qt_log_ignore(
    "This plugin does not support raise", "This plugin does not support grabbing the keyboard"
)


@pytest.fixture
def server():
    """A server on this machine, and the paths that were asked of it."""
    asked = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_args):
            pass

    made = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=made.serve_forever)
    thread.start()
    yield made.server_port, asked
    made.shutdown()
    thread.join()
    made.server_close()


@pytest.fixture
def opened():
    return []


@pytest.fixture
def show(qtbot, opened):
    """`show(text, role)`: the text area of a message that is on screen and painted."""

    def make(text, role):
        transcript = Transcript(Themes("light"), opened.append)
        qtbot.addWidget(transcript)
        transcript.resize(900, 500)
        transcript.show()
        message = Message(1, 1, None, role, text, "stop", 0.0)
        if role == "assistant":
            transcript.show_messages([replace(message, text="", state="streaming")])
            transcript.settle(message)
        else:
            transcript.show_messages([message])
        for _ in range(15):
            transcript.grab()
            QApplication.processEvents()
        return transcript, transcript.view_of(1).body

    return make


@pytest.mark.parametrize("role", ["user", "assistant"])
@pytest.mark.parametrize(
    "text",
    [
        "use vector<int> and <channel> ok",
        "a < b && c > d",
        "<img src='file:///etc/hostname'>",
        "[a](javascript:alert(1)) [b](file:///etc/passwd)",
        "<div>\n<p>text</p>\n</div>",
    ],
)
def test_that_each_character_is_shown_and_copied(show, role, text):
    _, body = show(text, role)
    body.select_all()
    body.copy()
    assert QGuiApplication.clipboard().text() == text
    assert "".join(block.copied(0, block.length) for block in body.blocks).replace("\n", "") == (
        text.replace("\n", "")
    )


@pytest.mark.parametrize("role", ["user", "assistant"])
def test_that_a_picture_is_not_fetched(show, role, server):
    port, asked = server
    address = f"http://127.0.0.1:{port}/a.png?q=secret"
    _, body = show(f"![x]({address})", role)
    assert address in body.plain_text
    assert asked == []


def test_that_a_local_file_is_not_opened(show, monkeypatch):
    names = []
    real = open

    def watched(name, *rest, **options):
        names.append(str(name))
        return real(name, *rest, **options)

    monkeypatch.setattr("builtins.open", watched)
    _, body = show("<img src='file:///etc/hostname'> ![y](file:///etc/hostname)", "assistant")
    assert "file:///etc/hostname" in body.plain_text
    assert not [name for name in names if "hostname" in name]


def test_that_only_the_web_link_opens_and_only_after_it_was_shown(show, opened, qtbot):
    text = "[a](javascript:alert(1)) [b](file:///etc/passwd) [c](https://example.org)"
    transcript, body = show(text, "assistant")
    links = [link for block in body.blocks for link in block.links()]
    assert [address for _, _, address in links] == ["https://example.org"]
    (box,) = body.blocks[0].boxes_of(links[0][0], links[0][1])
    for x in range(2, int(box.left()) - 4, 9):
        qtbot.mouseClick(body, Qt.MouseButton.LeftButton, pos=_at(x, box))
    assert transcript.findChildren(LinkPopover) == []
    qtbot.mouseClick(body, Qt.MouseButton.LeftButton, pos=box.center().toPoint())
    (sheet,) = transcript.findChildren(LinkPopover)
    assert opened == []
    assert sheet.address == "https://example.org"
    sheet.open.click()
    assert opened == ["https://example.org"]


def _at(x, box):
    point = box.center().toPoint()
    point.setX(x)
    return point
