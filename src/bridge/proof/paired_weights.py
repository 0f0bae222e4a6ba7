"""The weights of two policies side by side, where one's tell what the other's have to be.

Outputs do not show every weight: dueling networks take the mean of advantages away, critics of SAC
do not act, and what a saturated unit multiplies changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ...core.importing.torch_needed import has_torch
from ...core.types import Array
from ...legacy.policy.stages import LegacyStages
from ..twins.twin import Refusal
from .staged import Staged, are_of_triple

Weights = Mapping[str, Array]


def paired_weights(ours: Staged, theirs: Staged) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """The weights of both by name, a row of numbers each; None where they are built unlike.

    A policy of the old stack beside a native module is taken as the module that it becomes.
    """
    for mine, yours in _pairs(_source(ours), _source(theirs)):
        if mine is None or yours is None or _is_policy(mine) is not _is_policy(yours):
            continue
        weights = _weights(mine), _weights(yours)
        if _form(weights[0]) == _form(weights[1]):
            return _rows(weights[0]), _rows(weights[1])
    return None


def weights_behind(staged: Staged) -> Weights | None:
    """The weights of the policy behind stages, by name; None for stages of another kind."""
    source = _source(staged)
    return None if source is None else _weights(source)


def _source(staged: Staged) -> Any:
    """The policy or the module behind stages."""
    if isinstance(staged, LegacyStages):
        return staged.policy
    if not are_of_triple(staged):
        return None
    from ..wrap.policy_module import LegacyPolicyModule

    module = staged.module
    return module.policy if isinstance(module, LegacyPolicyModule) else module


def _pairs(mine: Any, yours: Any) -> Iterator[tuple[Any, Any]]:
    """Both, and each as the module that it becomes, which is built only where nothing else fits."""
    yield mine, yours
    native = _native(mine) if _is_policy(mine) else None
    if native is not None:
        yield native, yours
    if _is_policy(yours):
        becomes = _native(yours)
        yield mine, becomes
        yield native, becomes


def _is_policy(source: Any) -> bool:
    return hasattr(source, "get_weights")


def _native(policy: Any) -> Any:
    """The module that a policy becomes; None where it becomes none, and without torch."""
    if not has_torch():
        return None
    from ..twins.native_module import native_module

    module = native_module(policy)
    return None if isinstance(module, Refusal) else module


def _weights(source: Any) -> Weights:
    weights: Weights = source.get_weights() if _is_policy(source) else source.get_state()
    return weights


def _form(weights: Weights) -> dict[str, tuple[int, ...]]:
    return {name: np.shape(weight) for name, weight in weights.items()}


def _rows(weights: Weights) -> dict[str, Any]:
    return {name: np.reshape(weights[name], (1, -1)) for name in sorted(weights)}
