"""Description of an algorithm family: a record `FAMILY` in the file of its name.

`core/algorithms` maps algorithms to families. To add a family, add a file here and the rows of its
algorithms there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from gymnasium.spaces import Space

from ...core.algorithms import SPELLINGS, family_of
from ...core.errors import UnknownNameError
from ...core.formulas.schedules import class_name
from ...core.importing.torch_needed import torch_needed
from ...core.nets.setting import NETWORK
from ...core.text.near_names import LONGEST_NAME, near_names
from ...core.types import Array
from ..distributions.choice import DistributionChoice, by_space, distribution_for
from ..models.as_data import Shapes
from .agreement import Claim, dense_claims, refuse_disagreement

if TYPE_CHECKING:
    from ...core.nets import Network
    from ...core.vault import PolicyRecord
    from ..tf.layers import Layer
    from .head import PolicyHead

Settings = Mapping[str, Any]


@dataclass(frozen=True)
class Blueprint:
    """Arguments to build a head.

    `custom_models` contains the classes of custom model names.
    """

    algorithm: str
    obs_space: Space[Any]
    action_space: Space[Any]
    config: Settings
    distribution: DistributionChoice
    custom_models: Settings | None = None

    @property
    def model_config(self) -> Settings:
        """The model settings of the trainer config."""
        return self.config.get("model") or {}

    def head(self, kind: Any, num_outputs: int | None, **settings: Any) -> PolicyHead:
        """A head of a class with a network of the catalog."""
        from ..models.catalog import build_model

        model = build_model(
            self.obs_space,
            self.action_space,
            num_outputs,
            settings.pop("model_config", self.model_config),
            custom_models=self.custom_models,
            **settings,
        )
        head: PolicyHead = kind(self.algorithm, model, self.distribution)
        return head


class TensorFlowReader(NamedTuple):
    """How to read networks that TensorFlow saved.

    Attributes:
        layers: All layers in saved order; called with whether names distinguish them.
        renamed: Renames arrays to the names of the layers, if Ray versions differ.
        constants: Values that torch saves with the weights and TensorFlow stores in its graph.
    """

    layers: Callable[[Blueprint, bool], list[Layer]]
    renamed: Callable[[list[tuple[str, Array]]], list[tuple[str, Array]]] = list
    constants: Callable[[Space[Any]], Mapping[str, Array]] = lambda space: {}


@dataclass(frozen=True)
class Family:
    """How the policies of some algorithms are built, read and run.

    Args:
        head: Builds the torch head.
        network: The network as data, read off the shapes of the weights, by which numpy acts; a
            `ConfigError` leaves it to torch, as None does for all of them.
        distribution: The action distribution, by space, algorithm and trainer config.
        claims: Contradictions of settings and weights, by trainer config, weights and space.
        tf: How to read TensorFlow's weights; None if not supported.
    """

    head: Callable[[Blueprint], PolicyHead]
    network: Callable[[Blueprint, Shapes], Network] | None = None
    distribution: Callable[[Space[Any], str, Settings], DistributionChoice] = (
        lambda space, algorithm, config: by_space(space)
    )
    claims: Callable[[Settings, Settings, Any], Iterator[Claim]] = lambda config, weights, space: (
        dense_claims(config.get("model"), weights, "model")
    )
    tf: TensorFlowReader | None = None


def family(algorithm: str) -> Family:
    """The family that an algorithm of the old stack is of.

    Raises:
        MissingExtraError: It acts with torch alone, which is not installed.
    """
    with torch_needed(f"the network of this {algorithm} policy"):
        of_algorithm: Family = import_module(f".{family_of(algorithm)}", __package__).FAMILY
    return of_algorithm


def check_agreement(algorithm: str, config: Settings, weights: Settings, action_space: Any) -> None:
    """Refuse settings that contradict the weights, before a network is built.

    A policy acts with whatever of its weights a numpy network reads, and some settings only torch
    looks at. Where both are there and do not agree, one of them is not this policy's.

    Raises:
        WeightsError: They do, and one of them decides how the policy acts; both are named.
    """
    # The layers of a described network are checked against its weights, and an RLModule is built
    # from the shapes of its weights.
    is_described = network_in(config) is not None
    if not is_described and not any(name.startswith("encoder.") for name in weights):
        refuse_disagreement(family(algorithm).claims(config, weights, action_space))


def policy_distribution(
    algorithm: str,
    action_space: Space[Any],
    config: Settings,
    custom_distributions: Settings | None = None,
) -> DistributionChoice:
    """The distribution that policies of an algorithm act with."""
    settings = config.get("model") or {}
    if settings.get("custom_action_dist"):
        return distribution_for(action_space, settings, custom_distributions=custom_distributions)
    return family(algorithm).distribution(action_space, algorithm, config)


def below(weights: Settings, prefix: str) -> dict[str, Any]:
    """Return the weights with a prefix, keyed by the rest of their names."""
    return {k.removeprefix(prefix): v for k, v in weights.items() if k.startswith(prefix)}


def explores_by_noise(config: Settings) -> bool:
    """Whether an exploration put noise on the weights, for which networks had layer norms."""
    from ...core.formulas.schedules import class_name

    explores = (config.get("exploration_config") or {}).get("type", "")
    return class_name(explores) == "ParameterNoise"


def network_in(config: Mapping[str, Any]) -> Network | None:
    """The described network of a policy, from its config; None of another policy."""
    model = config.get("model")
    setting = model.get(NETWORK) if isinstance(model, Mapping) else None
    if setting is None:
        return None
    from ...core.nets.description import network_of

    return network_of(setting)


def with_network(config: Mapping[str, Any], network: Network) -> dict[str, Any]:
    """A config whose policy computes with a described network."""
    model = config.get("model")
    settings = dict(model) if isinstance(model, Mapping) else {}
    return {**config, "model": {**settings, NETWORK: network.as_data()}}


def described_networks(
    policies: Mapping[str, PolicyRecord], description: Any
) -> Mapping[str, Network]:
    """The networks that a caller gives for the policies of a checkpoint, by id.

    One description for a checkpoint of several policies is for those with a model of their
    author's, or for all where none has one.
    """
    if description is None:
        return {}
    from ...core.nets.files import networks_of

    custom = [name for name, record in policies.items() if record.custom_model]
    networks = networks_of(description, policies)
    is_for_all = len({id(network) for network in networks.values()}) == 1 and len(networks) > 1
    return {name: networks[name] for name in custom} if is_for_all and custom else networks


_SPELLINGS: Final[Mapping[str, str]] = {
    spelling: name for spelling, name in SPELLINGS.items() if family_of(name)
}

_ENDINGS: Final = re.compile(
    r"(eager|traced|torchpolicy|tf1policy|tf2policy|statictfpolicy|eagertfpolicy|eagerpolicy"
    r"|tfpolicy|policy|v2|algorithm|trainer|config|torch)$"
)


def algorithm_named(name: Any) -> str:
    """Return the algorithm of a policy class, trainer class, registry name or path.

    Args:
        name: "PPO", "PPOTorchPolicy", "APEX-DQN", "ray.rllib...ppo.PPOConfig", or a class.

    Raises:
        UnknownNameError: No algorithm of the old stack is called that.

    Example:
        >>> algorithm_named("ray.rllib.algorithms.dqn.dqn_torch_policy.DQNTorchPolicy")
        'DQN'
    """
    # The longest known name has 40 letters; a name from a file has no limit.
    bare = re.sub(r"[^a-z0-9]", "", class_name(name)[-LONGEST_NAME:].lower())
    while True:
        if bare in _SPELLINGS:
            return _SPELLINGS[bare]
        shorter = _ENDINGS.sub("", bare)
        if shorter in ("", bare):
            break
        bare = shorter
    names = dict.fromkeys(_SPELLINGS.values())
    near = near_names(bare, _SPELLINGS, n=1, cutoff=0.5)
    raise UnknownNameError(
        f"no algorithm of the old stack is called {class_name(name)[:LONGEST_NAME]!r}.",
        hint=f"did you mean {_SPELLINGS[near[0]]!r}?" if near else f"known: {', '.join(names)}.",
        name=class_name(name),
    )
