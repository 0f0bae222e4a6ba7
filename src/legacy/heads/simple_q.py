"""SimpleQ: the outputs of a network of the catalog are the Q values."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ..distributions.choice import choices_only
from .catalog_networks import catalog_layers, network_of_catalog
from .family import Blueprint, Family, TensorFlowReader

if TYPE_CHECKING:
    from .head import PolicyHead


def _head(plan: Blueprint) -> PolicyHead:
    from .head import SimpleQHead

    return plan.head(SimpleQHead, plan.distribution.size, algorithm=plan.algorithm)


FAMILY = Family(
    _head,
    partial(network_of_catalog, acts_by="q"),
    choices_only,
    tf=TensorFlowReader(catalog_layers),
)
