"""The names of the columns that batches, episodes and modules share.

The values are RLlib's: they sit in checkpoints and in users' code, so they never change.
"""

from __future__ import annotations

from typing import Final


class Columns:
    """Column names as class attributes; the attribute is the upper-case name.

    Example:
        >>> Columns.OBS, Columns.NEXT_OBS
        ('obs', 'new_obs')
    """

    # What an episode holds.
    OBS: Final = "obs"
    INFOS: Final = "infos"
    ACTIONS: Final = "actions"
    ACTIONS_FOR_ENV: Final = "actions_for_env"
    REWARDS: Final = "rewards"
    TERMINATEDS: Final = "terminateds"
    TRUNCATEDS: Final = "truncateds"
    NEXT_OBS: Final = "new_obs"

    # Where a row comes from.
    EPS_ID: Final = "eps_id"
    AGENT_ID: Final = "agent_id"
    MODULE_ID: Final = "module_id"
    T: Final = "t"
    SEQ_LENS: Final = "seq_lens"

    # What a recurrent module carries from step to step.
    STATE_IN: Final = "state_in"
    NEXT_STATE_IN: Final = "next_state_in"
    STATE_OUT: Final = "state_out"
    NEXT_STATE_OUT: Final = "next_state_out"

    # What a module computes.
    EMBEDDINGS: Final = "embeddings"
    ACTION_DIST_INPUTS: Final = "action_dist_inputs"
    ACTION_PROB: Final = "action_prob"
    ACTION_LOGP: Final = "action_logp"
    VF_PREDS: Final = "vf_preds"
    VALUES_BOOTSTRAPPED: Final = "values_bootstrapped"

    # What a learner adds.
    ADVANTAGES: Final = "advantages"
    VALUE_TARGETS: Final = "value_targets"
    INTRINSIC_REWARDS: Final = "intrinsic_rewards"
    RETURNS_TO_GO: Final = "returns_to_go"
    LOSS_MASK: Final = "loss_mask"


DEFAULT_AGENT_ID: Final = "default_agent"
"""The id of the only agent of a single-agent environment."""

DEFAULT_MODULE_ID: Final = "default_policy"
"""The id of the only module or policy where none was named."""

DEFAULT_POLICY_ID: Final = DEFAULT_MODULE_ID
"""The old stack's word for DEFAULT_MODULE_ID."""

ALL_MODULES: Final = "__all_modules__"
"""Stands for all modules together in results."""

INPUT_ENV_SPACES: Final = "__env__"
"""Key of the spaces of the vectorised environment."""

INPUT_ENV_SINGLE_SPACES: Final = "__env_single__"
"""Key of the spaces of one sub-environment."""
