"""What a file really is when a download went wrong."""

import re
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["pointer", "web_page", "archive"]

HEAD = 1024  # bytes that are enough to tell

PHRASES: dict[Kind, str] = {
    "pointer": "a Git LFS pointer of a few lines that stands for the file, not the file itself",
    "web_page": "a web page, such as a sign-in or error page, not the file itself",
    "archive": "a file of another program (pickle, zip or GGUF), which is never opened",
}
_MARKS: tuple[tuple[Kind, re.Pattern[bytes]], ...] = (
    ("pointer", re.compile(rb"version https?://[a-z.-]*git-lfs", re.IGNORECASE)),
    ("web_page", re.compile(rb"(\xef\xbb\xbf)?\s*<(!doctype|html|head|body|\?xml|!--)", re.I)),
    ("archive", re.compile(rb"PK\x03\x04|GGUF|\x80[\x02-\x05]|\x1f\x8b")),
)


def impostor(head: bytes) -> Kind | None:
    """What a file that begins with `head` is if it is one of the usual impostors."""
    return next((kind for kind, mark in _MARKS if mark.match(head)), None)
