import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QAbstractSpinBox, QLineEdit, QWidget

from support.scripted import SlowEngine
from ui.chat.settings_sheet import ChatSettingsSheet
from ui.settings_sheet import SettingsSheet


def unnamed(root):
    """Every widget below `root` that the keyboard reaches and a screen reader cannot name."""
    found = []
    for widget in [root, *root.findChildren(QWidget)]:
        if widget.focusPolicy() == Qt.FocusPolicy.NoFocus or widget.focusProxy() is not None:
            continue
        if isinstance(widget.parent(), QAbstractSpinBox) and isinstance(widget, QLineEdit):
            continue  # the inner part of a named field
        if any(one.isHidden() for one in _up_to(widget, root)):
            continue  # shown later, and walked then
        text = widget.text() if isinstance(widget, QAbstractButton) else ""
        if not (widget.accessibleName() or text) and widget.objectName() != "qt_spinbox_lineedit":
            found.append(widget)
    return [f"{type(widget).__name__} in {type(widget.parent()).__name__}" for widget in found]


def _up_to(widget, root):
    while widget is not root:
        yield widget
        widget = widget.parent()


def test_that_the_walk_finds_what_has_no_name(qtbot):
    field = QLineEdit()
    qtbot.addWidget(field)
    assert unnamed(field) == ["QLineEdit in NoneType"]
    field.setAccessibleName("Name")
    assert unnamed(field) == []


def test_that_everything_the_keyboard_reaches_in_the_window_has_a_name(in_window, answered, errors):
    async def scene(window):
        empty = unnamed(window)
        await answered(window, "hi")
        window.problem_bar.show_notice("Said.", "Undo")
        return empty, unnamed(window)

    assert in_window(SlowEngine(), scene) == ([], [])


@pytest.mark.parametrize("sheet", ["program", "chat"])
def test_that_every_field_of_the_settings_has_a_name(in_window, errors, sheet):
    async def scene(window):
        settings = window._program.settings.current
        made = (
            SettingsSheet(window._themes, settings, window)
            if sheet == "program"
            else ChatSettingsSheet(
                window._themes, settings.defaults, window._program.catalogue, window
            )
        )
        return unnamed(made)

    assert in_window(SlowEngine(), scene) == []


def test_that_every_icon_button_says_what_it_does(in_window, errors):
    async def scene(window):
        buttons = window.findChildren(QAbstractButton)
        return [b for b in buttons if not b.text() and not b.toolTip() and b.accessibleName() and
                b.isVisible()]  # fmt: skip

    assert in_window(SlowEngine(), scene) == []
