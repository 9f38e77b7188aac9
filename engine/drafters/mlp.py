"""The feed-forward part that the layers of every drafter have."""

import mlx.core as mx
from mlx import nn


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
