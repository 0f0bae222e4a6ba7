"""Find the layers of a network among saved weights, for the numpy forward; no torch."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from ...core.errors import ConfigError, WeightsError
from ...core.nets.activations import Activation, Float32
from ...core.nets.numpy_layers import Dense, Stack, dense, numpy_activation
from ...core.nets.numpy_lstm import NumpyLstm

# Shared layers, outputs, value, and the recurrent layer between.
Parts = tuple[Stack, Stack, Stack | None, NumpyLstm | None]

# Weights that are saved and never read, by their first letters.
_UNUSED: dict[str, tuple[str, ...]] = {
    "dense": (),
    "lstm": ("_value_branch_separate.",),
    "module": ("pi.log_std_clip_param_const", "vf.log_std_clip_param_const"),
}


def is_dense_module(weights: Mapping[str, Any]) -> bool:
    """Whether weights are those of an RLModule of dense layers only."""
    return any(name.startswith("encoder.") for name in weights) and all(
        ".net.mlp." in name and np.ndim(value) == (2 if name.endswith(".weight") else 1)
        for name, value in weights.items()
        if not name.startswith(_UNUSED["module"])
    )


class WeightReader:
    """Finds the layers in a mapping of weights and puts them together.

    Args:
        weights: Parameter name to array.
        config: The model settings, complete.
        obs_width: Numbers in a flattened observation.
        num_outputs: Width of the outputs.
        action_width: Numbers in an encoded action.
    """

    def __init__(
        self,
        weights: Mapping[str, Any],
        config: Mapping[str, Any],
        obs_width: int = 0,
        num_outputs: int = 0,
        action_width: int = 0,
    ) -> None:
        self.weights = weights
        self.config = config
        self.obs_width = obs_width
        self.num_outputs = num_outputs
        self.action_width = action_width
        self._read: set[str] = set()

    def kind(self) -> str:
        """Name the layout, or raise what makes it one for torch."""
        config, weights = self.config, self.weights
        if config["custom_model"] or config["use_attention"]:
            raise ConfigError("this network runs in torch only: it is custom or has attention.")
        if is_dense_module(weights):
            numpy_activation(config["fcnet_activation"])
            numpy_activation(config["post_fcnet_activation"])
            return "module"
        known = ("_hidden_layers.", "_logits", "_value_branch", "lstm.", "_append_free_log_std.")
        foreign = [name for name in weights if not name.startswith(known)]
        if foreign or any(np.ndim(value) > 2 for value in weights.values()):
            raise ConfigError(f"this network runs in torch only: it has {foreign[:3] or 'images'}.")
        self._act()
        return "lstm" if "lstm.weight_ih_l0" in weights else "dense"

    def parts(self) -> Parts:
        """Give trunk, outputs, value and LSTM; anything that does not fit raises."""
        kind = self.kind()
        parts = self._module() if kind == "module" else self._model(kind)
        unused = _UNUSED[kind]
        unread = [n for n in self.weights if n not in self._read and not n.startswith(unused)]
        if unread:
            raise WeightsError(
                f"the settings leave no place for the weights {unread[:8]}.", unexpected=unread
            )
        return parts

    def _model(self, kind: str) -> Parts:
        hidden = self._layers("_hidden_layers.{}._model.0")
        if kind == "lstm":
            return self._lstm(hidden)
        value_head = self._layer("_value_branch._model.0")
        separate = self._layers("_value_branch_separate.{}._model.0")
        has_logits = "_logits._model.0.weight" in self.weights
        heads = [self._logits("_logits._model.0")] if has_logits else []
        if separate:
            return self._checked(Stack([]), hidden + heads, [*separate, value_head])
        return self._checked(Stack(hidden), heads, [value_head])

    def _lstm(self, hidden: list[Dense]) -> Parts:
        names = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
        lstm = NumpyLstm(*(self._array(f"lstm.{name}") for name in names))
        width = hidden[-1].bias.size if hidden else self.obs_width
        width += self.action_width if self.config["lstm_use_prev_action"] else 0
        width += 1 if self.config["lstm_use_prev_reward"] else 0
        self._match("features into the LSTM", width, lstm.features)
        policy = [self._layer("_logits_branch._model.0")]
        value = [self._layer("_value_branch._model.0")]
        return self._checked(Stack(hidden), policy, value, lstm)

    def _module(self) -> Parts:
        act = numpy_activation(self.config["fcnet_activation"])
        post = numpy_activation(self.config["post_fcnet_activation"])
        policy, value = self._mlp("pi.net.mlp", post, None), self._mlp("vf.net.mlp", post, None)
        # BC has one encoder, without a name of its own, and no values.
        places = ("encoder.encoder.net.mlp", "encoder.net.mlp")
        shared = next(filter(None, (self._mlp(place, act, act) for place in places)), None)
        if shared:
            return self._checked(Stack(shared), policy, value)
        actor = self._mlp("encoder.actor_encoder.net.mlp", act, act)
        critic = self._mlp("encoder.critic_encoder.net.mlp", act, act)
        return self._checked(Stack([]), actor + policy, critic + value)

    def _checked(
        self, trunk: Stack, policy: list[Dense], value: list[Dense], lstm: NumpyLstm | None = None
    ) -> Parts:
        first = [*trunk.layers, *policy][0] if lstm is None or trunk.layers else None
        last = [*trunk.layers, *policy][-1]
        if first is not None:
            self._match("numbers in an observation", self.obs_width, first.weight.shape[0])
        self._match("outputs", self.num_outputs, last.bias.size)
        for layers in ([*trunk.layers, *policy], [*trunk.layers, *value]):
            # An LSTM stands between trunk and heads, with a width of its own.
            for before, after in pairwise(layers if lstm is None else layers[len(trunk.layers) :]):
                self._match("features", before.bias.size, after.weight.shape[0])
        return trunk, Stack(policy), Stack(value) if value else None, lstm

    def _match(self, what: str, expected: int, found: int) -> None:
        if expected != found:
            raise WeightsError(
                f"weights have another number of {what} than the settings and spaces",
                expected=str(expected),
                found=str(found),
            )

    def _act(self) -> Activation | None:
        first = "fcnet" if self.config["fcnet_hiddens"] else "post_fcnet"
        return numpy_activation(self.config[f"{first}_activation"])

    def _array(self, name: str) -> Float32:
        if name not in self.weights:
            raise WeightsError(f"weights lack {name!r}.", missing=[name])
        self._read.add(name)
        return np.asarray(self.weights[name], np.float32)

    def _layer(self, name: str, act: Activation | None = None) -> Dense:
        return dense(self._array(f"{name}.weight"), self._array(f"{name}.bias"), act)

    def _layers(self, pattern: str) -> list[Dense]:
        act = self._act()
        found: list[Dense] = []
        while f"{pattern.format(len(found))}.weight" in self.weights:
            found.append(self._layer(pattern.format(len(found)), act))
        return found

    def _logits(self, name: str) -> Dense:
        layer = self._layer(name)
        if not self.config["free_log_std"]:
            return layer
        # The free deviations are outputs that no feature reaches.
        log_std = self._array("_append_free_log_std.log_std")
        weight = np.concatenate([layer.weight, np.zeros_like(layer.weight)], axis=1)
        return Dense(weight, np.concatenate([layer.bias, log_std]))

    def _mlp(self, name: str, act: Activation | None, last: Activation | None) -> list[Dense]:
        step = 1 if act is None else 2
        names: list[str] = []
        while f"{name}.{step * len(names)}.weight" in self.weights:
            names.append(f"{name}.{step * len(names)}")
        acts = [*[act] * (len(names) - 1), last][-len(names) :] if names else []
        return [self._layer(name, act) for name, act in zip(names, acts, strict=True)]
