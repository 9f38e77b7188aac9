"""The licences of what is chosen, in the inspector."""

import json
from dataclasses import replace

from PySide6.QtWidgets import QApplication

from app import catalogue
from app.catalogue import Found, Licence
from support.checked import CheckedEngine
from support.published_dspark import CONFIGS
from ui.inspector.licences import licences
from ui.inspector.panel import InspectorPanel
from ui.theme import Themes

KNOWN = catalogue.read()
LFM = {"model_type": "lfm2", "hidden_size": 2048, "num_hidden_layers": 30, "vocab_size": 128000}


def folder(path, config, licence=""):
    path.mkdir()
    (path / "config.json").write_text(json.dumps(config))
    if licence:
        (path / "LICENSE").write_text(licence)
    return path


def test_that_each_half_has_a_line_and_the_terms_are_for_the_pointer(tmp_path):
    target = KNOWN.find(folder(tmp_path / "a", LFM))
    drafter = KNOWN.find(folder(tmp_path / "b", CONFIGS["LFM2.5-2.6B-DSpark"], "Own License\n…"))
    first, second = licences(target, drafter)
    assert (first.name, first.value) == ("Model’s licence", "LFM Open License v1.0")
    assert "10 million US dollars" in first.meaning
    assert first.meaning.endswith("As published, by the folder’s sizes.")
    assert (second.name, second.value) == ("Drafter’s licence", "Own License")
    assert second.meaning == "As the folder says."


def test_that_nothing_is_said_of_what_is_not_known(tmp_path):
    unknown = Found(tmp_path, False, None, None, None)
    assert [(line.value, line.meaning) for line in licences(unknown, None)] == [
        ("see its page", "No licence is known here."), ("–", ""),
    ]  # fmt: skip
    stated = Found(tmp_path, True, None, None, Licence("<b>x</b>"))
    assert licences(None, stated)[1].value == "<b>x</b>"


def test_that_a_long_name_is_shortened_and_never_a_tooltip(tmp_path):
    name = "<b>A licence of my own</b> with a very long name"
    found = KNOWN.find(folder(tmp_path / "a", LFM, name))
    assert found.licence.name == name
    line = licences(found, None)[0]
    assert line.value == "<b>A licence of my ow…"
    assert line.meaning == "As the folder says."


def test_that_no_name_widens_the_panel(qtbot, tmp_path):
    panel = InspectorPanel(Themes())
    qtbot.addWidget(panel)
    found = KNOWN.find(folder(tmp_path / "a", LFM, "W" * 80))
    panel.sections["memory"].tell(licences(found, found))
    panel.show()
    QApplication.processEvents()
    assert panel._area.widget().width() <= panel.width()


def test_that_the_inspector_names_the_licences_of_what_is_chosen(
    in_window, until, errors, tmp_path
):
    target = folder(tmp_path / "a", LFM)
    drafter = folder(tmp_path / "b", CONFIGS["LFM2.5-2.6B-DSpark"], "<h1>Mine</h1>\x1b[0m")

    def shown(window):
        return window.inspector_panel.sections["memory"].text

    async def scene(window):
        window.menus.inspector.trigger()
        await until(lambda: "Model’s licence: Apache License 2.0" in shown(window))
        assert "Drafter’s licence: –" in shown(window)
        window.view.set_settings(replace(window.view.settings, target=target, drafter=drafter))
        await until(lambda: "Model’s licence: LFM Open License v1.0" in shown(window))
        return shown(window)

    said = in_window(CheckedEngine(tokens=2), scene)
    assert "Drafter’s licence: <h1>Mine</h1>\N{REPLACEMENT CHARACTER}[0m" in said
