"""Small Laguna folders in the published layout: names, shards, bfloat16, tokenizer and template."""

import mlx.core as mx
from mlx.utils import tree_flatten
from tokenizers import AddedToken, decoders, models, pre_tokenizers
from tokenizers import Tokenizer as Vocabulary

from engine.request import ModelChoice
from support.drafters import write_drafter
from support.model_folders import write_json, write_shards
from support.tiny_dflash import DRAFTER, random_weights
from support.tiny_laguna import FULL, SLIDING, TARGET, tiny_laguna

VOCAB = 320
_SPECIAL = {
    2: "〈|EOS|〉", 9: "〈|PAD|〉", 12: "〈|MASK|〉", 18: "<think>", 19: "</think>", 20: "<system>",
    21: "</system>", 22: "<user>", 23: "<assistant>", 24: "</assistant>", 25: "</user>",
}  # fmt: skip
_TEMPLATE = """{{- "〈|EOS|〉" -}}
{%- for message in messages -%}
{{- "<system>\\n" + message.content + "\\n</system>\\n" if message.role == "system" -}}
{{- "<user>\\n" + message.content + "\\n</user>\\n" if message.role == "user" -}}
{{- "<assistant>\\n" + message.content + "\\n</assistant>\\n" if message.role == "assistant" -}}
{%- endfor -%}
{{- "<assistant>\\n" if add_generation_prompt -}}
"""
CONFIG = TARGET | {
    "architectures": ["LagunaForCausalLM"],
    "torch_dtype": "bfloat16",
    "vocab_size": VOCAB,
    "bos_token_id": 2,
    "eos_token_id": [2, 24],
    "pad_token_id": 9,
    "attention_bias": False,
    "moe_apply_router_weight_on_input": False,
    "moe_router_logit_softcapping": 0.0,
}


def _rotated(**fields):
    """The rope_parameters with fields of the full layers set."""
    rope = TARGET["rope_parameters"]
    return {"rope_parameters": rope | {FULL: rope[FULL] | fields}}


CONFIG |= _rotated(attention_factor=1.1386294361119891)  # 0.1 ln 4 + 1, as XS 2.1 writes it
_WHOLE = CONFIG | {"vocab_size": 64, "torch_dtype": "float32"}
# What transformers is asked about: XS 2.1, XS.2 with its own factor and gate, and other branches.
GOLDEN = {
    "xs-2.1": _WHOLE,
    "xs.2": _WHOLE | {"gating": True} | _rotated(attention_factor=1.0),
    "tied": _WHOLE | {"tie_word_embeddings": True},
    "softcapped": _WHOLE
    | {"moe_router_logit_softcapping": 3.0, "num_experts_per_tok": 4}
    | {"layer_types": [SLIDING, SLIDING, FULL, SLIDING, FULL]}
    | _rotated(factor=32.0, attention_factor=None),
}
PAIRED = DRAFTER | {"vocab_size": VOCAB, "draft_vocab_size": VOCAB}


def published(model, dtype=mx.bfloat16):
    """The parameters of an mlx-lm laguna model under the names of the published files."""
    tensors = {}
    for path, array in tree_flatten(model.parameters()):
        name = path.replace("mlp.gate.proj.", "mlp.gate.")
        name = name.replace("mlp.gate.e_score", "mlp.experts.e_score")
        before, stacked, after = name.partition("switch_mlp.")
        parts = {f"{before}experts.{i}.{after}": part for i, part in enumerate(array)}
        for each, part in (parts if stacked else {name: array}).items():
            exact = "e_score" in each or dtype is None
            tensors[each] = mx.contiguous(part if exact else part.astype(dtype))
    return tensors


def write_target(folder, config=CONFIG, seed=3, dtype=mx.bfloat16):
    """A folder as it is published, its weights in two shards."""
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / "config.json", config)
    whole = folder / "whole.safetensors"
    tensors = published(tiny_laguna(config, seed), dtype)
    mx.save_safetensors(str(whole), tensors, {"format": "pt"})
    write_shards(folder, whole, len(tensors) // 2)
    whole.unlink()
    return folder


def write_text_files(folder):
    """Tokenizer, template and generation settings with the published ids of the special tokens."""
    names = [_SPECIAL.get(i, f"<|reserved_{i}|>") for i in range(32)]
    pieces = sorted(pre_tokenizers.ByteLevel.alphabet())
    merges = [(a, b) for a in "aeiou" for b in "nrst"] + [("Ġ", c) for c in "abcdefghijkl"]
    words = {text: i for i, text in enumerate([*names, *pieces, *(a + b for a, b in merges)])}
    assert len(words) == VOCAB, len(words)
    vocabulary = Vocabulary(models.BPE(words, merges))
    vocabulary.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    vocabulary.decoder = decoders.ByteLevel()
    vocabulary.add_special_tokens([AddedToken(n, special=True, normalized=False) for n in names])
    vocabulary.save(str(folder / "tokenizer.json"))
    said = {"bos_token": _SPECIAL[2], "eos_token": _SPECIAL[2], "pad_token": _SPECIAL[9]}
    write_json(folder / "tokenizer_config.json", said | {"tokenizer_class": "TokenizersBackend"})
    write_json(folder / "generation_config.json", {"eos_token_id": [2, 24], "pad_token_id": 9})
    (folder / "chat_template.jinja").write_text(_TEMPLATE)
    return folder


def write_pair(folder, seed=3):
    """A target that chats and a drafter made for it."""
    target = write_text_files(write_target(folder / "Laguna-tiny", seed=seed))
    weights = {
        name: mx.array(array).astype(mx.bfloat16) for name, array in random_weights(PAIRED).items()
    }
    drafter = write_drafter(folder / "Laguna-tiny-DFlash", PAIRED, weights)
    return ModelChoice(target, drafter)
