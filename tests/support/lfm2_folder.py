"""LFM2 folders in the layout that transformers publishes, with NumPy's weights."""

import itertools
import json
from pathlib import Path

import mlx.core as mx
import numpy as np
from mlx.utils import tree_flatten
from tokenizers import AddedToken, decoders, models, pre_tokenizers
from tokenizers import Tokenizer as Vocabulary

from support.drafters import write_drafter
from support.dspark_pairs import drawn
from support.model_folders import write_json
from support.tiny_dspark import LIQUID, random_weights
from support.tiny_lfm2 import DENSE, MOE

FOLDERS = {"lfm2": DENSE, "lfm2_moe": MOE}
IDS = [(11 * i * i + 5 * i + 2) % 96 for i in range(24)]
VOCAB = 320
_NAMED = {
    0: "<|pad|>", 1: "<|startoftext|>", 2: "<|endoftext|>", 6: "<|im_start|>", 7: "<|im_end|>",
}  # fmt: skip
_TEMPLATE = """{{- bos_token -}}
{%- for message in messages -%}
{{- "<|im_start|>" + message.role + "\n" + message.content + "<|im_end|>\n" -}}
{%- endfor -%}
{{- "<|im_start|>assistant\n" if add_generation_prompt -}}
"""
_EXPERTS = {"gate_proj": "w1", "down_proj": "w2", "up_proj": "w3"}


def write_lfm2(folder: Path, name: str, **fields) -> Path:
    """A folder that both transformers and mlx-lm open; `fields` go into its config."""
    config = FOLDERS[name] | fields
    folder.mkdir(parents=True, exist_ok=True)
    named = {"lfm2": "Lfm2ForCausalLM", "lfm2_moe": "Lfm2MoeForCausalLM"}[name]
    rope = {"rope_parameters": {"rope_theta": 1e4, "rope_type": "default"}}
    text = json.dumps(config | rope | {"architectures": [named], "dtype": "float32"})
    (folder / "config.json").write_text(text)
    tensors = {}
    for path, array in tree_flatten(drawn(config).parameters()):
        if "conv.conv.weight" in path:
            tensors[path] = array.transpose(0, 2, 1)
        elif "switch_mlp" in path:
            before, after = path.split("switch_mlp.")
            part = _EXPERTS[after.removesuffix(".weight")]
            for i, expert in enumerate(array):
                tensors[f"{before}experts.{i}.{part}.weight"] = expert
        elif name == "lfm2_moe" and "feed_forward" in path and "_proj" in path:
            before, after = path.split("feed_forward.")
            part = _EXPERTS[after.removesuffix(".weight")]
            tensors[f"{before}feed_forward.{part}.weight"] = array
        else:
            tensors[path] = array
    contiguous = {path: mx.contiguous(array) for path, array in tensors.items()}
    mx.save_safetensors(str(folder / "model.safetensors"), contiguous, {"format": "pt"})
    return folder


def write_chatting(folder: Path, name: str) -> Path:
    """A target that chats: with tokenizer, template and end tokens under LFM2's ids."""
    write_lfm2(folder, name, vocab_size=VOCAB, eos_token_id=7)
    names = [_NAMED.get(i, f"<|reserved_{i}|>") for i in range(32)]
    pieces = sorted(pre_tokenizers.ByteLevel.alphabet())
    merges = [(a, b) for a in "aeiou" for b in "nrst"] + [("Ġ", c) for c in "abcdefghijkl"]
    words = {text: i for i, text in enumerate([*names, *pieces, *(a + b for a, b in merges)])}
    assert len(words) == VOCAB, len(words)
    vocabulary = Vocabulary(models.BPE(words, merges))
    vocabulary.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    vocabulary.decoder = decoders.ByteLevel()
    vocabulary.add_special_tokens([AddedToken(n, special=True, normalized=False) for n in names])
    vocabulary.save(str(folder / "tokenizer.json"))
    said = {"bos_token": _NAMED[1], "eos_token": _NAMED[7], "pad_token": _NAMED[0]}
    write_json(folder / "tokenizer_config.json", said | {"chat_template": _TEMPLATE})
    write_json(folder / "generation_config.json", {"eos_token_id": 7})
    return folder


def write_knowing(folder: Path, taps=(0, 2), truths=(), share=0.7, **fields) -> Path:
    """A drafter folder that knows the replies `truths` by heart, a share of their tokens rightly."""
    config = LIQUID | {"vocab_size": VOCAB, "markov_rank": VOCAB, **fields}
    config["dflash_config"] = config["dflash_config"] | {"target_layer_ids": list(taps)}
    weights, rng = random_weights(config), np.random.default_rng(1)
    table = np.zeros((VOCAB, VOCAB), np.float32)
    for before, after in itertools.chain.from_iterable(map(itertools.pairwise, truths)):
        table[after if rng.random() < share else (after + 1) % VOCAB, before] += 100
    if truths:
        weights["markov_head.markov_w1.weight"] = np.eye(VOCAB, dtype=np.float32)
        weights["markov_head.markov_w2.weight"] = table
    return write_drafter(folder, config, weights)
