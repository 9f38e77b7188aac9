"""The whole program with a Laguna pair: folders chosen in the window, a drafted answer, the same text."""

from engine.engine import Engine
from support.laguna_folder import write_pair
from ui import wording


def test_that_a_chosen_laguna_pair_drafts_what_the_target_alone_says(
    in_window, answered, until, errors, tmp_path
):
    pair = write_pair(tmp_path / "models")

    async def chosen(window, wish):
        window.conversations.new()
        old = window.view.settings
        sheet = window.open_chat_settings()
        sheet.target.path.setText(str(pair.target))
        sheet.drafter.path.setText(str(pair.drafter))
        sheet.temperature.setValue(0.7)
        sheet.seed.setText("6")
        sheet.max_tokens.setValue(40)
        sheet.drafting.setCurrentIndex(sheet.drafting.findData(wish))
        sheet.accept()
        await until(lambda: window.view.settings != old)
        named = window.title_bar.pair.toolTip()
        await answered(window, "Name a bird.")
        messages = await window.view._chat.messages(window.view.here)
        return messages[-1], named, window.view.composer.switch.line

    async def scene(window):
        return [await chosen(window, wish) for wish in ("on", "off")]

    (drafted, named, line), (plain, _, off) = in_window(Engine(), scene)
    assert named == "Laguna-tiny ← Laguna-tiny-DFlash"
    assert drafted.state == plain.state == "length"
    assert drafted.text == plain.text != ""
    assert {round_.mode for round_ in drafted.rounds} >= {"drafter"}
    assert {round_.mode for round_ in plain.rounds} == {"plain"}
    assert drafted.finished.proposed > 0
    assert line != wording.DRAFT_OFF
    assert off == wording.DRAFT_OFF
    assert errors == []
