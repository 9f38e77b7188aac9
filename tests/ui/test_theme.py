import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QGuiApplication

from support.scripted import SlowEngine
from ui.theme import TEXT_SIZES, Theme, Themes


def contrast(one, other):
    """The contrast ratio of two opaque colours (WCAG 2, 1.4.3)."""

    def luminance(colour):
        parts = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
                 for c in (colour.redF(), colour.greenF(), colour.blueF())]  # fmt: skip
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_that_the_measure_of_contrast_is_right():
    assert contrast(QColor("#000"), QColor("#fff")) == pytest.approx(21)
    assert contrast(QColor("#777"), QColor("#fff")) == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("theme", [Theme.light(), Theme.dark()], ids=["light", "dark"])
def test_that_all_text_is_readable_on_every_ground_it_stands_on(theme, qapp):
    grounds = [theme.ground, theme.side, theme.panel, theme.code_ground, theme.user_bubble]
    for ground in grounds:
        assert contrast(theme.text, ground) >= 7
        assert contrast(theme.dim, ground) >= 4.5
    for ground in grounds[:3]:
        assert contrast(theme.faint, ground) >= 4.5
    for colour in (theme.accent, theme.good, theme.caution, theme.bad):
        assert contrast(colour, theme.ground) >= 4.5
    assert contrast(theme.copied, theme.ground) >= 3
    assert contrast(theme.plain, theme.ground) >= 3


def test_that_every_font_grows_with_the_text_size(qapp):
    for role in ("body", "small", "label", "code", "title"):
        sizes = [Theme.light(size).font(role).pixelSize() for size in TEXT_SIZES]
        assert sizes == sorted(sizes)
        assert sizes[-1] >= 2 * Theme.light(1.0).font(role).pixelSize() - 1


def test_that_text_size_steps_stay_within_the_list(qapp):
    themes = Themes()
    for _ in range(20):
        themes.step_text_size(1)
    assert themes.text_size == TEXT_SIZES[-1]
    for _ in range(20):
        themes.step_text_size(-1)
    assert themes.text_size == TEXT_SIZES[0]


def test_that_a_theme_is_told_of_only_when_it_is_another(qapp):
    themes, told = Themes("light"), []
    themes.changed.connect(lambda: told.append(themes.current.is_dark))
    themes.set_appearance("light")
    themes.set_appearance("dark")
    themes.set_appearance("dark")
    assert told == [True]


def test_that_the_system_is_followed_live_and_a_choice_is_not_overruled(qapp):
    system = QGuiApplication.styleHints().colorSchemeChanged
    following, chosen = Themes("system"), Themes("light")
    system.emit(Qt.ColorScheme.Dark)
    assert (following.current.is_dark, chosen.current.is_dark) == (True, False)
    system.emit(Qt.ColorScheme.Light)
    assert not following.current.is_dark


def test_that_the_open_window_changes_its_colours_at_once(in_window, until, errors):
    async def scene(window):
        seen = []
        for appearance in ("light", "dark", "light"):
            window._themes.set_appearance(appearance)
            seen.append([ground_of(window.title_bar), ground_of(window.sidebar),
                         ground_of(window.view.welcome), ground_of(window.view.composer)])  # fmt: skip
        return seen

    light, dark, again = in_window(SlowEngine(), scene)
    expected_light, expected_dark = Theme.light(), Theme.dark()
    assert light == again == names(expected_light)
    assert dark == names(expected_dark)


def ground_of(widget):
    return widget.grab().toImage().pixelColor(2, widget.height() // 2).name()


def names(theme):
    return [theme.ground.name(), theme.side.name(), theme.ground.name(), theme.ground.name()]
