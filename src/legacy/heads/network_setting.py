"""The model setting that describes a policy's network, where that is data.

A description that a caller gives for a network whose code is not here is kept among the model
settings, so that the policy is saved with it and loaded again like any other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...core.nets.setting import NETWORK

if TYPE_CHECKING:
    from ...core.nets import Network
    from ...core.vault import PolicyRecord


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
