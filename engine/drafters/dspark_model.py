"""The layers of a drafter with an unmasked block. Parameters are named as in its files.

Equations: deepseek-ai/DeepSpec, deepspec/modeling/dspark; without the heads z-lab's dflash.
"""

from collections.abc import Sequence

import mlx.core as mx
from mlx import nn

from engine.drafters.dspark_config import DSparkConfig
from engine.drafters.dspark_context import Buffer
from engine.drafters.parts import MLP, Heads


class Attention(Heads):
    """Block rows look at every context row and every block row: there is no mask."""

    def __init__(self, config: DSparkConfig) -> None:
        super().__init__(config, traditional=config.traditional)
        self.q_proj = nn.Linear(config.hidden, config.wide, bias=False)
        self.k_proj = nn.Linear(config.hidden, config.narrow, bias=False)
        self.v_proj = nn.Linear(config.hidden, config.narrow, bias=False)

    def rows(self, x: mx.array, position: int) -> tuple[mx.array, mx.array]:
        """Keys and values (1, kv_heads, n, dim) of rows (1, n, hidden) from `position` on."""
        return self.as_keys(self.k_proj(x), position), self.as_values(self.v_proj(x))

    def __call__(self, x: mx.array, position: int, context: Buffer) -> mx.array:
        """Attention of a block (1, n, hidden) whose first row is at `position`."""
        queries = self.as_queries(self.q_proj(x), position)
        keys, values = context.with_block(*self.rows(x, position))
        out = mx.fast.scaled_dot_product_attention(
            queries, keys, values, scale=self._config.head_dim**-0.5
        )
        return self.o_proj(out.transpose(0, 2, 1, 3).reshape(1, x.shape[1], -1))


class Layer(nn.Module):
    """One decoder layer."""

    def __init__(self, config: DSparkConfig) -> None:
        super().__init__()
        self.self_attn = Attention(config)
        self.mlp = MLP(config.hidden, config.intermediate)
        self.input_layernorm = nn.RMSNorm(config.hidden, eps=config.eps)
        self.post_attention_layernorm = nn.RMSNorm(config.hidden, eps=config.eps)

    def __call__(self, x: mx.array, position: int, context: Buffer) -> mx.array:
        """(1, n, hidden) to the same."""
        x = x + self.self_attn(self.input_layernorm(x), position, context)
        return x + self.mlp(self.post_attention_layernorm(x))


class MarkovHead(nn.Module):
    """What the token before adds to a slot's scores."""

    def __init__(self, config: DSparkConfig) -> None:
        super().__init__()
        self.markov_w1 = nn.Embedding(config.vocab, config.rank)
        self.markov_w2 = nn.Linear(config.rank, config.draft_vocab, bias=False)


class ConfidenceHead(nn.Module):
    """How likely a draft is to survive when all before it do."""

    def __init__(self, config: DSparkConfig) -> None:
        super().__init__()
        self.proj = nn.Linear(config.hidden + config.rank, 1)


class DSparkModel(nn.Module):
    """Everything that is in the files; embedding and head may be the target's."""

    def __init__(self, config: DSparkConfig, *, embeds: bool, scores: bool) -> None:
        super().__init__()
        self.fc = nn.Linear(len(config.taps) * config.hidden, config.hidden, bias=False)
        self.hidden_norm = nn.RMSNorm(config.hidden, eps=config.eps)
        self.norm = nn.RMSNorm(config.hidden, eps=config.eps)
        self.layers = [Layer(config) for _ in range(config.layers)]
        if config.rank:
            self.markov_head = MarkovHead(config)
        if config.confidence:
            self.confidence_head = ConfidenceHead(config)
        if embeds:
            self.embed_tokens = nn.Embedding(config.vocab, config.hidden)
        if scores:
            self.lm_head = nn.Linear(config.hidden, config.draft_vocab, bias=False)

    def absorb(self, taps: mx.array, position: int, context: Sequence[Buffer]) -> None:
        """Add rows of taps (n, taps * hidden) to the context. No input norm on this path."""
        fused = self.hidden_norm(self.fc(taps[None]))
        for layer, buffer in zip(self.layers, context, strict=True):
            buffer.append(*layer.self_attn.rows(fused, position))

    def block(self, x: mx.array, position: int, context: Sequence[Buffer]) -> mx.array:
        """Hidden rows (1, n, hidden) of a block of embeddings whose first is at `position`."""
        for layer, buffer in zip(self.layers, context, strict=True):
            x = layer(x, position, buffer)
        return self.norm(x)
