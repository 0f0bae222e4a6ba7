"""PPO, APPO, IMPALA, A2C, A3C, MARWIL, BC: a network of the catalog, its value told as well."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from .catalog_networks import catalog_array_head, catalog_layers
from .family import Blueprint, Family, TensorFlowReader

if TYPE_CHECKING:
    from .head import PolicyHead


def _head(plan: Blueprint) -> PolicyHead:
    from .head import ActorCriticHead

    return plan.head(ActorCriticHead, plan.distribution.size, algorithm=plan.algorithm)


FAMILY = Family(
    _head, partial(catalog_array_head, value="vf_preds"), tf=TensorFlowReader(catalog_layers)
)
