"""Dense and LSTM networks of the old stack in pure numpy: the CPU path for small batches.

Equal to the torch networks up to rounding, several times faster up to some 64 rows, and torch is
never imported. An instance holds weights only, so threads may share it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any, Final

import numpy as np
from gymnasium.spaces import Discrete, MultiDiscrete, Space

from ...core.errors import PieceError, RlconnectError, SpaceError
from ...core.nets.activations import Float32
from ...core.nets.numpy_columns import ColumnStack, quickest
from ...core.nets.numpy_layers import Stack, beside, entrance
from ...core.nets.numpy_lstm import NumpyLstm
from .defaults import with_defaults
from .leaves import action_width, leaf_spaces, leaves
from .numpy_reader import WeightReader

NumpyOutput = tuple[Float32, Float32 | None, list[Float32]]

_LARGEST_TABLE: Final = 256
"""Of so many actions the table of all encodings is kept; it is as wide as it is long."""


class NumpyNet:
    """The forward pass of a fully connected network, plain or under an LSTM.

    Args:
        trunk: Layers shared by outputs and value.
        policy: Layers from the trunk (or LSTM) to the outputs.
        value: Layers from there to the value; `None` if the network has none.
        lstm: The recurrent layer between trunk and heads, if any.
        obs_width: Numbers in a flattened observation.
        action_space: What earlier actions come from.
        time_major: Whether padded sequences put time first in the outputs.
    """

    def __init__(
        self,
        trunk: Stack,
        policy: Stack,
        value: Stack | None,
        lstm: NumpyLstm | None = None,
        *,
        obs_width: int,
        action_space: Space[Any] | None = None,
        time_major: bool = False,
    ) -> None:
        self.lstm = lstm
        self._trunk = trunk
        self._policy = policy
        self._value = value
        self._joint = None if value is None else beside(policy, value)
        self._entrance: Stack | None = None
        if value is not None and self._joint is None:
            self._entrance = entrance(policy, value)
            self._middle = policy.layers[0].bias.size if policy.layers else 0
            self._rest = Stack(policy.layers[1:]), Stack(value.layers[1:])
        self._time_major = time_major
        self._outputs = policy.layers[-1].bias.size if policy.layers else 0
        self._obs_width = obs_width
        self._encoders = [] if action_space is None else _encoders(action_space)

    @classmethod
    def from_weights(
        cls,
        weights: Mapping[str, Any],
        model_config: Mapping[str, Any],
        obs_space: Space[Any],
        action_space: Space[Any],
        num_outputs: int,
    ) -> NumpyNet:
        """Build from the weights of a policy, under Ray's parameter names.

        Args:
            weights: Parameter name to array.
            model_config: The model settings.
            obs_space: What the policy sees, preprocessed.
            action_space: Where actions come from.
            num_outputs: Width of the outputs.

        Raises:
            ConfigError: The network is of a kind that only torch runs.
            WeightsError: The weights do not fit the settings and spaces.
        """
        config = with_defaults(model_config)
        obs_width = prod(obs_space.shape or ())
        reader = WeightReader(weights, config, obs_width, num_outputs, action_width(action_space))
        return cls(
            *reader.parts(),
            obs_width=obs_width,
            action_space=action_space,
            time_major=bool(config["_time_major"]),
        )

    @staticmethod
    def fits(weights: Mapping[str, Any], model_config: Mapping[str, Any]) -> bool:
        """Whether these weights are of a kind this class runs."""
        try:
            WeightReader(weights, with_defaults(model_config)).kind()
        except RlconnectError:
            return False
        return True

    @property
    def is_recurrent(self) -> bool:
        """Whether `forward` hands a state from step to step."""
        return self.lstm is not None

    def get_initial_state(self) -> list[Float32]:
        """Give the state of one episode's start, without batch dimension; empty if stateless."""
        return [] if self.lstm is None else [np.zeros(self.lstm.cells, np.float32) for _ in "hc"]

    def encode_actions(self, actions: Any) -> Float32:
        """Encode a nest of earlier actions `(B, ...)` as `(B, width)`, discrete parts one-hot."""
        pairs = zip(leaves(actions), self._encoders, strict=True)
        columns = [encode(np.asarray(value)) for value, encode in pairs]
        return columns[0] if len(columns) == 1 else np.concatenate(columns, axis=1)

    def direct(self) -> ColumnStack | Stack | None:
        """What gives the outputs alone, for float32 observations `(B, n)`; None with a state."""
        if self.is_recurrent:
            return None
        return quickest([*self._trunk.layers, *self._policy.layers])

    def forward(
        self,
        obs_flat: Any,
        state: Sequence[Any] = (),
        prev_action_onehot: Float32 | None = None,
        prev_reward: Any = None,
        seq_lens: Sequence[int] | None = None,
    ) -> NumpyOutput:
        """Compute outputs, values and the next state.

        Args:
            obs_flat: Observations `(B, ...)`; each row is flattened.
            state: `[h, c]` of an LSTM, one row per sequence.
            prev_action_onehot: What `encode_actions` gave, if the network sees earlier actions.
            prev_reward: Earlier rewards `(B,)`, if the network sees them.
            seq_lens: One entry per padded sequence; `None` when every row is its own.

        Returns:
            Outputs `(B, num_outputs)`, values `(B,)` or `None`, and the state as a list.
        """
        x = np.asarray(obs_flat, np.float32)
        if x.ndim != 2:
            x = x.reshape(x.shape[0], -1)
        if x.shape[1] != self._obs_width:
            raise SpaceError(
                "observations do not fit the network",
                expected=f"(B, {self._obs_width})",
                found=str(np.shape(obs_flat)),
            )
        x = self._trunk(x)
        state_out: list[Float32] = []
        if self.lstm is not None:
            x, state_out = self._recur(x, state, prev_action_onehot, prev_reward, seq_lens)
        if self._joint is not None:
            both = self._joint(x)
            return both[:, : self._outputs], both[:, self._outputs], state_out
        if self._entrance is not None:
            both, (policy, worth) = self._entrance(x), self._rest
            return policy(both[:, : self._middle]), worth(both[:, self._middle :])[:, 0], state_out
        value = None if self._value is None else self._value(x)[:, 0]
        return self._policy(x), value, state_out

    def _recur(
        self,
        features: Float32,
        state: Sequence[Any],
        prev_action: Float32 | None,
        prev_reward: Any,
        seq_lens: Sequence[int] | None,
    ) -> tuple[Float32, list[Float32]]:
        assert self.lstm is not None  # the caller has checked
        if len(state) != 2:
            raise PieceError(
                "an LSTM policy needs its state",
                expected="[h, c]",
                found=f"{len(state)} arrays",
                hint="pass get_initial_state() at an episode's start, then what came out last.",
            )
        h, c = np.asarray(state[0], np.float32), np.asarray(state[1], np.float32)
        parts = [features]
        if prev_action is not None:
            parts.append(prev_action)
        if prev_reward is not None:
            parts.append(np.asarray(prev_reward, np.float32).reshape(-1, 1))
        width = sum([part.shape[1] for part in parts])
        if width != self.lstm.features:
            raise PieceError(
                "earlier actions or rewards are missing from, or foreign to, this network",
                expected=f"{self.lstm.features} features into the LSTM",
                found=str(width),
            )
        rows, sequences = features.shape[0], h.shape[0] if seq_lens is None else len(seq_lens)
        if rows == sequences:
            h, c = self.lstm.step(parts, h, c)
            return h, [h, c]
        if sequences == 0 or rows % sequences:
            raise PieceError(
                "rows cannot be cut into sequences of one length",
                expected=f"a multiple of the {sequences} sequences in seq_lens",
                found=f"{rows} rows",
            )
        joined = np.concatenate(parts, axis=1).reshape(sequences, rows // sequences, -1)
        outputs, h, c = self.lstm.sequence(joined, h, c)
        if self._time_major:
            outputs = outputs.swapaxes(0, 1)
        return outputs.reshape(rows, -1), [h, c]


def _encoders(space: Space[Any]) -> list[Any]:
    return [_encoder(leaf) for leaf in leaf_spaces(space)]


def _encoder(leaf: Space[Any]) -> Any:
    if isinstance(leaf, Discrete):
        encode = _one_hot(int(leaf.n))
        return lambda x: encode(x.reshape(-1))
    if isinstance(leaf, MultiDiscrete):
        encoders = [_one_hot(int(n)) for n in np.ravel(leaf.nvec)]
        return lambda x: np.concatenate(
            [
                encode(column)
                for encode, column in zip(encoders, x.reshape(x.shape[0], -1).T, strict=True)
            ],
            axis=1,
        )
    return lambda x: x.reshape(x.shape[0], -1).astype(np.float32)


def _one_hot(size: int) -> Callable[[Any], Float32]:
    # Unsigned, so that a negative value is out of range instead of counting from the end.
    if size <= _LARGEST_TABLE:
        table = np.eye(size, dtype=np.float32)
        return lambda x: table[x.astype(np.uint32)]

    def encode(x: Any) -> Float32:
        rows = np.zeros((len(x), size), np.float32)
        rows[np.arange(len(x)), x.astype(np.uint32)] = 1
        return rows

    return encode
