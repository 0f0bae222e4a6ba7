"""PPO, APPO, IMPALA, A2C, A3C, MARWIL, BC: a network of the catalog, its value told as well."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from .catalog_networks import catalog_layers, network_of_catalog
from .family import Blueprint, Family, TensorFlowReader

if TYPE_CHECKING:
    from .head import PolicyHead


def _head(plan: Blueprint) -> PolicyHead:
    from .head import ActorCriticHead

    return plan.head(ActorCriticHead, plan.distribution.size, algorithm=plan.algorithm)


FAMILY = Family(
    _head, partial(network_of_catalog, value="value"), tf=TensorFlowReader(catalog_layers)
)
