"""The messages of a conversation; only those near what is seen are built."""  # long: one widget

from collections.abc import Callable, Collection
from dataclasses import replace
from functools import partial
from typing import cast

from PySide6.QtCore import QEvent, QPoint, QRect, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractScrollArea, QApplication, QFrame, QWidget

from app.conversation import Message, Pair
from app.receipts import Receipt
from engine.events import Event
from ui.chat import words
from ui.chat.answer import AnswerView
from ui.chat.bars import style_of
from ui.chat.message import MessageView
from ui.chat.places import Place, Places
from ui.chat.popover import LinkPopover, open_in_browser
from ui.chat.question import QuestionView
from ui.chat.selection import Selection
from ui.chat.strip_text import Wish
from ui.chat.verdict_text import CheckState
from ui.theme import COLUMN, Themes
from ui.wording import tr

MARGIN = 24  # px beside the column
AHEAD = 0.6  # of the visible height is built above and below it
KEPT = 24  # views that stay built when they are out of sight
NEAR_END = 8  # px from the end that count as being there


class Transcript(QAbstractScrollArea):
    """Shows messages and the one that is being written; stays where a person scrolled to.

    Signals:
        regenerate_asked, continue_asked: carry the message.
        edit_asked: carries the question and its new text.
        branch_asked: carries the message and the step to another version.
        problem_action_asked: carries what the button beside a failed answer says.
        check_asked, save_asked: carry an answer that is to be checked, or whose report to save.
        stop_check_asked: a person wants no check any more.
        pair_asked: carries an answer and whether the pair that wrote it is to draft.
        keep_asked: carries whether drafting is to go on where plain decoding is faster.
    """

    regenerate_asked = Signal(int)
    edit_asked = Signal(int, str)
    continue_asked = Signal(int)
    branch_asked = Signal(int, int)
    problem_action_asked = Signal(str)
    check_asked = Signal(int)
    save_asked = Signal(int)
    stop_check_asked = Signal()
    pair_asked = Signal(int, bool)
    keep_asked = Signal(bool)

    def __init__(self, themes: Themes, open_link: Callable[[str], None] = open_in_browser) -> None:
        super().__init__()
        self._themes, self._open_link = themes, open_link
        self._places = Places()
        self._follows = True
        self._is_placing = False
        self._checks: dict[int, CheckState] = {}  # by message
        self._plain_pairs: Collection[Pair] = ()
        self._wish: Wish = "auto"
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(tr(words.TRANSCRIPT))
        self.verticalScrollBar().setSingleStep(40)
        self.verticalScrollBar().setStyleSheet(style_of(themes.current))
        themes.changed.connect(self._restyle)
        app = cast("QApplication", QApplication.instance())
        app.focusChanged.connect(self._focus_moved)

    @property
    def views(self) -> list[MessageView]:
        """The messages that are built now, from top to bottom."""
        return [place.view for place in self._places.all if place.view is not None]

    @property
    def is_at_end(self) -> bool:
        """Whether the end is seen, so that new text is followed."""
        return self._follows

    def view_of(self, message_id: int) -> MessageView | None:
        """The built view of a message."""
        number = self._places.of(message_id)
        return None if number is None else self._places.all[number].view

    def show_messages(self, messages: list[Message]) -> None:
        """Show these messages and nothing else, from the end."""
        self._drop_all()
        for message in messages:
            self._places.add(message, self._column)
        self._follows = True
        self._place()

    def add(self, message: Message) -> None:
        """Show one more message, and go to it."""
        self._places.add(message, self._column)
        self._follows = True
        self._place()

    def apply(self, message_id: int, events: list[Event]) -> None:
        """Take in what the engine wrote since."""
        self._tell(message_id, lambda view: view.apply(events))

    def settle(self, message: Message) -> None:
        """Show a message as it is stored."""
        number = self._places.of(message.id)
        if number is not None:
            self._places.all[number].message = message
            self._tell(message.id, lambda view: view.settle(message))

    def show_check(self, message_id: int, check: CheckState | None) -> None:
        """Tell how far the check of an answer is, None when there is none any more."""
        self._checks.pop(message_id, None)
        if check is not None:
            self._checks[message_id] = check
        number = self._places.of(message_id)
        view = None if number is None else self._places.all[number].view
        if number is not None and view is not None and view.show_check(check):
            self._grown(self._places.all[number])

    def show_plain_pairs(self, pairs: Collection[Pair]) -> None:
        """Tell for which pairs drafting is off."""
        self._plain_pairs = pairs
        for place in self._places.all:
            if place.view is not None and place.view.show_plain_pairs(pairs):
                self._grown(place)

    def show_wish(self, wish: Wish) -> None:
        """Tell what is wished for the drafting of this chat."""
        if wish == self._wish:
            return
        self._wish = wish
        for place in self._places.all:
            if isinstance(place.view, AnswerView) and place.view.strip.show_wish(wish):
                self._grown(place)

    def show_receipt(self, message_id: int, receipt: Receipt) -> None:
        """Tell what the check of an answer found."""
        self._checks.pop(message_id, None)
        number = self._places.of(message_id)
        if number is not None:
            place = self._places.all[number]
            place.message = replace(place.message, receipt=receipt)
            if place.view is not None:
                place.view.show_receipt(receipt)
                self._grown(place)

    def set_note(self, message_id: int, text: str) -> None:
        """Tell what is awaited in the place of an answer; nothing ends that."""
        self._tell(message_id, lambda view: view.set_note(text))

    def clear(self) -> None:
        """Show nothing."""
        self.show_messages([])

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Qt's hook: another width breaks the lines elsewhere."""
        super().resizeEvent(event)
        self._place()

    def scrollContentsBy(self, dx: int, dy: int) -> None:  # noqa: N802  Qt's name
        """Qt's hook: the messages move, and those that come into sight are built."""
        del dx, dy
        if not self._is_placing:
            bar = self.verticalScrollBar()
            self._follows = bar.value() >= bar.maximum() - NEAR_END
            self._place()

    def viewportEvent(self, event: QEvent) -> bool:
        """Qt's hook: the ground is painted, everything else is the messages' own."""
        if event.type() == QEvent.Type.Paint:
            painter = QPainter(self.viewport())
            painter.fillRect(cast("QPaintEvent", event).rect(), self._themes.current.ground)
            painter.end()
            return True
        return super().viewportEvent(event)

    @property
    def _column(self) -> int:
        room = self.viewport().width() - 2 * MARGIN
        return max(160, min(room, self._themes.current.pixels(COLUMN)))

    def _tell(self, message_id: int, tell: Callable[[MessageView], None]) -> None:
        number = self._places.of(message_id)
        if number is None:
            return
        place = self._places.all[number]
        tell(self._built(place))
        place.width = 0
        self._place()

    def _place(self) -> None:
        """Build and lay out what is near the visible part, and put everything in its place.

        What is seen stays where it is when heights above it turn out otherwise; the end is
        followed only by those who are there.
        """
        if self._is_placing:
            return
        self._is_placing = True
        bar, places = self.verticalScrollBar(), self._places
        if places.all:
            anchor = places.at(bar.value())
            offset = bar.value() - places.top(anchor)
            for _ in range(4):  # each time lets what came into sight be measured
                self._set_range()
                value = bar.maximum() if self._follows else places.top(anchor) + offset
                bar.setValue(value)
                if not self._measure():
                    break
        self._set_range()
        if self._follows:
            bar.setValue(bar.maximum())
        self._move_views()
        self._is_placing = False

    def _set_range(self) -> None:
        bar, height = self.verticalScrollBar(), self.viewport().height()
        bar.setRange(0, max(0, self._places.height - height))
        bar.setPageStep(height)

    def _near(self) -> range:
        value, height = self.verticalScrollBar().value(), self.viewport().height()
        ahead = int(height * AHEAD)
        places = self._places
        if not places.all:
            return range(0)
        return range(places.at(value - ahead), places.at(value + height + ahead) + 1)

    def _measure(self) -> bool:
        """Lay out what is near; say whether any height changed."""
        column, first = self._column, None
        for number in self._near():
            place = self._places.all[number]
            view = self._built(place)
            if place.width == column:
                continue
            height, place.width = view.lay_out(column), column
            if height != place.height:
                place.height = height
                first = number if first is None else first
        if first is not None:
            self._places.stack(first + 1)
        return first is not None

    def _move_views(self) -> None:
        value, column, near = self.verticalScrollBar().value(), self._column, self._near()
        left = (self.viewport().width() - column) // 2
        spare: list[Place] = []
        for number, place in enumerate(self._places.all):
            if place.view is None:
                continue
            if number not in near:
                place.view.hide()
                spare.append(place)
                continue
            top = self._places.top(number) - value
            place.view.setGeometry(QRect(left, top, column, place.height))
            place.view.show()
        for place in spare[: max(0, len(spare) - KEPT)]:
            if place.may_go:
                self._drop(place)

    def _built(self, place: Place) -> MessageView:
        if place.view is not None:
            return place.view
        message = place.message
        kind = QuestionView if message.role == "user" else AnswerView
        view = kind(self._themes, message)
        view.setParent(self.viewport())
        view.regenerate_asked.connect(partial(self.regenerate_asked.emit, message.id))
        view.continue_asked.connect(partial(self.continue_asked.emit, message.id))
        view.edit_asked.connect(partial(self.edit_asked.emit, message.id))
        view.branch_asked.connect(partial(self.branch_asked.emit, message.id))
        view.action_asked.connect(self.problem_action_asked)
        view.check_asked.connect(partial(self.check_asked.emit, message.id))
        view.save_asked.connect(partial(self.save_asked.emit, message.id))
        view.stop_check_asked.connect(self.stop_check_asked)
        view.pair_asked.connect(partial(self.pair_asked.emit, message.id))
        view.show_check(self._checks.get(message.id))
        view.show_plain_pairs(self._plain_pairs)
        if isinstance(view, AnswerView):
            view.strip.keep_asked.connect(self.keep_asked)
            view.strip.show_wish(self._wish)
        view.link_asked.connect(self._show_link)
        view.relaid.connect(partial(self._relaid, place))
        view.grown.connect(partial(self._grown, place))
        view.near.connect(partial(self._reveal, view))
        view.body.selected.connect(partial(self._selected_in, view))
        place.view, place.width = view, 0
        return view

    def _grown(self, place: Place) -> None:
        place.width = 0
        self._place()

    def _relaid(self, place: Place) -> None:
        place.width = 0
        self._follows = False  # what was clicked stays under the pointer
        self._place()
        bar = self.verticalScrollBar()
        self._follows = bar.value() >= bar.maximum() - NEAR_END

    def _selected_in(self, view: MessageView) -> None:
        for other in self.views:
            if other is not view:
                other.body.select(Selection())

    def _reveal(self, view: QWidget, y: int) -> None:
        """Scroll as little as brings the height `y` of a view into sight."""
        at = view.y() + y
        bar, height = self.verticalScrollBar(), self.viewport().height()
        if at < MARGIN:
            bar.setValue(bar.value() + at - MARGIN)
        elif at > height - MARGIN:
            bar.setValue(bar.value() + at - height + MARGIN)

    def _focus_moved(self, old: QWidget | None, new: QWidget | None) -> None:
        viewport = self.viewport()
        if old is None or new is None or not viewport.isAncestorOf(new):
            return  # a window that becomes active moves nothing
        for view in self.views:
            if view.isAncestorOf(new) and new.height() < viewport.height():
                top = new.mapTo(view, QPoint(0, 0)).y()
                self._reveal(view, top)
                self._reveal(view, top + new.height())

    def _show_link(self, address: str, place: QPoint) -> None:
        LinkPopover(self._themes, address, self._open_link, self).show_near(place)

    def _restyle(self) -> None:
        self.verticalScrollBar().setStyleSheet(style_of(self._themes.current))
        for place in self._places.all:
            place.width = 0
            if place.view is not None:
                place.view.restyle()
        self._place()
        self.viewport().update()

    def _drop_all(self) -> None:
        for place in self._places.all:
            self._drop(place)
        self._places.clear()

    def _drop(self, place: Place) -> None:
        if place.view is not None:
            place.view.hide()
            place.view.deleteLater()
            place.view = None
