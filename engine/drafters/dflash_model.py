"""The layers of Laguna's DFlash drafter. Parameters are named as in its files.

Equations: vLLM's laguna_dflash.py. Each row sees the window before itself, as there; the training
code in vllm-project/speculators anchors every row's window at the pending row.
"""

from collections.abc import Sequence
from typing import cast

import mlx.core as mx
from mlx import nn

from engine.drafters.dflash_config import DFlashConfig
from engine.drafters.dflash_context import Window
from engine.drafters.parts import MLP, Heads


class Attention(Heads):
    """Sliding attention of a causal block over context rows, each head's output gated."""

    def __init__(self, config: DFlashConfig) -> None:
        super().__init__(config)
        self.qkv_proj = nn.Linear(config.hidden, config.wide + 2 * config.narrow, bias=False)
        self.g_proj = nn.Linear(config.hidden, config.heads, bias=False)

    def remember(self, x: mx.array, context: Window) -> None:
        """Append the keys and values of context rows (1, n, hidden)."""
        keys, values = mx.split(_last_outputs(self.qkv_proj, x, self._config.wide), 2, axis=-1)
        context.append(self.as_keys(keys, context.end), self.as_values(values))

    def __call__(self, x: mx.array, context: Window) -> mx.array:
        """Attention of a block (1, n, hidden) that follows the context."""
        config = self._config
        parts = mx.split(self.qkv_proj(x), [config.wide, config.wide + config.narrow], axis=-1)
        queries = self.as_queries(parts[0], context.end)
        keys, values, mask = context.with_block(
            self.as_keys(parts[1], context.end), self.as_values(parts[2])
        )
        out = mx.fast.scaled_dot_product_attention(
            queries, keys, values, scale=config.head_dim**-0.5, mask=mask
        )
        gate = nn.softplus(self.g_proj(x).astype(mx.float32)).astype(out.dtype)
        gated = out.transpose(0, 2, 1, 3) * gate[..., None]
        return self.o_proj(gated.reshape(1, x.shape[1], -1))


class Layer(nn.Module):
    """One decoder layer."""

    def __init__(self, config: DFlashConfig) -> None:
        super().__init__()
        self.self_attn = Attention(config)
        self.mlp = MLP(config.hidden, config.intermediate)
        self.input_layernorm = nn.RMSNorm(config.hidden, eps=config.eps)
        self.post_attention_layernorm = nn.RMSNorm(config.hidden, eps=config.eps)

    def remember(self, x: mx.array, context: Window) -> None:
        """Append context rows: they pass the input norm as block rows do."""
        self.self_attn.remember(self.input_layernorm(x), context)

    def __call__(self, x: mx.array, context: Window) -> mx.array:
        """(1, n, hidden) to the same."""
        x = x + self.self_attn(self.input_layernorm(x), context)
        return x + self.mlp(self.post_attention_layernorm(x))


class DFlashModel(nn.Module):
    """Everything that is in the files; embedding and head are the target's."""

    def __init__(self, config: DFlashConfig) -> None:
        super().__init__()
        self.aux_hidden_norms = [nn.RMSNorm(config.hidden, eps=config.eps) for _ in config.taps]
        self.fc = nn.Linear(len(config.taps) * config.hidden, config.hidden, bias=False)
        self.hidden_norm = nn.RMSNorm(config.hidden, eps=config.eps)
        self.layers = [Layer(config) for _ in range(config.layers)]
        self.norm = nn.RMSNorm(config.hidden, eps=config.eps)

    def absorb(self, taps: mx.array, context: Sequence[Window]) -> None:
        """Add rows of taps (n, taps * hidden) to the context."""
        parts = mx.split(taps[None], len(self.aux_hidden_norms), axis=-1)
        normed = [norm(part) for norm, part in zip(self.aux_hidden_norms, parts, strict=True)]
        fused = self.hidden_norm(self.fc(mx.concatenate(normed, axis=-1)))
        for layer, window in zip(self.layers, context, strict=True):
            layer.remember(fused, window)

    def block(self, x: mx.array, context: Sequence[Window]) -> mx.array:
        """Hidden rows (1, n - 1, hidden) of a block of embeddings; row 0 predicts nothing."""
        for layer, window in zip(self.layers, context, strict=True):
            x = layer(x, window)
        return self.norm(x[:, 1:])


def _last_outputs(linear: nn.Linear | nn.QuantizedLinear, x: mx.array, first: int) -> mx.array:
    """The outputs from number `first` on; the others are not computed."""
    if not isinstance(linear, nn.QuantizedLinear):
        return x @ linear.weight[first:].T
    biases = cast("mx.array | None", linear.get("biases"))
    return mx.quantized_matmul(
        x, linear.weight[first:], linear.scales[first:],
        None if biases is None else biases[first:],
        transpose=True, group_size=linear.group_size, bits=linear.bits, mode=linear.mode,
    )  # fmt: skip
