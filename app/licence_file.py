"""What a model's folder itself says about its licence: words to be shown, never to be rendered."""

import re
from pathlib import Path

_MOST = 65_536  # bytes that are read of a file
_FILES = ("LICENSE", "LICENSE.md", "LICENSE.txt", "LICENCE", "LICENCE.md", "LICENCE.txt", "COPYING")
_README = "README.md"
_FIELD = re.compile(r"(license|license_name):[ \t]*(.*)")
_ITEM = re.compile(r"[ \t]*-[ \t]+(.+)")
_EMPTY = {"", "other", "unknown", "null", "[]"}


def stated(folder: Path) -> str:
    """The beginning of the licence file in `folder`, else the licence its README names.

    Empty where there is neither, or where it cannot be read.
    """
    for name in _FILES:
        if text := _head(folder / name).strip():
            return text
    return _front_matter(_head(folder / _README))


def title(text: str) -> str:
    """The first line of a licence that has words, without the marks of a heading."""
    for line in text.splitlines():
        plain = " ".join(line.split()).strip("#*=_- ")
        if any(letter.isalnum() for letter in plain):
            return plain
    return ""


def _head(path: Path) -> str:
    """The first bytes of a plain file as text; a pipe or a device is not opened."""
    try:
        if not path.is_file():
            return ""
        with path.open("rb") as file:
            return file.read(_MOST).decode("utf-8-sig", "replace")
    except OSError:
        return ""


def _front_matter(text: str) -> str:
    """`license_name`, else `license`, of the YAML between the first two lines of `---`."""
    lines = text.splitlines()
    if not lines or lines[0].strip() != "---":
        return ""
    found: dict[str, str] = {}
    for number, line in enumerate(lines[1:], 1):
        if line.strip() in ("---", "..."):
            break
        if match := _FIELD.fullmatch(line):
            value = match[2] or _first_item(lines[number + 1 : number + 2])
            found[match[1]] = value.strip().strip("\"'")
    else:
        return ""  # it never ends: this is no front matter
    names = (found.get("license_name", ""), found.get("license", ""))
    return next((name for name in names if name.lower() not in _EMPTY), "")


def _first_item(lines: list[str]) -> str:
    match = _ITEM.fullmatch(lines[0]) if lines else None
    return match[1] if match else ""
