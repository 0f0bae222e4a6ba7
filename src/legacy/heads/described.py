"""Policies whose network is data: what the network sees."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gymnasium.spaces import Space

from ...core.errors import ConfigError
from ...core.nets import BoundNetwork, Network, bind
from ...core.nets.binding import shapes_of
from ...core.nets.observed import Part, encoded_shape, observed_parts, split_vector, whole_vector
from ..distributions.choice import DistributionChoice
from ..models.flat_layout import leaf_shape
from ..models.leaves import action_width


class Observed:
    """Inputs of a described network, from the columns of a policy, in numpy or torch."""

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
        by_part = {name: part.shape for name, part in self.parts.items()}
        return {**by_part, "prev_actions": (self.action_width,), "prev_rewards": (1,)}

    def of(self, columns: Mapping[str, Any], names: Any, encode: Callable[[Any], Any]) -> Any:
        """Return the inputs of a network by name."""
        obs = columns["obs"]
        if isinstance(obs, (Mapping, list, tuple)) or self.is_raw:
            obs = whole_vector(obs, self.space)
        inputs = split_vector(obs.reshape(obs.shape[0], -1), self.parts, names)
        if "prev_actions" in names:
            inputs["prev_actions"] = encode(columns["prev_actions"])
        if "prev_rewards" in names:
            inputs["prev_rewards"] = columns["prev_rewards"].reshape(-1, 1)
        return inputs


def bound_to(
    network: Network,
    weights: Mapping[str, Any] | None,
    observed: Observed,
    distribution: DistributionChoice,
) -> BoundNetwork:
    """Check a described network against the weights and spaces of a policy, and bind it to them.

    Raises:
        ConfigError: There are no weights, and the description does not contain their shapes.
    """
    shapes = network.shapes if weights is None else shapes_of(weights)
    if not shapes:
        raise ConfigError(
            "a described network needs its weights", expected="arrays by name", found="none"
        )
    sizes = {"logits": distribution.size, "q": distribution.size}
    return bind(network, shapes, observed.shapes, sizes)


def described_views(network: Network, action_space: Space[Any]) -> dict[str, Any]:
    """Return the view requirements of a described network, in addition to the observation."""
    inputs = network.inputs
    views: dict[str, Any] = {}
    if "prev_actions" in inputs:
        views["prev_actions"] = {"data_col": "actions", "shift": -1, "space": action_space}
    if "prev_rewards" in inputs:
        views["prev_rewards"] = {"data_col": "rewards", "shift": -1}
    return views
