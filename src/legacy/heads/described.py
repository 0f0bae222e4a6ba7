"""Policies whose network is data: what the network sees, and its numpy form."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from gymnasium.spaces import Space

from ...core.errors import ConfigError
from ...core.importing.torch_needed import has_torch
from ...core.nets import BoundNetwork, Network, bind
from ...core.nets.arrays import ArrayNetwork
from ...core.nets.binding import shapes_of
from ...core.nets.observed import Part, encoded_shape, observed_parts, split_vector, whole_vector
from ..distributions.choice import DistributionChoice
from ..models.flat_layout import leaf_shape
from ..models.leaves import action_width
from .array_head import ArrayHead, ArrayOutputs
from .family import policy_distribution


class Observed:
    """What a described network sees of the columns of a policy, numpy or torch.

    Args:
        obs_space: What the policy sees, preprocessed.
        action_space: Where actions come from.
        model_config: The model settings.
    """

    def __init__(
        self, obs_space: Space[Any], action_space: Space[Any], model_config: Mapping[str, Any]
    ) -> None:
        is_raw = bool(model_config.get("_disable_preprocessor_api"))
        original = obs_space if is_raw else getattr(obs_space, "original_space", obs_space)
        dim, grayscale = model_config.get("dim") or 84, bool(model_config.get("grayscale"))
        self.space = original
        self.parts: Mapping[str, Part] = observed_parts(
            original,
            encoded_shape if is_raw else lambda leaf: leaf_shape(leaf, dim, grayscale),
        )
        self.is_raw = is_raw
        self.action_width = action_width(action_space)

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of all that may be seen, by name."""
        known = {name: part.shape for name, part in self.parts.items()}
        return {**known, "prev_actions": (self.action_width,), "prev_rewards": (1,)}

    def of(self, columns: Mapping[str, Any], names: Any, encode: Callable[[Any], Any]) -> Any:
        """What a network sees, by name.

        Args:
            columns: Of a batch.
            names: What it asks for.
            encode: Makes vectors of earlier actions.
        """
        obs = columns["obs"]
        if isinstance(obs, (Mapping, list, tuple)) or self.is_raw:
            obs = whole_vector(obs, self.space)
        found = split_vector(obs.reshape(obs.shape[0], -1), self.parts, names)
        if "prev_actions" in names:
            found["prev_actions"] = encode(columns["prev_actions"])
        if "prev_rewards" in names:
            found["prev_rewards"] = columns["prev_rewards"].reshape(-1, 1)
        return found


def bound_to(
    network: Network,
    weights: Mapping[str, Any] | None,
    observed: Observed,
    distribution: DistributionChoice,
) -> BoundNetwork:
    """A described network held to a policy's weights and spaces.

    Raises:
        ConfigError: There are no weights, and the description does not say of which shapes.
    """
    shapes = network.shapes if weights is None else shapes_of(weights)
    if not shapes:
        raise ConfigError(
            "a described network needs its weights", expected="arrays by name", found="none"
        )
    sizes = {"logits": distribution.size, "q": distribution.size}
    return bind(network, shapes, observed.shapes, sizes)


def described_views(network: Network, action_space: Space[Any]) -> dict[str, Any]:
    """What a described network asks to see beside the observation."""
    asked = network.inputs
    found: dict[str, Any] = {}
    if "prev_actions" in asked:
        found["prev_actions"] = {"data_col": "actions", "shift": -1, "space": action_space}
    if "prev_rewards" in asked:
        found["prev_rewards"] = {"data_col": "rewards", "shift": -1}
    return found


def described_array_head(
    name: str,
    obs_space: Space[Any],
    action_space: Space[Any],
    config: Mapping[str, Any],
    weights: Mapping[str, Any],
    network: Network,
) -> ArrayHead | None:
    """The numpy head of a described network; None where torch is to run it."""
    settings = config.get("model") or {}
    if settings.get("custom_action_dist"):
        return None
    distribution = policy_distribution(name, action_space, config)
    observed = Observed(obs_space, action_space, settings)
    bound = bound_to(network, weights, observed, distribution)
    if bound.has_images and has_torch():
        return None
    net = ArrayNetwork(bound, weights)
    encode = _action_encoder(action_space)
    names = set(network.inputs)
    after_columns = _outputs_of(network)

    def forward(columns: Mapping[str, Any], state: Sequence[Any], seq_lens: Any) -> ArrayOutputs:
        arrays = {key: columns[key] for key in _COLUMNS if key in columns}
        seen = observed.of(_as_arrays(arrays), names, encode)
        rows = None if seq_lens is None else len(seq_lens)
        outputs, after = net(seen, state, rows)
        return after_columns(outputs, after)

    return ArrayHead(name, distribution, forward, net.initial_state())


_COLUMNS: Final = ("obs", "prev_actions", "prev_rewards")


def _as_arrays(columns: Mapping[str, Any]) -> dict[str, Any]:
    obs = columns["obs"]
    rest = {name: value for name, value in columns.items() if name != "obs"}
    return {**rest, "obs": obs if isinstance(obs, (Mapping, list, tuple)) else np.asarray(obs)}


def _action_encoder(space: Space[Any]) -> Callable[[Any], Any]:
    return lambda actions: whole_vector(actions, space)


def _outputs_of(network: Network) -> Callable[[Any, Any], ArrayOutputs]:
    has_values = "value" in network.outputs

    def outputs(found: Mapping[str, Any], after: list[Any]) -> ArrayOutputs:
        if "q" in found:
            return ArrayOutputs(found["q"], after, {"q_values": found["q"]})
        extra = {"vf_preds": found["value"]} if has_values else {}
        return ArrayOutputs(found["logits"], after, extra)

    return outputs
