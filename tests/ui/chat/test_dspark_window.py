"""The whole program with LFM2 and its DSpark drafter: a drafted answer in the window, the same text."""

from engine.engine import Engine
from support.lfm2_folder import write_chatting, write_knowing
from ui import wording


def test_that_a_chosen_pair_drafts_what_the_target_alone_says(
    in_window, answered, until, errors, tmp_path
):
    target = write_chatting(tmp_path / "LFM2-tiny", "lfm2_moe")
    drafter = write_knowing(tmp_path / "LFM2-tiny-DSpark", (1, 3))

    async def chosen(window, wish, bits):
        window.conversations.new()
        old = window.view.settings
        sheet = window.open_chat_settings()
        sheet.target.path.setText(str(target))
        sheet.drafter.path.setText(str(drafter))
        sheet.temperature.setValue(0.7)
        sheet.seed.setText("6")
        sheet.max_tokens.setValue(40)
        sheet.drafting.setCurrentIndex(sheet.drafting.findData(wish))
        field = sheet.runs.bits
        if field.findData(bits) < 0:
            field.addItem("", bits)
        field.setCurrentIndex(field.findData(bits))
        sheet.accept()
        await until(lambda: window.view.settings != old)
        named = window.title_bar.pair.toolTip()
        await answered(window, "Name a bird.")
        messages = await window.view._chat.messages(window.view.here)
        return messages[-1], named, window.view.composer.switch.line

    async def scene(window):
        asked = (("on", 0), ("off", 0), ("on", 8), ("on", 4))
        return [await chosen(window, wish, bits) for wish, bits in asked]

    released, off, packed, refused = in_window(Engine(), scene)
    for message, named, _ in (released, off, packed, refused):
        assert named == "LFM2-tiny ← LFM2-tiny-DSpark"
        assert message.state == "length"
        assert message.text == released[0].text != ""
    for message, _, line in (released, packed):
        assert "drafter" in {round_.mode for round_ in message.rounds}
        assert line != wording.DRAFT_OFF
    for message, _, _ in (off, refused):
        assert "drafter" not in {round_.mode for round_ in message.rounds}
    assert off[2] == wording.DRAFT_OFF
    assert "not in 4" in refused[2]
    assert errors == []
