"""Column names are RLlib's."""

from rlconnect.core.columns import Columns

NAMES = """
obs infos actions actions_for_env rewards terminateds truncateds eps_id agent_id module_id
seq_lens t state_in next_state_in state_out next_state_out embeddings action_dist_inputs
action_prob action_logp vf_preds values_bootstrapped advantages value_targets
intrinsic_rewards returns_to_go loss_mask
"""


def test_every_column_has_its_name():
    """The attribute is the name in upper case; only the next observation is called otherwise."""
    found = {name: value for name, value in vars(Columns).items() if name.isupper()}

    assert found == {**{name.upper(): name for name in NAMES.split()}, "NEXT_OBS": "new_obs"}
