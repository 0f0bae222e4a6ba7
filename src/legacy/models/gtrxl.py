"""The parts of the gated transformer: relative attention, GRU gates, skip connections.

After "Stabilizing Transformers for Reinforcement Learning" (Parisotto et al., 2019).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from .layers import SlimFC


class GRUGate(nn.Module):
    """Mixes a skip input with a layer's output, biased to let the skip through at first.

    Args:
        dim: Features of both.
        init_bias: Start of the gate's bias; larger keeps more of the skip input.
    """

    def __init__(self, dim: int, init_bias: float = 0.0) -> None:
        super().__init__()
        self._w_r, self._u_r = _square(dim), _square(dim)
        self._w_z, self._u_z = _square(dim), _square(dim)
        self._w_h, self._u_h = _square(dim), _square(dim)
        self._bias_z = nn.Parameter(torch.full((dim,), float(init_bias)))

    def forward(self, skip: Tensor, x: Tensor) -> Tensor:
        """Mix two `(..., dim)` tensors."""
        r = torch.sigmoid(x @ self._w_r + skip @ self._u_r)
        z = torch.sigmoid(x @ self._w_z + skip @ self._u_z - self._bias_z)
        new = torch.tanh(x @ self._w_h + (skip * r) @ self._u_h)
        return (1 - z) * skip + z * new


class SkipConnection(nn.Module):
    """A layer whose input is gated with its output.

    Args:
        layer: The layer.
        fan_in_layer: The gate.
    """

    def __init__(self, layer: nn.Module, fan_in_layer: GRUGate) -> None:
        super().__init__()
        self._layer = layer
        self._fan_in_layer = fan_in_layer

    def forward(self, x: Tensor, **context: Any) -> Tensor:
        """Run the layer (with `memory`, if it takes one) and gate the result."""
        gated: Tensor = self._fan_in_layer(x, self._layer(x, **context))
        return gated


class RelativePositionEmbedding(nn.Module):
    """Sines and cosines of how far back each step lies.

    Args:
        out_dim: Features of the embedding; even.
    """

    inverse_freq: Tensor

    def __init__(self, out_dim: int) -> None:
        super().__init__()
        exponent = torch.arange(0, out_dim, 2.0) / out_dim
        self.register_buffer("inverse_freq", 1 / 10000**exponent)

    def forward(self, steps: int) -> Tensor:
        """Give `(steps, out_dim)`, the most distant step first."""
        back = torch.arange(steps - 1, -1, -1.0, device=self.inverse_freq.device)
        angles = back[:, None] * self.inverse_freq
        return torch.cat([angles.sin(), angles.cos()], dim=-1)


class RelativeMultiHeadAttention(nn.Module):
    """Causal self-attention over a memory and the present segment, with relative positions.

    Args:
        dim: Features in and out.
        num_heads: Heads.
        head_dim: Features per head.
        epsilon: What the layer norm adds to a variance.
    """

    def __init__(self, dim: int, num_heads: int, head_dim: int, epsilon: float = 1e-5) -> None:
        super().__init__()
        self._num_heads = num_heads
        self._head_dim = head_dim
        inner = num_heads * head_dim
        self._qkv_layer = SlimFC(dim, 3 * inner, use_bias=False)
        self._linear_layer = SlimFC(inner, dim, use_bias=False, activation_fn=nn.ReLU)
        self._uvar = nn.Parameter(torch.zeros(num_heads, head_dim))
        self._vvar = nn.Parameter(torch.zeros(num_heads, head_dim))
        nn.init.xavier_uniform_(self._uvar)
        nn.init.xavier_uniform_(self._vvar)
        self._pos_proj = SlimFC(dim, inner, use_bias=False)
        self._rel_pos_embedding = RelativePositionEmbedding(dim)
        self._input_layernorm = nn.LayerNorm(dim, epsilon)

    def forward(self, x: Tensor, memory: Tensor) -> Tensor:
        """Attend from `(B, T, dim)` to `(B, M, dim)` and itself; gives `(B, T, dim)`."""
        steps = x.shape[1]
        heads, size = self._num_heads, self._head_dim
        seen = self._input_layernorm(torch.cat([memory.detach(), x], dim=1))
        span = seen.shape[1]
        qkv = self._qkv_layer(seen).reshape(seen.shape[0], span, 3, heads, size)
        query, key, value = qkv[:, -steps:, 0], qkv[:, :, 1], qkv[:, :, 2]
        where = self._pos_proj(self._rel_pos_embedding(span)).reshape(span, heads, size)
        score = torch.einsum("bihd,bjhd->bijh", query + self._uvar, key)
        score = score + relative_shift(torch.einsum("bihd,jhd->bijh", query + self._vvar, where))
        future = torch.ones(steps, span, dtype=torch.bool, device=x.device).triu(span - steps + 1)
        score = (score / size**0.5).masked_fill(future[None, :, :, None], float("-inf"))
        mixed = torch.einsum("bijh,bjhd->bihd", score.softmax(dim=2), value)
        out: Tensor = self._linear_layer(mixed.reshape(x.shape[0], steps, heads * size))
        return out


def relative_shift(score: Tensor) -> Tensor:
    """Line scores by distance up with scores by position.

    Args:
        score: `(B, T, S, heads)`, `S` counted by distance from the last step.

    Returns:
        The same shape with row `t` moved so that `S` counts positions.
    """
    batch, rows, span, heads = score.shape
    padded = nn.functional.pad(score, (0, 0, 1, 0))
    return padded.reshape(batch, span + 1, rows, heads)[:, 1:].reshape(batch, rows, span, heads)


def _square(dim: int) -> nn.Parameter:
    return nn.Parameter(nn.init.xavier_uniform_(torch.empty(dim, dim)))
