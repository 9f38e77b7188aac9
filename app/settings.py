"""What a person may set: typed values with bounds, in one file that is never half written."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from app.conversation import Pair, Settings
from app.fields import Fields, parsed
from app.files import aside_name, write_whole
from app.problem import Problem
from engine.request import DrafterOptions, Drafting, Sampling

Appearance: TypeAlias = Literal["system", "light", "dark"]
SendKey: TypeAlias = Literal["enter", "mod+enter"]
MANY = 1_000_000


@dataclass(frozen=True, slots=True)
class WindowState:
    """Where the window was, in pixels, and what it showed; None lets Qt choose."""

    x: int | None = None
    y: int | None = None
    width: int = 1100
    height: int = 760
    maximised: bool = False
    sidebar: int = 260
    conversation: int | None = None
    inspector: bool = False


@dataclass(frozen=True, slots=True)
class AppSettings:
    """Everything that is not of one conversation. `defaults` only seeds new conversations.

    `plain_pairs` are those whose new conversations begin with drafting off.
    """

    appearance: Appearance = "system"
    text_size: float = 1.0
    send_key: SendKey = "enter"
    defaults: Settings = field(default_factory=Settings)
    window: WindowState = field(default_factory=WindowState)
    plain_pairs: tuple[Pair, ...] = ()


class SettingsFile:
    """The settings as they are now, and the file that keeps them.

    `problem` says what was wrong with the file when it was read.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.problem: Problem | None = None
        self.current = self._read()

    def write(self, settings: AppSettings) -> None:
        """Make `settings` the current ones, in memory even when the file cannot be written.

        Raises:
            OSError: the file could not be written; its old content stands.
        """
        self.current = settings
        plain = {
            **asdict(settings),
            "defaults": settings_to_plain(settings.defaults),
            "plain_pairs": [_folders(asdict(pair)) for pair in settings.plain_pairs],
        }
        write_whole(self._path, json.dumps(plain, indent=2, ensure_ascii=False).encode())

    def _read(self) -> AppSettings:
        try:
            content = self._path.read_bytes()
        except FileNotFoundError:
            return AppSettings()
        except OSError as error:
            self.problem = Problem.from_exception(error)
            return AppSettings()
        try:
            fields = Fields(parsed(content))
        except ValueError:
            fields = Fields({}, complaints=["It is not JSON."])
        settings = _app_settings(fields)
        if fields.complaints:
            self.problem = self._keep(content, settings, fields.complaints)
        return settings

    def _keep(self, content: bytes, settings: AppSettings, complaints: list[str]) -> Problem:
        """Copy a broken file aside and write a whole one, so that it is told once."""
        kept = aside_name(self._path, "damaged")
        try:
            write_whole(kept, content)
            self.write(settings)
            safe = f"Your conversations are safe. The old file is kept as {kept.name}."
        except OSError:
            safe = "Your conversations are safe. The old file could not be copied."
        return Problem(
            "Some settings could not be read",
            f"{self._path.name}: {complaints[0]} The usual value is used instead.",
            safe,
            "Open Settings",
            "\n".join(complaints),
        )


def settings_to_plain(settings: Settings) -> dict[str, object]:
    """The settings of a conversation as a JSON object."""
    return _folders(asdict(settings))


def _folders(plain: dict[str, object]) -> dict[str, object]:
    """The same with the folders of model and drafter as text."""
    folders = {key: plain[key] for key in ("target", "drafter")}
    return plain | {key: None if path is None else str(path) for key, path in folders.items()}


def settings_from(fields: Fields) -> Settings:
    """The settings of a conversation from a JSON object."""
    usual = Settings()
    return Settings(
        target=fields.path("target"),
        drafter=fields.path("drafter"),
        system=fields.text("system"),
        sampling=_sampling(fields.part("sampling"), usual.sampling),
        drafting=_drafting(fields.part("drafting"), usual.drafting),
        max_tokens=fields.integer("max_tokens", usual.max_tokens, 1, MANY),
        stop=fields.texts("stop"),
        thinking=fields.maybe("thinking"),
        plain_text=fields.flag("plain_text", usual.plain_text),
        drafter_options=_drafter_options(fields.part("drafter_options"), usual.drafter_options),
    )


def complaints_about(settings: Settings) -> list[str]:
    """What is out of bounds in `settings`, one sentence each."""
    fields = Fields(settings_to_plain(settings))
    settings_from(fields)
    return fields.complaints


def _sampling(fields: Fields, usual: Sampling) -> Sampling:
    return Sampling(
        temperature=fields.number("temperature", usual.temperature, 0, 5),
        top_p=fields.number("top_p", usual.top_p, 0, 1),
        top_k=fields.integer("top_k", usual.top_k, 0, MANY),
        min_p=fields.number("min_p", usual.min_p, 0, 1),
        repetition_penalty=fields.number("repetition_penalty", usual.repetition_penalty, 0.01, 10),
        repetition_window=fields.integer("repetition_window", usual.repetition_window, 0, MANY),
        presence_penalty=fields.number("presence_penalty", usual.presence_penalty, -10, 10),
        frequency_penalty=fields.number("frequency_penalty", usual.frequency_penalty, -10, 10),
        seed=fields.integer("seed", usual.seed, 0, 2**64 - 1),
    )


def _drafter_options(fields: Fields, usual: DrafterOptions) -> DrafterOptions:
    return DrafterOptions(
        bits=fields.integer("bits", usual.bits, 0, 16),
        confidence=fields.number("confidence", usual.confidence, 0, 1),
    )


def _drafting(fields: Fields, usual: Drafting) -> Drafting:
    return Drafting(
        wish=fields.choice("wish", usual.wish, ("auto", "on", "off")),
        copies=fields.flag("copies", usual.copies),
        max_drafts=fields.integer("max_drafts", usual.max_drafts, 1, 511),
        exactness=fields.choice("exactness", usual.exactness, ("exact", "guarded", "fast")),
    )


def _app_settings(fields: Fields) -> AppSettings:
    usual = AppSettings()
    return AppSettings(
        appearance=fields.choice("appearance", usual.appearance, ("system", "light", "dark")),
        text_size=fields.number("text_size", usual.text_size, 0.5, 3),
        send_key=fields.choice("send_key", usual.send_key, ("enter", "mod+enter")),
        defaults=settings_from(fields.part("defaults")),
        window=_window(fields.part("window")),
        plain_pairs=tuple(
            Pair(pair.path("target"), pair.path("drafter")) for pair in fields.parts("plain_pairs")
        ),
    )


def _window(fields: Fields) -> WindowState:
    usual = WindowState()
    return WindowState(
        x=fields.optional("x", -100_000, 100_000),
        y=fields.optional("y", -100_000, 100_000),
        width=fields.integer("width", usual.width, 200, 100_000),
        height=fields.integer("height", usual.height, 200, 100_000),
        maximised=fields.flag("maximised", usual.maximised),
        sidebar=fields.integer("sidebar", usual.sidebar, 0, 10_000),
        conversation=fields.optional("conversation", 1, 2**62),
        inspector=fields.flag("inspector", usual.inspector),
    )
