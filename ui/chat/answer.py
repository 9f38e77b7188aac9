"""An answer: thinking, text, how it ended, the strip, and what can be done with it."""

import time
from dataclasses import replace

from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QLabel

from app.conversation import DraftMark, Message
from app.receipts import Receipt
from engine.events import DraftingState, Event, Finished, Round, TextDelta
from ui.chat import words
from ui.chat.answer_row import AnswerRow
from ui.chat.live_text import LiveText
from ui.chat.markdown import parse
from ui.chat.message import MessageView
from ui.chat.notice import GOES_ON, Notice
from ui.chat.selection import from_source, to_source
from ui.chat.spans import RoundMap
from ui.chat.strip import Strip
from ui.chat.text_view import TextView
from ui.chat.thinking import Thinking
from ui.chat.verdict import Verdict
from ui.chat.verdict_text import CheckState, told
from ui.theme import Themes
from ui.wording import tr

HEAVY = 0.012  # seconds of work that one batch of text may take
REST = 6  # times as long is waited after a heavier one
LONGEST_REST = 400  # ms


class AnswerView(MessageView):
    """One answer, stored or being written."""

    def __init__(self, themes: Themes, message: Message) -> None:
        super().__init__(themes, message)
        self.setAccessibleName(tr(words.ANSWER))
        self.thinking = self._part(Thinking(themes))
        self.body = self._part(TextView(themes))
        self.body.setAccessibleName(tr(words.ANSWER))
        self.note = self._part(QLabel())
        self.note.setTextFormat(Qt.TextFormat.PlainText)
        self.notice = self._part(Notice(themes))
        self.strip = self._part(Strip(themes))
        self.verdict = self._part(Verdict(themes))
        self.row = self._part(AnswerRow(themes))
        self._live: LiveText | None = None
        self._text: list[str] = []
        self._held: list[str] = []  # not shown yet
        self._rest = QTimer(self)
        self._rest.setSingleShot(True)
        self._rest.timeout.connect(self._rested)
        self._length = 0
        self._map = RoundMap()
        self._rounds = 0
        self._has_notice = False
        self._connect()
        self._show(message)
        self.restyle()

    @property
    def text(self) -> str:
        """The answer so far, as Markdown."""
        return "".join(self._text)

    @property
    def parsed(self) -> int:
        """How many characters were read as Markdown while it was written."""
        return self._live.parsed if self._live else 0

    def apply(self, events: list[Event]) -> None:
        """Take in what the engine wrote since, all text of a batch at once."""
        answer: list[str] = []
        rounds: list[Round] = []
        marks: list[DraftMark] = []
        finished: Finished | None = None
        for event in events:
            match event:
                case TextDelta(channel="thinking"):
                    self.thinking.add(event.text)
                case TextDelta():
                    answer.append(event.text)
                    self._add_span(event.text, event.last_token)
                case Round():
                    rounds.append(event)
                    self._map.add_round(event)
                    self._rounds += 1
                case DraftingState():
                    marks.append(DraftMark(self._rounds, event.state, event.reason))
                case Finished():
                    finished = event
                case _:
                    pass
        if answer:
            self.thinking.end()
            self._write("".join(answer))
        if rounds or marks or finished:
            self.strip.add(rounds, marks, finished)
        self.strip.setVisible(self.strip.has_rounds)
        self.thinking.setVisible(self.thinking.has_text)

    def settle(self, message: Message) -> None:
        """Show the message as it is stored; text that was written here stays as it is."""
        self.message = message
        self._rest.stop()
        self._show_held()
        self.thinking.show_text(message.thinking, message.thinking_s, is_over=True)
        if self._live and self.text == message.text and not self._live.needs_all:
            self.body.change(self._live.finish())
            self._live = None
            self._take_rounds(message)
            self._tell_end()
        else:
            self._show(message)

    def show_check(self, check: CheckState | None) -> bool:
        """Tell how far its check is; say whether that needs another layout."""
        self._check = check
        return self._tell_verdict()

    def show_receipt(self, receipt: Receipt) -> None:
        """Tell what its check found."""
        self.message = replace(self.message, receipt=receipt)
        self._check = None
        self.row.has_receipt = True
        self._tell_verdict()

    def set_note(self, text: str) -> None:
        """Tell what is awaited in the place of the text."""
        self.note.setText(text)
        self.note.setVisible(bool(text))

    def lay_out(self, width: int) -> int:
        """Take `width` px; return the height."""
        px = self._themes.current.pixels
        y = 0
        y = self._stack(self.thinking, y, width, px(6)) if self.thinking.has_text else y
        if self.body.blocks:
            height = self.body.lay_out(width)
            self.body.setGeometry(0, y, width, height)
            y += height + px(12)
        if self.note.text():
            height = self.note.sizeHint().height() + px(4)
            self.note.setGeometry(0, y, width, height)
            y += height + px(8)
        y = self._stack(self.notice, y, width, px(10)) if self._has_notice else y
        y = self._stack(self.strip, y, width, px(6)) if self.strip.has_rounds else y
        return y if self._is_streaming else self._lay_out_row(y, width)

    def _lay_out_row(self, y: int, width: int) -> int:
        """The row and the verdict: in its free middle if it fits there, otherwise above."""
        height = self._themes.current.pixels(28)
        if self.verdict.told is not None:
            left = self.row.left_width
            if left + self.verdict.line_width + self.row.right_width <= width:
                self.verdict.lay_out(self.verdict.line_width)
                self.verdict.setGeometry(left, y, self.verdict.line_width, height)
                self.verdict.raise_()
            else:
                y = self._stack(self.verdict, y, width, 0)
        self.row.setGeometry(0, y, width, height)
        return y + height

    def restyle(self) -> None:
        """The theme is another one."""
        theme = self._themes.current
        self.note.setFont(theme.font("body"))
        self.note.setStyleSheet(f"color: {theme.dim.name()}")
        for part in (self.thinking, self.body, self.notice, self.strip, self.verdict, self.row):
            part.restyle()

    @property
    def _is_streaming(self) -> bool:
        return self.message.state == "streaming"

    def _stack(
        self, part: Thinking | Notice | Strip | Verdict, y: int, width: int, gap: int
    ) -> int:
        height = part.lay_out(width)
        part.setGeometry(0, y, width, height)
        return y + height + gap

    def _connect(self) -> None:
        self.body.link_asked.connect(self.link_asked)
        self.body.selected.connect(self._light_rounds)
        self.body.near.connect(self._near_in_body)
        self.strip.chosen.connect(self._select_text_of)
        self.notice.acted.connect(self.action_asked)
        self.row.regenerate_asked.connect(self.regenerate_asked)
        self.row.continue_asked.connect(self.continue_asked)
        self.row.branch_asked.connect(self.branch_asked)
        self.row.copy_asked.connect(self._copy)
        self.row.check_asked.connect(self.check_asked)
        self.row.save_asked.connect(self.save_asked)
        self.verdict.check_asked.connect(self.check_asked)
        self.verdict.stop_asked.connect(self.stop_check_asked)
        self.verdict.save_asked.connect(self.save_asked)
        self.verdict.pair_asked.connect(self.pair_asked)
        for part in (self.body, self.thinking, self.strip):
            part.relaid.connect(self.relaid)

    def _show(self, message: Message) -> None:
        self.message = message
        self._text, self._length = [message.text], len(message.text)
        self._held.clear()
        self.thinking.show_text(message.thinking, message.thinking_s, is_over=bool(message.text))
        if self._is_streaming:
            self._live = LiveText()
            self.body.show_leaves(())
            if message.text:
                self.body.change(self._live.append(message.text))
        else:
            self._live = None
            self.body.show_leaves(parse(_normal(message.text)).leaves)
        self._take_rounds(message)
        self._tell_end()

    def _take_rounds(self, message: Message) -> None:
        self._map, self._rounds = RoundMap(), len(message.rounds)
        for round_ in message.rounds:
            self._map.add_round(round_)
        for span in message.spans:
            self._map.add_span(*span)
        if message.rounds or self.strip.has_rounds:
            self.strip.show_answer(message.rounds, message.marks, message.finished)

    def _tell_end(self) -> None:
        message = self.message
        self._has_notice = not self._is_streaming and self.notice.show_end(message)
        goes_on = message.state in GOES_ON and bool(message.text) and not self.notice.action
        self.row.show_answer(message, goes_on=goes_on)
        if not self._is_streaming:
            self.set_note("")
        self._tell_verdict()
        for part, is_shown in (
            (self.thinking, self.thinking.has_text),
            (self.body, bool(self.body.blocks)),
            (self.notice, self._has_notice),
            (self.strip, self.strip.has_rounds),
            (self.row, not self._is_streaming),
        ):
            part.setVisible(is_shown)

    def _tell_verdict(self) -> bool:
        about = (self.message, self._check, time.time(), self._plain_pairs)
        return self.verdict.show_told(None if self._is_streaming else told(*about))

    def _write(self, text: str) -> None:
        if self._live is None:  # an answer that had ended goes on
            self._live = LiveText()
            self._held = [self.text]
        self._text.append(text)
        self._held.append(text)
        if not self._rest.isActive():
            self._show_held()

    def _show_held(self) -> None:
        """Read and show what came; what takes long is done less often."""
        if self._live is None or not self._held:
            return
        began = time.thread_time()
        self.body.change(self._live.append("".join(self._held)))
        self.body.setVisible(True)
        self._held.clear()
        seconds = time.thread_time() - began
        if seconds > HEAVY:
            self._rest.start(min(LONGEST_REST, int(seconds * REST * 1000)))

    def _rested(self) -> None:
        if self._held:
            self._show_held()
            self.grown.emit()

    def _add_span(self, text: str, last_token: int) -> None:
        start, self._length = self._length, self._length + len(text)
        self._map.add_span(start, self._length, last_token)

    def _select_text_of(self, number: int) -> None:
        start, end = self._map.text_of(number) if number >= 0 else (0, 0)
        self.body.select(from_source(self.body.blocks, start, end))
        if not self.body.selection.is_empty:
            box = self.body.box_of(self.body.selection)
            self.near.emit(self.body.y() + round(box.center().y()))

    def _light_rounds(self) -> None:
        self.strip.light(self._map.rounds_of(*to_source(self.body.blocks, self.body.selection)))

    def _near_in_body(self, y: int) -> None:
        self.near.emit(self.body.y() + y)

    def _copy(self, kind: str) -> None:
        self.row.put(kind, self.text, self.body.plain_text)


def _normal(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")
