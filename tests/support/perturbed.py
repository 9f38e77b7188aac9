"""A stand-in for back ends whose kernels depend on the number of rows."""

import mlx.core as mx
from mlx import nn

from engine.target import Target

BITS = {mx.float32: mx.uint32, mx.float16: mx.uint16, mx.bfloat16: mx.uint16}


class Perturbed(Target):
    """A target whose logits change in passes of the given widths: `change(logits, width)`."""

    def __init__(self, model, config, widths, change):
        super().__init__(model, config)
        self._widths, self._change = frozenset(widths), change

    def forward(self, ids, cache, **options):
        rows = super().forward(ids, cache, **options)
        width = rows.logits.shape[0]
        if width not in self._widths:
            return rows
        return type(rows)(self._change(rows.logits, width), rows.taps)


class PerturbedLayer(nn.Module):
    """A layer whose output is one ulp off when more than one row goes through it at once."""

    def __init__(self, layer, widths):
        super().__init__()
        self.layer, self._widths = layer, frozenset(widths)
        self.use_sliding = layer.use_sliding

    def __call__(self, stream, mask=None, cache=None):
        out = self.layer(stream, mask, cache=cache)
        return one_ulp(out) if stream.shape[1] in self._widths else out


class PerturbedPart(nn.Module):
    """A part of a layer, rows in and rows out, one ulp off in passes of the given widths."""

    def __init__(self, part, widths):
        super().__init__()
        self.part, self._widths = part, frozenset(widths)

    def __call__(self, rows):
        out = self.part(rows)
        return one_ulp(out) if rows.shape[1] in self._widths else out


def one_ulp(array):
    """Every number replaced by its neighbour further from zero."""
    return (array.view(BITS[array.dtype]) + 1).view(array.dtype)


def only_row(row, change):
    """`change` applied to one row of a block and to no other."""

    def changed(logits, width):
        rows = [change(logits[i : i + 1]) if i == row else logits[i : i + 1] for i in range(width)]
        return mx.concatenate(rows)

    return changed
