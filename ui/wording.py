"""Every sentence that a person reads around the transcript."""

import sys

from PySide6.QtCore import QCoreApplication

HERE = "this Mac" if sys.platform == "darwin" else "this machine"
PRODUCT = "Slipstream"
NO_DISPLAY = (
    "slipstream: there is no display here to open a window on. "
    'In a terminal, slipstream ask "…" answers.'
)

# sidebar
SEARCH = "Search chats"
NEW_CHAT = "New chat"
PINNED, TODAY, EARLIER = "Pinned", "Today", "Earlier"
ANSWERING, WAITING, DAMAGED = "answering", "waiting", "partly damaged"
SETTINGS = "Settings"
CHATS = "Chats"
NO_CHATS = "Your chats will be listed here."
NOTHING_FOUND = "No chat contains “{search}”."
RENAME, PIN, UNPIN, DELETE = "Rename", "Pin", "Unpin", "Delete"
DELETED = "“{title}” was deleted."
UNDO = "Undo"
HIDE_SIDEBAR, SHOW_SIDEBAR = "Hide the sidebar", "Show the sidebar"
CHAT_TITLE = "Title of the chat"
HIDE_INSPECTOR, SHOW_INSPECTOR = "Hide the inspector", "Show the inspector"

# composer
MESSAGE = "Message"
SEND, STOP, STOPPING = "Send", "Stop", "Stopping…"
CONTEXT = "{used:,} of {limit:,}"
CONTEXT_HELP = "{used:,} of the {limit:,} tokens that the model can read are in use."
BUSY = "Still answering. Press Stop first, or wait: your text stays here."
EDITING = "Your last message, to be asked anew. Esc leaves it as it was."
CHAT_SETTINGS = "Settings of this chat"
NOTHING_TO_SEND = "Write a message first"

# drafting
DRAFT = "Draft"
DRAFT_NAME = "Drafting in this chat"
DRAFT_OFF = "Off: you turned it off for this chat"
DRAFT_OFF_BECAUSE = "Off: {reason}"
DRAFT_PAUSED = "Paused: slower than plain on this text"
DRAFT_PAUSED_RATES = "Paused: {drafted:.0f} tok/s drafted, {plain:.0f} plain"
DRAFT_NEXT = ". Next try in {tokens} tokens"
DRAFT_SPEEDUP = "{speedup:.1f}× on the last answer"
DRAFT_COPIES = "No drafter: copies from the chat only"
DRAFT_REFUSED = "Copies only: {reason}"
DRAFT_READY = "Guesses from {drafter}"

# notes where an answer will be
NOTE_WAITING = "Waiting for another chat's answer"
NOTE_STARTING = "Starting…"
NOTE_LOADING = "Loading {name}… {percent} %"
NOTE_READING = "Reading {done:,} of {total:,} tokens"
ANSWERED = "The answer is finished: {words} words."

# first start
WELCOME = "What would you like to write?"
WELCOME_MODEL = (
    "{model} answers on this computer. Nothing is sent anywhere, and it works offline. "
    "The first answer takes a little longer, because the model is loaded then."
)
WELCOME_STARTER = (
    "It is small, so it writes fluently and knows little. "
    "Open your own model in the chat's settings."
)
EXAMPLES = (
    ("Explain a rainbow", "Explain in a few sentences why there are rainbows."),
    (
        "Tidy up a note",
        "Make a tidy list of this note: milk, call Anna on Friday, 2 kg flour, fix the bike.",
    ),
    ("Write some Python", "Write a Python function that counts the words in a text."),
    (
        "Copy with care",
        "Repeat this text exactly: The slipstream pulls the small boat along behind the large one.",
    ),
)

# title bar and window
NO_CHAT_TITLE = "New chat"
PAIR = "{target} ← {drafter}"
STARTER = "SmolLM2-135M-Instruct"

# problems
COPY_DETAILS = "Copy details"
DISMISS = "Dismiss"

# settings
SYSTEM_PROMPT, TEMPERATURE, TOP_P = "System prompt", "Temperature", "Top-p"
MAX_TOKENS, SEED, DRAFTING = "Longest answer", "Seed", "Drafting"
MODEL, DRAFTER = "Model", "Drafter"
CHOOSE_MODEL, CHOOSE_DRAFTER = "Choose a model folder…", "Choose a drafter folder…"
CHOOSE, NO_DRAFTER = "Choose…", "None: copies from the chat only"
DRAFTER_RUNS = "Drafter runs"
DRAFTER_BITS = ((0, "As released"), (8, "In 8 bits"))
DRAFTER_OTHER_BITS = "In {bits} bits"
DRAFTER_NUMBERS, MOST_GUESSES, CONFIDENCE = "Numbers of the drafter", "Most guesses", "Confidence"
DRAFTER_NUMBERS_HINT = "8 bits take about half the memory; a drafter that cannot do it says so"
MOST_GUESSES_HINT = "At once, as far as the drafter was trained for"
CONFIDENCE_HINT = "Guesses end where the drafter believes less than this in all of them"
UP_TO, SURE_BY, SURE_OR_NOT = "Up to ", "Confidence ", "Any confidence"
WISHES = (("auto", "Auto"), ("on", "Always on"), ("off", "Off"))
MODE, MODE_OF_NEW = "Drafting mode", "Drafting in new chats"
MODES = (("exact", "Exact"), ("guarded", "Guarded"), ("fast", "Fast"))
MODE_MEANS = {
    "exact": (
        "Keeps only guesses whose check is equal, bit for bit, to plain decoding on {here}; "
        "that can mean few guesses, or none."
    ),
    "guarded": (
        "Writes what it would write without guesses, but for very rare near-ties: where two words "
        "score almost the same, the model decides again alone."
    ),
    "fast": (
        "Takes every check as it comes, so that an answer may differ slightly from plain decoding."
    ),
}
MODE_NEXT = "Holds from the next answer on."
MODE_NEW = "Holds for new chats; each chat has its own in its settings."
NEXT_ANSWER = "Changes hold from the next answer on; drafting from the next round."
APPEARANCES = (("system", "Like the system"), ("light", "Light"), ("dark", "Dark"))
APPEARANCE, TEXT_SIZE, SEND_KEY = "Appearance", "Text size", "Send with"

DONE = "Done"

# menus
MENU_FILE, MENU_EDIT, MENU_VIEW = "&File", "&Edit", "&View"
MENU_CHAT, MENU_WINDOW, MENU_HELP = "&Chat", "&Window", "&Help"
CLOSE_WINDOW, QUIT = "Close window", "Quit Slipstream"
UNDO_EDIT, REDO, CUT, COPY, PASTE, SELECT_ALL = (
    "Undo", "Redo", "Cut", "Copy", "Paste", "Select all",
)  # fmt: skip
FIND_CHAT = "Search all chats"
SIDEBAR, INSPECTOR = "Sidebar", "Inspector"
LARGER, SMALLER, USUAL_SIZE = "Larger text", "Smaller text", "Usual text size"
DRAFT_HERE = "Draft in this chat"
REGENERATE, CONTINUE = "Regenerate the last answer", "Continue the last answer"
CHECK = "Check the last answer"
UNLOAD = "Unload the model"
LOADED = "{model} is loaded."
UNLOADED = "The model was unloaded. It is loaded again with the next message."
MINIMISE, FULL_SCREEN = "Minimise", "Full screen"
ABOUT = "About Slipstream"
ABOUT_TEXT = (
    "Slipstream {version}\nChat with models on your own computer, made faster by guesses that are "
    "always checked.\nApache License 2.0. Qt is used under the LGPL."
)


def tr(text: str, **values: object) -> str:
    """`text` in the person's language, with `values` filled in."""
    return QCoreApplication.translate("window", text).format(**values)
