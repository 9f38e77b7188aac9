"""The starter with fewer layers and fewer words: real weights that are read and run quickly."""

import mlx.core as mx

from support.model_folders import edit_json, linked

LAYERS, VOCAB = 3, 4096


def cut_starter(folder, starter):
    """Write the cut model; its tokenizer is still the whole one's. Returns the folder."""
    linked(folder, starter)
    edit_json(
        folder / "config.json",
        lambda config: config.update(num_hidden_layers=LAYERS, vocab_size=VOCAB),
    )
    whole = mx.load(str(starter / "model.safetensors"))
    kept = {
        name: array[:VOCAB] if "embed_tokens" in name else array
        for name, array in whole.items()
        if not name.startswith("model.layers.") or int(name.split(".")[2]) < LAYERS
    }
    (folder / "model.safetensors").unlink()
    mx.save_safetensors(str(folder / "model.safetensors"), kept, {"format": "mlx"})
    return folder
