"""Renders chat templates in a process of its own, with little memory and little time.

A template is a program of the model's publisher. It runs in Jinja's immutable sandbox, here, where
an endless loop or a huge string costs nothing but this process. Standard library and Jinja only.
"""

import json
import resource
import sys
from datetime import datetime
from typing import Any

MEMORY = 512 << 20  # bytes of address space
SECONDS = 2  # of processor time for one rendering


def main() -> None:
    """Answer requests, one JSON line each, until standard input ends."""
    if sys.platform != "darwin":  # there the address space holds far more than the memory used
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    for line in sys.stdin:
        spent = resource.getrusage(resource.RUSAGE_SELF)
        used = int(spent.ru_utime + spent.ru_stime)
        resource.setrlimit(resource.RLIMIT_CPU, (used + SECONDS + 1, resource.RLIM_INFINITY))
        try:
            answer = {"text": render(json.loads(line))}
        except Exception as error:  # noqa: BLE001 - whatever a template does is its own error
            answer = {"error": f"{type(error).__name__}: {error}"[:500]}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def render(request: dict[str, Any]) -> str:
    """Render `template` with `variables`, in the environment that transformers documents."""
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )
    environment.filters["tojson"] = _tojson
    own: dict[str, Any] = {"raise_exception": _refuse, "strftime_now": _now}
    environment.globals.update(own)
    return environment.from_string(request["template"]).render(**request["variables"])


def _tojson(value: object, ensure_ascii: bool = False, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent)


def _now(form: str) -> str:
    return datetime.now().strftime(form)


def _refuse(message: str) -> None:
    raise ValueError(message)


if __name__ == "__main__":
    main()
