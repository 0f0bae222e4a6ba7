"""One LSTM layer in numpy, equal to torch's; no torch."""

from __future__ import annotations

from typing import Any

import numpy as np

from .numpy_layers import Float32


class NumpyLstm:
    """An LSTM layer over `(B, T, features)`.

    The four gates are one product: their rows are put in the order input, forget, output, cell
    and the first three are halved, so that one tanh serves all (a sigmoid is `tanh(x/2)/2 + 1/2`).

    Weights and biases are torch's, gates i, f, g, o: `(4 * cells, features)`, `(4 * cells, cells)`.
    """

    def __init__(self, weight_ih: Any, weight_hh: Any, bias_ih: Any, bias_hh: Any) -> None:
        self.cells = int(np.shape(weight_hh)[1])
        self.features = int(np.shape(weight_ih)[1])
        n = self.cells
        self._weight = np.empty((self.features + n, 4 * n), np.float32)
        self._weight_x = self._weight[: self.features]
        self._weight_h = self._weight[self.features :]
        bias = np.asarray(bias_ih, np.float32) + np.asarray(bias_hh, np.float32)
        self._bias = np.empty((1, 4 * n), np.float32)
        self._places = tuple(slice(start, start + n) for start in range(0, 4 * n, n))
        self._factor = np.full((1, 4 * n), 0.5, np.float32)
        self._factor[:, 3 * n :] = 1
        self._offset = 1 - self._factor  # of a sigmoid a half, of a tanh nothing
        for place, gate in zip(self._places, (0, 1, 3, 2), strict=True):
            rows = slice(gate * n, gate * n + n)
            self._weight_x[:, place] = weight_ih[rows].T
            self._weight_h[:, place] = weight_hh[rows].T
            self._bias[:, place] = bias[rows]
        self._weight *= self._factor
        self._bias *= self._factor

    def step(self, x: list[Float32], h: Float32, c: Float32) -> tuple[Float32, Float32]:
        """Advance by one step.

        Features `(B, n)` come in parts; `h` and `c` are `(B, cells)`, of the step before.
        """
        gates = np.concatenate([*x, h], 1).dot(self._weight)
        gates += self._bias
        return self._advance(gates, c)

    def sequence(self, x: Float32, h: Float32, c: Float32) -> tuple[Float32, Float32, Float32]:
        """Advance along sequences `(B, T, n)`; gives all outputs, the last output and cells."""
        batch, steps, _ = x.shape
        gates = np.dot(x.reshape(batch * steps, -1), self._weight_x)
        gates += self._bias
        gates = gates.reshape(batch, steps, -1)
        outputs = np.empty((batch, steps, self.cells), np.float32)
        for t in range(steps):
            h, c = self._advance(gates[:, t] + np.dot(h, self._weight_h), c)
            outputs[:, t] = h
        return outputs, h, c

    def _advance(self, gates: Float32, c: Float32) -> tuple[Float32, Float32]:
        enters, stays, leaves, fresh = self._places
        np.tanh(gates, gates)
        gates *= self._factor
        gates += self._offset
        cells = gates[:, stays] * c
        cells += gates[:, enters] * gates[:, fresh]
        h = np.tanh(cells)
        h *= gates[:, leaves]
        return h, cells
