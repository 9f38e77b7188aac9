"""Renders chat templates in a process of its own, with little memory and little time.

A template is a program of the model's publisher. It runs in Jinja's immutable sandbox, here, where
an endless loop or a huge string costs nothing but this process. Standard library and Jinja only.
"""

import json
import os
import resource
import signal
import sys
from collections.abc import Iterable
from datetime import datetime
from functools import lru_cache, partial
from typing import Any, cast

from jinja2 import nodes
from jinja2.exceptions import SecurityError, TemplateError
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace

MEMORY = 512 << 20  # bytes
SECONDS = 2  # of processor time for one rendering
LONGEST = 1 << 24  # characters or items that one multiplication may make
_CHECK = 0.02  # seconds between two looks at the memory used


def main() -> None:
    """Answer requests, one JSON line each, until standard input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the program
    before = _most_memory()  # on Linux what the parent had used when it started this process
    signal.signal(signal.SIGALRM, partial(_watch, before))
    if sys.platform != "darwin":  # there the address space holds far more than the memory used
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    compiled = lru_cache(maxsize=2)(_environment().from_string)
    for line in sys.stdin:
        spent = resource.getrusage(resource.RUSAGE_SELF)
        used = int(spent.ru_utime + spent.ru_stime)
        resource.setrlimit(resource.RLIMIT_CPU, (used + SECONDS + 1, resource.RLIM_INFINITY))
        signal.setitimer(signal.ITIMER_REAL, _CHECK, _CHECK)
        request = json.loads(line)
        try:
            text = compiled(request["template"]).render(**request["variables"])
            answer = {"text": text}
        except MemoryError:
            os._exit(1)
        except Exception as error:  # noqa: BLE001 - whatever a template does is its own error
            answer = {"error": f"{type(error).__name__}: {error}"[:500]}
        signal.setitimer(signal.ITIMER_REAL, 0)
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


class _Environment(ImmutableSandboxedEnvironment):
    """The sandbox, in which no single multiplication fills the memory."""

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:  # noqa: ANN401 - as in Jinja
        """Multiply, unless it makes something huge."""
        for times, value in ((left, right), (right, left)):
            if (
                isinstance(times, int)
                and hasattr(value, "__len__")
                and times * len(value) > LONGEST
            ):
                raise MemoryError
        return super().call_binop(context, operator, left, right)


class _Generation(Extension):
    """`{% generation %}`, with which a publisher marks what is trained on: its body is kept."""

    tags = {"generation"}  # noqa: RUF012 - as in Jinja

    def parse(self, parser: Parser) -> nodes.Node:
        """The statements between the two tags, in a scope of their own."""
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.Scope(body, lineno=line)


class _Namespace(Namespace):
    """A namespace whose names cannot reach into the interpreter."""

    def __init__(*args: object, **values: object) -> None:  # `self` too may be a name in it
        self, *rest = cast("tuple[_Namespace, *tuple[dict[str, object], ...]]", args)
        held = dict(*rest, **values)
        for name in held:
            _check(name)
        Namespace.__init__(self, held)

    def __setitem__(self, name: str, value: object) -> None:
        _check(name)
        super().__setitem__(name, value)


class _Dict:
    """`dict` as a function, without the attributes of the class."""

    def __call__(self, *args: dict[object, object], **values: object) -> dict[object, object]:
        made: dict[object, object] = dict(*args)
        made.update(values)
        return made

    def fromkeys(self, keys: Iterable[object], value: object = None) -> dict[object, object]:
        """As `dict.fromkeys`."""
        return dict.fromkeys(keys, value)


def _environment() -> ImmutableSandboxedEnvironment:
    """The environment that transformers documents for chat templates."""
    environment = _Environment(
        trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, "jinja2.ext.loopcontrols"]
    )
    environment.intercepted_binops = frozenset({"*"})
    environment.filters["tojson"] = _tojson
    own: dict[str, Any] = {
        "raise_exception": _refuse,
        "strftime_now": _now,
        "namespace": _Namespace,
        "dict": _Dict(),
    }
    environment.globals.update(own)
    return environment


def _tojson(
    value: object,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    return json.dumps(
        value,
        ensure_ascii=ensure_ascii,
        indent=indent,
        separators=separators,
        sort_keys=sort_keys,
    )


def _now(form: str) -> str:
    return datetime.now().strftime(form)


def _refuse(message: str) -> None:
    raise TemplateError(message)


def _check(name: object) -> None:
    if isinstance(name, str) and name.startswith("_"):
        raise SecurityError(f"a template may not set {name!r}")


def _watch(before: int, *_: object) -> None:
    """End at once when too much memory is used; on macOS no limit of the system does."""
    if _most_memory() > before + MEMORY:
        os._exit(1)


def _most_memory() -> int:
    """The most bytes that were resident at any time."""
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used if sys.platform == "darwin" else used * 1024


if __name__ == "__main__":
    main()
