"""What can be done with an answer, and its first two numbers."""

from typing import TYPE_CHECKING, Literal, cast

from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QMenu

from app.checking import has_words_to_check
from app.conversation import Message
from ui.buttons import Button
from ui.chat import copying, strip_text, verdict_text, words
from ui.chat.numbers import of_answer
from ui.chat.popover import NumbersPopover
from ui.chat.row import Row, Versions
from ui.theme import Themes
from ui.wording import tr

if TYPE_CHECKING:
    from engine.events import Finished

CopyKind = Literal["rich", "markdown", "plain"]
SAID_MS = 1600


class AnswerRow(Row):
    """The line under an answer; `has_receipt` says that a report of its check can be saved.

    Signals:
        copy_asked: carries how: rich, markdown or plain.
        regenerate_asked, continue_asked: a person wants it.
        branch_asked: carries the step to another version.
        check_asked, save_asked: as they say, chosen in the menu.
    """

    copy_asked = Signal(str)
    regenerate_asked = Signal()
    continue_asked = Signal()
    branch_asked = Signal(int)
    check_asked = Signal()
    save_asked = Signal()

    def __init__(self, themes: Themes) -> None:
        super().__init__(themes)
        self._finished: Finished | None = None
        self._can_check = False
        self.has_receipt = False
        self.versions = Versions(themes)
        self.versions.stepped.connect(self.branch_asked)
        self.go_on = self._button(words.CONTINUE, words.CONTINUE_HELP)
        self.go_on.clicked.connect(self._continue)
        self.copy = self._button(words.COPY, words.COPY_ANSWER)
        self.copy.clicked.connect(self._copy_rich)
        self.again = self._button(words.REGENERATE, words.REGENERATE_HELP)
        self.again.clicked.connect(self._regenerate)
        self.more = Button(themes, icon="more")
        self.more.describe(tr(words.MORE))
        self.more.clicked.connect(self._show_menu)
        for widget in (self.versions, self.go_on, self.copy, self.again, self.more):
            self.add(widget)
        self._said = QTimer(self)
        self._said.setSingleShot(True)
        self._said.setInterval(SAID_MS)
        self._said.timeout.connect(self._say_copy)

    def show_answer(self, message: Message, *, goes_on: bool) -> None:
        """Show what holds for `message`; `goes_on` offers to continue it."""
        self._finished = finished = message.finished
        if finished is not None:
            self.tell([strip_text.rate(finished), strip_text.first_word(finished)])
        else:
            self.tell([])
        self._can_check = has_words_to_check(message)
        self.has_receipt = message.receipt is not None
        self.versions.show_version(message.position, message.alternatives)
        self.go_on.setVisible(goes_on)
        self.copy.setVisible(bool(message.text))
        self.restyle()

    def put(self, kind: str, markdown: str, plain: str) -> None:
        """Put the answer on the clipboard."""
        match cast("CopyKind", kind):
            case "rich":
                copying.put_rich(markdown, plain)
            case "markdown":
                copying.put(markdown)
            case "plain":
                copying.put(plain)
        self.copy.setText(tr(words.COPIED))
        self._said.start()

    def restyle(self) -> None:
        """The theme is another one."""
        super().restyle()
        self.versions.restyle()

    def menu(self) -> QMenu:
        """The menu of what is asked for seldom."""
        menu = QMenu(self)
        if not self.copy.isHidden():
            menu.addAction(tr(words.COPY_RICH), self._copy_rich)
            menu.addAction(tr(words.COPY_MARKDOWN), self._copy_markdown)
            menu.addAction(tr(words.COPY_PLAIN), self._copy_plain)
        if self._finished is not None:
            menu.addSeparator()
            menu.addAction(tr(words.NUMBERS), self._show_numbers)
        if self._can_check:
            menu.addAction(tr(verdict_text.CHECK), self.check_asked.emit)
        if self.has_receipt:
            menu.addAction(tr(verdict_text.SAVE), self.save_asked.emit)
        return menu

    def _button(self, text: str, meaning: str) -> Button:
        button = Button(self._themes, tr(text))
        button.describe(tr(meaning))
        return button

    def _show_menu(self) -> None:
        menu = self.menu()
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(self.more.mapToGlobal(self.more.rect().bottomLeft()))

    def _show_numbers(self) -> None:
        if self._finished is not None:
            popover = NumbersPopover(self._themes, of_answer(self._finished), self)
            popover.show_near(self.more.mapToGlobal(self.more.rect().bottomRight()))

    def _continue(self) -> None:
        self.continue_asked.emit()

    def _regenerate(self) -> None:
        self.regenerate_asked.emit()

    def _copy_rich(self) -> None:
        self.copy_asked.emit("rich")

    def _copy_markdown(self) -> None:
        self.copy_asked.emit("markdown")

    def _copy_plain(self) -> None:
        self.copy_asked.emit("plain")

    def _say_copy(self) -> None:
        self.copy.setText(tr(words.COPY))
