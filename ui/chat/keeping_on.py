"""Drafting kept on in a chat although it pauses there, and let pause again."""

from dataclasses import replace

from PySide6.QtCore import QObject

from ui.chat.view import ChatView


class KeepingOn(QObject):
    """Brings what is wished for the open chat to its strips, and back."""

    def __init__(self, view: ChatView) -> None:
        super().__init__(view)
        self._view = view
        view.transcript.keep_asked.connect(self.switch)
        view.opened.connect(self._show)
        view.described.connect(self._show)
        view.drafting_shown.connect(self._show)
        self._show()

    def switch(self, on: bool) -> None:
        """Draft in this chat wherever something can be guessed, or only where that is faster."""
        settings = self._view.settings
        drafting = replace(settings.drafting, wish="on" if on else "auto")
        self._view.set_settings(replace(settings, drafting=drafting))

    def _show(self) -> None:
        self._view.transcript.show_wish(self._view.following.drafting.settings.drafting.wish)
