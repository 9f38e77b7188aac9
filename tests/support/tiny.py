"""Real models of 64 dimensions, the same on every machine for the same seed."""

import mlx.core as mx
from mlx import nn
from mlx.utils import tree_map
from mlx_lm.models import llama

P = [3, 5, 7, 11, 13, 17, 19, 23, 29, 31]


def tiny(seed: int, vocab: int = 64, window: int | None = None) -> nn.Module:
    """A llama with two layers and random weights; with `window` its first layer sees only that far.

    Float32, tied embeddings.
    """
    mx.random.seed(seed)
    model = llama.Model(llama.ModelArgs.from_dict(tiny_config(vocab, window)))
    model.update(tree_map(_drawn, model.parameters()))
    mx.eval(model.parameters())
    return model


def tiny_config(vocab: int = 64, window: int | None = None) -> dict[str, object]:
    """What the `config.json` of `tiny` says."""
    config: dict[str, object] = {
        "model_type": "llama",
        "hidden_size": 64,
        "num_hidden_layers": 2,
        "intermediate_size": 128,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "rms_norm_eps": 1e-5,
        "vocab_size": vocab,
        "rope_theta": 10000,
        "tie_word_embeddings": True,
    }
    if window is not None:
        config["layer_types"] = ["sliding_attention", "full_attention"]
        config["sliding_window"] = window
    return config


def uncached(model: nn.Module, prompt: list[int], count: int) -> list[int]:
    """The oracle: `count` greedy tokens after `prompt`, the whole text fed anew for each."""
    tokens = list(prompt)
    while len(tokens) < len(prompt) + count:
        logits = model(mx.array([tokens]))
        tokens.append(int(mx.argmax(logits[0, -1]).item()))
    return tokens[len(prompt) :]


def _drawn(parameter: mx.array) -> mx.array:
    """Random values for a matrix; a norm vector stays at 1."""
    return mx.random.normal(parameter.shape) * 0.3 if parameter.ndim > 1 else parameter
