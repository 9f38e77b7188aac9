"""What the sheet says of chosen folders: licences, what fits, and foreign words as plain text."""

import json

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QWidget

from app import catalogue
from app.conversation import Settings
from support.published import XS
from support.published_dspark import CONFIGS
from ui.chat.settings_sheet import ChatSettingsSheet
from ui.theme import Themes

KNOWN = catalogue.read()
TERMS = (
    "Commercial use is free below 10 million US dollars of yearly revenue; above that it needs a "
    "licence from Liquid AI."
)
LFM = {"model_type": "lfm2", "hidden_size": 2048, "num_hidden_layers": 30, "vocab_size": 128000}
LAGUNA = {
    "model_type": "laguna", "hidden_size": 2048, "num_hidden_layers": 40, "vocab_size": 100352,
    "max_position_embeddings": 262144,
}  # fmt: skip
QWEN = {"model_type": "qwen3", "hidden_size": 2560, "num_hidden_layers": 36, "vocab_size": 151936}
SMALL, LARGE = CONFIGS["LFM2.5-1.2B-Instruct-DSpark"], CONFIGS["LFM2.5-2.6B-DSpark"]


@pytest.fixture
def folder(tmp_path):
    """Write a folder with that config."""

    def write(config, name="model", **files):
        path = tmp_path / name
        path.mkdir()
        (path / "config.json").write_text(json.dumps(config))
        for file, text in files.items():
            (path / file).write_text(text)
        return path

    return write


@pytest.fixture
def sheet(qtbot):
    """The sheet for these two folders."""
    parent = QWidget()
    qtbot.addWidget(parent)

    def make(target=None, drafter=None):
        settings = Settings(target=target, drafter=drafter)
        return ChatSettingsSheet(Themes(), settings, KNOWN, parent)

    return make


def test_that_a_model_without_a_drafter_is_told_which_goes_with_it(sheet, folder):
    made = sheet(folder(LFM))
    first, second = made.target.note.text().splitlines()
    assert first == f"Its sizes are those of LFM2.5-2.6B. Licence: LFM Open License v1.0. {TERMS}"
    assert second == (
        "A drafter for it: LiquidAI/LFM2.5-2.6B-DSpark. Others measured 2.2 to 3.7 times the plain "
        "speed (bfloat16, M4 Pro and M5 Max); not measured here."
    )
    assert made.drafter.note.text() == ""
    assert made.drafter.note.isHidden()
    assert made.target.path.accessibleDescription() == made.target.note.text()
    assert "7 GB" in made.target.note.toolTip()


def test_that_a_pair_that_fits_says_the_terms_once(sheet, folder):
    made = sheet(folder(LFM), folder(LARGE, "drafter"))
    assert "A drafter for it" not in made.target.note.text()
    assert made.target.note.text().endswith(TERMS)
    assert made.drafter.note.text() == (
        "Its sizes are those of LFM2.5-2.6B-DSpark. Licence: LFM Open License v1.0, like the model’s."
    )


def test_that_a_drafter_of_another_model_names_its_own(sheet, folder):
    made = sheet(folder(LFM), folder(SMALL, "drafter"))
    assert made.drafter.note.text().startswith(
        "It was made for LiquidAI/LFM2.5-1.2B-Instruct, not for the model above.\n"
    )
    alone = sheet(None, folder(LARGE, "other"))  # the starter is not its model
    assert alone.drafter.note.text().startswith("It was made for LiquidAI/LFM2.5-2.6B, not for")
    assert alone.drafter.note.text().endswith(TERMS)  # the starter's licence is another one


def test_that_a_mixture_promises_nothing(sheet, folder):
    said = sheet(folder(LAGUNA)).target.note.text()
    assert (
        "A drafter for it: poolside/Laguna-XS-2.1-DFlash. Others report little or no gain" in said
    )
    assert "OpenMDW-1.1" in said
    assert "Acceptable Use Policy" in said
    fits = sheet(folder(LAGUNA, "again"), folder(XS, "drafter")).drafter.note.text()
    assert fits.startswith("Its sizes are those of Laguna-XS-2.1-DFlash. Licence: OpenMDW-1.1")


def test_that_a_licence_nobody_stated_is_not_guessed(sheet, folder):
    drafter = {
        "architectures": ["Qwen3DSparkModel"], "hidden_size": 2560, "num_target_layers": 36,
        "vocab_size": 151936, "target_layer_ids": [1], "markov_rank": 256,
    }  # fmt: skip
    alone = sheet(folder(QWEN, "alone")).target.note.text()
    names = "deepseek-ai/dspark_qwen3_4b_block7 or z-lab/Qwen3-4B-DFlash-b16"
    assert f"A drafter for it: {names}. Others measured 1.7 to 2.5 times" in alone
    assert "(DSpark, 8 bits, M4 Pro)" in alone
    made = sheet(folder(QWEN), folder(drafter, "drafter"))
    assert "Licence: Apache License 2.0." in made.target.note.text()
    assert made.drafter.note.text() == (
        "Its sizes are those of dspark_qwen3_4b_block7. Licence: see the model’s page."
    )
    other = sheet(folder(QWEN | {"hidden_size": 8}, "other"))
    assert other.target.note.text() == "Licence: see the model’s page."


def test_that_swapped_folders_are_told_apart(sheet, folder):
    made = sheet(folder(LARGE), folder(LFM, "drafter"))
    assert made.target.note.text() == (
        "This is a drafter: choose it below, and its model LiquidAI/LFM2.5-2.6B here."
    )
    assert made.drafter.note.text() == "This is a model that chats, and no drafter."
    unknown = sheet(folder(LARGE | {"hidden_size": 8}, "unknown"))
    assert unknown.target.note.text() == "This is a drafter: choose it below, and its model here."


def test_that_the_notes_follow_what_is_typed(sheet, folder):
    made, path = sheet(), str(folder(LFM))
    assert made.target.note.text().startswith("Its sizes are those of SmolLM2-135M-Instruct.")
    for text in (path[:-1], "~nobody-has-this-name/x", "\\\\", "/dev/null"):
        made.target.path.setText(text)
        assert made.target.note.text() == ""
    made.target.path.setText(path)
    assert "LFM2.5-2.6B" in made.target.note.text()
    made.target.path.clear()
    assert made.target.note.text().startswith("Its sizes are those of SmolLM2-135M-Instruct.")


def test_that_foreign_words_stay_plain_text(sheet, folder):
    evil = folder(
        LFM, "<b>bold<b>", LICENSE="<h1>Mine</h1> {name} <img src='x'>\x1b[31m\u202eabc\nmore"
    )
    note = sheet(evil).target.note
    assert note.textFormat() == Qt.TextFormat.PlainText
    assert "Licence, as the folder says: <h1>Mine</h1> {name} <img src='x'>\N{REPLACEMENT CHARACTER}[31m" in note.text()  # fmt: skip
    assert "more" not in note.text()
    assert TERMS not in note.text()  # they are another licence's
    assert all(letter.isprintable() or letter == "\n" for letter in note.text())


@pytest.mark.parametrize("width", [440, 533, 900])
def test_that_no_line_of_a_note_is_cut_off(sheet, folder, width):
    made = sheet(folder(LFM), folder(SMALL, "drafter"))
    made.show()
    made.resize(width, 100)
    for _ in range(3):
        QApplication.processEvents()
    for label in (made.target.note, made.drafter.note, made.mode.meaning):
        assert label.height() >= label.heightForWidth(label.width())
        assert (
            label.geometry().bottom() < label.parentWidget().height()
        )  # the field shows all of it
