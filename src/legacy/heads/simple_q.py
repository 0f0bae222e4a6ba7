"""SimpleQ: the outputs of a network of the catalog are the Q values."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ..distributions.choice import choices_only
from .catalog_networks import catalog_array_head, catalog_layers
from .family import Blueprint, Family, TensorFlowReader

if TYPE_CHECKING:
    from .head import PolicyHead


def _head(plan: Blueprint) -> PolicyHead:
    from .head import SimpleQHead

    return plan.head(SimpleQHead, plan.distribution.size, algorithm=plan.algorithm)


FAMILY = Family(
    _head,
    partial(catalog_array_head, outputs_are="q_values"),
    choices_only,
    tf=TensorFlowReader(catalog_layers),
)
