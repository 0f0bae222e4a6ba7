"""PG: the outputs of a network of the catalog are the distribution's inputs, and that is all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .catalog_networks import catalog_layers, network_of_catalog
from .family import Blueprint, Family, TensorFlowReader

if TYPE_CHECKING:
    from .head import PolicyHead


def _head(plan: Blueprint) -> PolicyHead:
    from .head import ActorHead

    return plan.head(ActorHead, plan.distribution.size, algorithm=plan.algorithm)


FAMILY = Family(_head, network_of_catalog, tf=TensorFlowReader(catalog_layers))
