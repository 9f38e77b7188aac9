"""What can go wrong in the engine and is not our bug."""


class EngineError(Exception):
    """A failure of the world: a file, a config, a template, memory.

    Attributes:
        code: a short stable name in snake case, for logs, JSON and tests.
        message: one sentence that names the thing and what is wrong with it.
        safe: what is not affected ("The conversation is saved.").
        action: the one thing to do next.
    """

    def __init__(self, code: str, message: str, *, safe: str = "", action: str = "") -> None:
        super().__init__(message)
        self.code, self.message, self.safe, self.action = code, message, safe, action


class ModelRefused(EngineError):
    """A model folder, its config or its weights cannot be used."""


class DrafterRefused(EngineError):
    """A drafter cannot be used, alone or with this target; the target still chats plain."""


class TemplateRefused(EngineError):
    """A chat template is missing, broken, too slow or refuses the conversation."""


class RequestRefused(EngineError):
    """The request itself cannot be served: too long, or a setting out of bounds."""


class BadNumbers(EngineError):
    """The target produced a NaN or an infinity."""
