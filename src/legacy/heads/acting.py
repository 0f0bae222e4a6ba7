"""From distribution inputs to what a policy returns: actions and fetches. No torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ...core import nest
from ..distributions.families import Family
from ..exploration.exploration import ActionSource, ArraySource, Exploration

Array = npt.NDArray[Any]

_NO_LOGP: Final = np.float32(0.0)
_SURE: Final = np.float32(1.0)


def choose_actions(
    distribution: Family | Callable[[Array], ActionSource],
    dist_inputs: Array,
    extra: Mapping[str, Array],
    exploration: Exploration,
    *,
    explore: bool,
    timestep: int | None,
    rng: np.random.Generator,
    bare_when_greedy: bool = False,
    is_alone: bool = False,
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
        is_alone: Whether the batch is one row, whose answer is to have no batch axis.

    Returns:
        Actions nested like the space, and the fetches: `extra`, then `action_dist_inputs`,
        `action_prob` and `action_logp` (one and zero wherever nothing was sampled).
    """
    inputs = exploration.prepare(dist_inputs)
    shown = inputs[0] if is_alone else inputs
    logp: Any = _NO_LOGP
    is_usual = getattr(exploration.choose, "__func__", None) is Exploration.choose
    if is_alone and not explore and is_usual and not callable(distribution):
        # What the choice below comes to, without a source to ask and zeros to take powers of.
        exploration.see_timestep(timestep)
        actions = nest.taken(distribution.deterministic(inputs), 0)
    else:
        source = (
            distribution(inputs)
            if callable(distribution)
            else ArraySource(distribution, inputs, rng)
        )
        actions, logp = exploration.choose(source, explore=explore, timestep=timestep, rng=rng)
        if is_alone:
            actions, logp = nest.taken(actions, 0), logp[0]
    if bare_when_greedy and not explore:
        return actions, {"action_dist_inputs": shown}
    fetches = {name: part[0] for name, part in extra.items()} if is_alone else {**extra}
    fetches["action_dist_inputs"] = shown
    fetches["action_prob"] = _SURE if logp is _NO_LOGP else np.exp(logp)
    fetches["action_logp"] = logp
    if inputs is not dist_inputs and "q_values" in fetches:
        fetches["q_values"] = shown  # in Ray both names are the one tensor that was scaled
    return actions, fetches
