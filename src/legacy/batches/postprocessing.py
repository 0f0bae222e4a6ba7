"""A trajectory's values after each step, and from them advantages: as policies ask for it.

The formulas are in core/arrays/returns.py; here a policy says what its settings are and what it
expects after the last step.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from ...core.arrays.returns import compute_advantages
from .sample_batch import SampleBatch


class Postprocessing:
    """Names of the columns that postprocessing adds."""

    ADVANTAGES: ClassVar[str] = "advantages"
    VALUE_TARGETS: ClassVar[str] = "value_targets"


def compute_gae_for_sample_batch(
    policy: Any,
    sample_batch: SampleBatch,
    other_agent_batches: Mapping[Any, Any] | None = None,
    episode: Any = None,
) -> SampleBatch:
    """Add values, advantages and value targets to one trajectory, in place.

    Args:
        policy: Its `config` contains `gamma`, `lambda`, `use_gae` and `use_critic`. If the episode
            continues, its value function is evaluated after the last step.
        sample_batch: The steps of one episode, with "vf_preds".
        other_agent_batches: Accepted for compatibility with Ray.
        episode: Accepted for compatibility with Ray.

    Returns:
        `sample_batch` itself.
    """
    batch = compute_bootstrap_value(sample_batch, policy)
    config = policy.config
    compute_advantages(
        batch,
        batch[SampleBatch.VALUES_BOOTSTRAPPED][-1],
        config.get("gamma", 0.99),
        config.get("lambda", 1.0),
        use_gae=config.get("use_gae", True),
        use_critic=config.get("use_critic", True),
    )
    return batch


def compute_bootstrap_value(sample_batch: SampleBatch, policy: Any) -> SampleBatch:
    """Add the value that follows each step, in place.

    Args:
        sample_batch: The steps of one episode, with "vf_preds".
        policy: Asked for the value after the last step, unless that one terminated the episode.

    Returns:
        `sample_batch` itself, with "values_bootstrapped".
    """
    values = np.asarray(sample_batch[SampleBatch.VF_PREDS])
    last = 0.0 if sample_batch[SampleBatch.TERMINATEDS][-1] else _value_after(sample_batch, policy)
    following = np.append(values[1:], np.asarray(last, values.dtype))
    sample_batch[SampleBatch.VALUES_BOOTSTRAPPED] = following
    return sample_batch


def _value_after(batch: SampleBatch, policy: Any) -> Any:
    last_step = batch.get_single_step_input_dict(policy.view_requirements, index="last")
    value_fn = getattr(policy, "_value", None)
    if value_fn is not None:  # a policy of the user's own, as RLlib's algorithms define it
        return value_fn(**last_step)
    return policy.value(last_step)
