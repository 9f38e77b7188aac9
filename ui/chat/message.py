"""What a question and an answer have in common: parts under each other, laid out in a width."""

from collections.abc import Collection
from typing import TYPE_CHECKING, TypeVar

from PySide6.QtCore import QPoint, Signal
from PySide6.QtWidgets import QWidget

from app.conversation import Message, Pair
from app.receipts import Receipt
from engine.events import Event
from ui.chat.verdict_text import CheckState
from ui.theme import Themes

if TYPE_CHECKING:
    from ui.chat.text_view import TextView

Part = TypeVar("Part", bound=QWidget)


class MessageView(QWidget):
    """One message on screen.

    Signals:
        relaid: its height changed by itself.
        grown: more of its text is shown than when it was last told something.
        near: carries a height (px) in it that should be seen.
        link_asked: carries an address and where on the screen it was clicked.
        regenerate_asked, continue_asked: a person wants it.
        edit_asked: carries the new text of a question.
        branch_asked: carries the step to another version.
        action_asked: carries what the button beside a failure says.
        check_asked, stop_check_asked, save_asked: as they say, for an answer's verdict.
        pair_asked: carries whether its pair is to draft.
    """

    relaid = Signal()
    grown = Signal()
    near = Signal(int)
    link_asked = Signal(str, QPoint)
    regenerate_asked = Signal()
    continue_asked = Signal()
    edit_asked = Signal(str)
    branch_asked = Signal(int)
    action_asked = Signal(str)
    check_asked = Signal()
    stop_check_asked = Signal()
    save_asked = Signal()
    pair_asked = Signal(bool)

    def __init__(self, themes: Themes, message: Message) -> None:
        super().__init__()
        self._themes, self.message = themes, message
        self._check: CheckState | None = None
        self._plain_pairs: Collection[Pair] = ()
        self.body: TextView

    @property
    def is_edited(self) -> bool:
        """Whether a person is changing its text."""
        return False

    def lay_out(self, width: int) -> int:
        """Take `width` px; return the height."""
        raise NotImplementedError

    def settle(self, message: Message) -> None:
        """Show the message as it is stored."""
        raise NotImplementedError

    def apply(self, events: list[Event]) -> None:
        """Take in what the engine wrote since."""
        raise NotImplementedError

    def show_check(self, check: CheckState | None) -> bool:
        """Tell how far its check is; say whether that needs another layout."""
        del check
        return False

    def show_plain_pairs(self, pairs: Collection[Pair]) -> bool:
        """Tell for which pairs drafting is off; say whether that needs another layout."""
        self._plain_pairs = pairs
        return self.show_check(self._check)

    def show_receipt(self, receipt: Receipt) -> None:
        """Tell what its check found."""
        del receipt

    def set_note(self, text: str) -> None:
        """Tell what is awaited in the place of the text; nothing ends that."""
        raise NotImplementedError

    def restyle(self) -> None:
        """The theme is another one."""
        raise NotImplementedError

    def _part(self, part: Part) -> Part:
        part.setParent(self)
        return part

    def _near_in(self, part: QWidget, y: int) -> None:
        self.near.emit(part.y() + y)
