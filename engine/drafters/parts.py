"""What the layers of every drafter have. Parameters are named as in the files."""

import mlx.core as mx
from mlx import nn

from engine.drafters.contract import Body


class MLP(nn.Module):
    """Gated by SiLU (Shazeer 2020, "GLU Variants Improve Transformer")."""

    def __init__(self, hidden: int, intermediate: int) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(hidden, intermediate, bias=False)
        self.up_proj = nn.Linear(hidden, intermediate, bias=False)
        self.down_proj = nn.Linear(intermediate, hidden, bias=False)

    def __call__(self, x: mx.array) -> mx.array:
        """(1, n, hidden) to the same."""
        gate = self.gate_proj(x)
        return self.down_proj(gate * mx.sigmoid(gate) * self.up_proj(x))


class Heads(nn.Module):
    """Projected rows (1, n, heads * dim) as heads (1, heads, n, dim), normed and turned."""

    def __init__(self, config: Body, *, traditional: bool = False) -> None:
        super().__init__()
        self._config, self._traditional = config, traditional
        self.o_proj = nn.Linear(config.wide, config.hidden, bias=False)
        self.q_norm = nn.RMSNorm(config.head_dim, eps=config.eps)
        self.k_norm = nn.RMSNorm(config.head_dim, eps=config.eps)

    def as_queries(self, x: mx.array, position: int) -> mx.array:
        """Queries of rows from `position` on."""
        return self._turned(self.q_norm(self._split(x, self._config.heads)), position)

    def as_keys(self, x: mx.array, position: int) -> mx.array:
        """Keys of rows from `position` on."""
        return self._turned(self.k_norm(self._split(x, self._config.kv_heads)), position)

    def as_values(self, x: mx.array) -> mx.array:
        """Values of rows."""
        return self._split(x, self._config.kv_heads)

    def _split(self, x: mx.array, heads: int) -> mx.array:
        return x.reshape(1, x.shape[1], heads, self._config.head_dim).transpose(0, 2, 1, 3)

    def _turned(self, x: mx.array, position: int) -> mx.array:
        return mx.fast.rope(
            x, self._config.head_dim, traditional=self._traditional,
            base=self._config.rope_theta, scale=1.0, offset=position,
        )  # fmt: skip
