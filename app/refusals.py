"""What the use cases of chatting refuse, as a person is told."""

from app.problem import Problem

NOTHING_TO_SEND = Problem(
    "There is nothing to send", "The message has no text.", "Nothing was changed.", "Write"
)
BEING_ANSWERED = Problem(
    "This conversation is being answered",
    "One answer at a time is written in a conversation.",
    "Your text stays in the box.",
    "Stop",
)
GONE = Problem(
    "This message is gone",
    "Its conversation was deleted.",
    "The other conversations are not affected.",
    "Choose another",
)
NOTHING_TO_CHECK = Problem(
    "There is nothing to check",
    "This message has no words that a model wrote.",
    "Nothing was changed.",
    "Choose an answer",
)
BEING_CHECKED = Problem(
    "This answer is being checked",
    "It is being written again already.",
    "Nothing was changed.",
    "Wait",
)
BEING_WRITTEN = Problem(
    "An answer is being written",
    "Answers are checked while none is being written.",
    "Nothing was changed.",
    "Wait or stop it",
)


def unusable(complaints: list[str]) -> Problem:
    """Settings with values out of bounds, at least one."""
    return Problem(
        "This setting cannot be used",
        complaints[0],
        "The old settings stand.",
        "Open Settings",
        "\n".join(complaints),
    )
