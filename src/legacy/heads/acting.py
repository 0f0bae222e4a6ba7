"""From distribution inputs to what a policy returns: actions and fetches. No torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ..distributions.arrays import ArrayDistribution
from ..exploration import ActionSource, ArraySource, Exploration

Array = npt.NDArray[Any]


def choose_actions(
    distribution: ArrayDistribution | Callable[[Array], ActionSource],
    dist_inputs: Array,
    extra: Mapping[str, Array],
    exploration: Exploration,
    *,
    explore: bool,
    timestep: int | None,
    rng: np.random.Generator,
    bare_when_greedy: bool = False,
) -> tuple[Any, dict[str, Array]]:
    """Pick actions for a batch and put the fetches together as Ray orders and names them.

    Args:
        distribution: The numpy distribution, or what makes a source of actions from inputs.
        dist_inputs: What the network put out for it, (B, n).
        extra: The algorithm's own fetches, e.g. `vf_preds` or `q_values`.
        exploration: How to explore; counts timesteps.
        explore: False takes the deterministic action.
        timestep: The policy's global timestep, or None.
        rng: Where random numbers come from.
        bare_when_greedy: Whether fetches without exploration are the inputs alone.

    Returns:
        Actions nested like the space, and the fetches: `extra`, then `action_dist_inputs`,
        `action_prob` and `action_logp` (one and zero wherever nothing was sampled).
    """
    inputs = exploration.prepare(dist_inputs)
    source = (
        distribution(inputs) if callable(distribution) else ArraySource(distribution, inputs, rng)
    )
    actions, logp = exploration.choose(source, explore=explore, timestep=timestep, rng=rng)
    if bare_when_greedy and not explore:
        return actions, {"action_dist_inputs": inputs}
    fetches = {
        **extra,
        "action_dist_inputs": inputs,
        "action_prob": np.exp(logp),
        "action_logp": logp,
    }
    if inputs is not dist_inputs and "q_values" in fetches:
        fetches["q_values"] = inputs  # in Ray both names are the one tensor that was scaled
    return actions, fetches
