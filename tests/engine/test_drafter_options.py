"""Options that a kind of drafter does not have are refused by name, before its weights are read."""

import pytest

from engine.drafters import open_drafter
from engine.errors import DrafterRefused
from engine.request import DrafterOptions
from engine.target import Target
from support.drafters import write_drafter
from support.tiny_dflash import DRAFTER, random_weights
from support.tiny_laguna import TARGET, tiny_laguna


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (DrafterOptions(8), "not in 8 bits"),
        (DrafterOptions(4), "not in 4 bits"),
        (DrafterOptions(0, 0.5), "no confidence head"),
    ],
    ids=str,
)
def test_that_dflash_has_no_options(options, words, tmp_path):
    target = Target(tiny_laguna(), dict(TARGET), (1, 3, 4))
    write_drafter(tmp_path, DRAFTER, random_weights(DRAFTER))
    assert open_drafter(tmp_path, target, DrafterOptions()).block > 1
    (tmp_path / "model.safetensors").unlink()
    with pytest.raises(DrafterRefused) as refusal:
        open_drafter(tmp_path, target, options)
    assert refusal.value.code == "drafter_setting"
    assert "DFlash" in refusal.value.message
    assert words in refusal.value.message
    assert "as released" in refusal.value.action
