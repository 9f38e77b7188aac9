"""A conversation as its model was trained to see it, in a form that the template takes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from engine.errors import TemplateRefused
from engine.request import Turn
from engine.templates import LIMIT, TemplateRenderer, folded

_FOLDED = "The model takes no such roles: their text was joined with the next turn."
_CHANGED = "The chat format of this model changes or leaves out part of what was written."


@dataclass(frozen=True, slots=True)
class Rendered:
    """A conversation as text.

    Attributes:
        text: up to where the reply begins.
        others: other prompts that begin as the next turn's will, for as long as they agree.
        notes: what had to be changed, one sentence each.
    """

    text: str
    others: tuple[str, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Form:
    """One way to give turns to a template."""

    fold: bool  # no system role, equal neighbours merged
    in_parts: bool  # each text as a list of one part, as templates for pictures want it

    def messages(self, turns: Sequence[Turn]) -> list[dict[str, Any]]:
        turns = folded(turns) if self.fold else turns
        return [{"role": t.role, "content": self._content(t.text)} for t in turns]

    def _content(self, text: str) -> object:
        return [{"type": "text", "text": text}] if self.in_parts else text


_FORMS = (_Form(False, False), _Form(True, False), _Form(False, True), _Form(True, True))


class ChatFormat:
    """A chat template and the worker that renders it."""

    def __init__(self, template: str, special: dict[str, str]) -> None:
        self._template, self._special = template, special
        self._renderer = TemplateRenderer()

    def start(self) -> None:
        """Start the worker, so that the first rendering does not wait for it."""
        self._renderer.start()

    def close(self) -> None:
        """End the worker."""
        self._renderer.close()

    def render(self, turns: Sequence[Turn], unfinished: str, thinking: bool | None) -> Rendered:
        """Render in the first form that keeps every word, else in the first that renders.

        `unfinished` is the reply so far; it is not part of the text.

        Raises:
            TemplateRefused: no form can be rendered.
        """
        text, form, notes = self._first(turns, thinking)
        reply = Turn("assistant", unfinished or "x")
        others = (
            *self._maybe(form.messages(turns), thinking, header=False),
            *self._maybe(form.messages([*turns, reply, Turn("user", "x")]), thinking, header=True),
        )
        return Rendered(text, others, notes)

    def _first(
        self, turns: Sequence[Turn], thinking: bool | None
    ) -> tuple[str, _Form, tuple[str, ...]]:
        refusal: TemplateRefused | None = None
        rendered: list[tuple[str, _Form]] = []
        for form in _FORMS:
            try:
                text = self._rendered(form.messages(turns), thinking, header=True)
            except TemplateRefused as error:
                if error.code == LIMIT:
                    raise
                refusal = refusal or error
                continue
            if _holds(text, turns):
                return text, form, (_FOLDED,) if form.fold else ()
            rendered.append((text, form))
        if rendered:
            return *rendered[0], (_CHANGED,)
        assert refusal is not None
        raise refusal

    def _maybe(
        self, messages: list[dict[str, Any]], thinking: bool | None, *, header: bool
    ) -> Iterator[str]:
        try:
            yield self._rendered(messages, thinking, header=header)
        except TemplateRefused:
            return

    def _rendered(
        self, messages: list[dict[str, Any]], thinking: bool | None, *, header: bool
    ) -> str:
        # None, where a template asks `is not none` without asking whether the name is defined.
        variables: dict[str, Any] = {"tools": None, "documents": None, **self._special}
        if thinking is not None:
            variables |= {"enable_thinking": thinking, "thinking": thinking}
        variables |= {"messages": messages, "add_generation_prompt": header}
        return self._renderer.render(self._template, variables)


def _holds(text: str, turns: Sequence[Turn]) -> bool:
    """Whether every turn stands in `text`, each at a place of its own.

    Replies are not asked for: templates drop the thinking in them.
    """
    pieces = [t.text.strip() for t in turns if t.role != "assistant"]
    for piece in sorted(filter(None, pieces), key=len, reverse=True):
        before, found, after = text.partition(piece)
        if not found:
            return False
        text = f"{before}\0{after}"
    return True
