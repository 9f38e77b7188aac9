"""Every sentence that a person reads inside the transcript."""

COPY, COPIED = "Copy", "Copied"
COPY_CODE = "Copy this code"
WRAP, WRAP_CODE = "Wrap", "Wrap long lines"
CODE = "code"

# answers
COPY_ANSWER = "Copy the answer"
COPY_RICH, COPY_MARKDOWN, COPY_PLAIN = (
    "Copy with formatting",
    "Copy as Markdown",
    "Copy as plain text",
)
REGENERATE, REGENERATE_HELP = "Regenerate", "Write another answer beside this one"
CONTINUE, CONTINUE_HELP = "Continue", "Go on writing this answer"
EDIT, EDIT_HELP = "Edit", "Change this message and send it again"
COPY_MESSAGE = "Copy the message"
SEND_AGAIN, CANCEL = "Send again", "Cancel"
PREVIOUS, NEXT = "Previous version", "Next version"
BACK, ONWARD = (
    "\N{SINGLE LEFT-POINTING ANGLE QUOTATION MARK}",
    "\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK}",
)
OF = "{position}/{count}"
VERSION = "Version {position} of {count}"
ANSWER, QUESTION = "Answer", "Your message"
EDITED_TEXT = "Text of your message"
SELECT_ALL = "Select all"
SHOW_ALL, SHOW_LESS = "Show all {lines:,} lines", "Show less"

MORE = "More"

# thinking
THINKING, THOUGHT = "Thinking…", "Thought"
THINKING_FOR, THOUGHT_FOR = "Thinking for {seconds}", "Thought for {seconds}"
SHOW_THINKING, HIDE_THINKING = "Show what it thought", "Hide what it thought"

# how an answer ended
CANCELLED = "You stopped this answer."
LENGTH = "Stopped at the longest answer that the settings allow."
CONTEXT = "Stopped: the chat is as long as the model can read."
INTERRUPTED = "Slipstream ended while this was written. What you see was saved."
DAMAGED = "This message could not be read."
DAMAGED_SAFE = "Its record is kept in the folder Recovered; the other messages are whole."
EMPTY = "The model wrote nothing."

# links
LINK_LEADS = "This link leads to"
OPEN, COPY_ADDRESS = "Open", "Copy address"

# strip
OPEN_STRIP, FOLD_STRIP = "Show the rounds", "Hide the rounds"
NUMBERS, NUMBERS_HELP = "Numbers", "All numbers of this answer"

TRANSCRIPT = "Conversation"
KEEP_ON, LET_PAUSE = "Keep on anyway", "Let it pause again"
KEEP_ON_HELP = "Draft on in this chat where plain decoding is faster. Same text, slower."
LET_PAUSE_HELP = "Draft in this chat only where it is faster than plain decoding."
