"""What a checkpoint says of itself is told under RLlib's keys, without reading its pickles."""

from pathlib import Path

import pytest
from rlconnect.core.errors import CheckpointError
from rlconnect.legacy import Policy, get_checkpoint_info

GOLDEN = Path(__file__).parents[2] / "golden" / "checkpoints"
# What Ray 2.60 says of the same folders: type, format, file, policies, modules.
SAID = {
    "2.3.1-ppo_multiagent/algo_checkpoint": (
        "Algorithm", "cloudpickle", "algorithm_state.pkl", {"pol_0", "pol_1"}, None,
    ),
    "2.5.1-ppo_msgpack/msgpack_algo": (
        "Algorithm", "msgpack", "algorithm_state.msgpck", {"default_policy"}, None,
    ),
    "2.5.1-ppo_msgpack/msgpack_policy/default_policy": (
        "Policy", "msgpack", "policy_state.msgpck", None, None,
    ),
    "2.60.0-ppo_new_stack/algo": (
        "Algorithm", "cloudpickle", "algorithm_state.pkl", None, {"default_policy"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("folder", SAID)
def test_as_ray_says(folder):
    """Type, format, state file, policies, modules and release."""
    info = get_checkpoint_info(GOLDEN / folder)

    found = (info["type"], info["format"], Path(info["state_file"]).name)
    assert (*found, info["policy_ids"], info["module_ids"]) == SAID[folder]
    assert info["ray_version"] == folder.split("-")[0]
    assert info["checkpoint_dir"] == str(GOLDEN / folder)


def test_our_own_format(tmp_path):
    """An export of ours is told in the same keys."""
    policy = Policy.from_checkpoint(GOLDEN / "2.5.1-ppo_msgpack/msgpack_policy/default_policy")
    policy.export_checkpoint(tmp_path / "own")

    info = get_checkpoint_info(tmp_path / "own")

    assert (info["type"], info["format"]) == ("Policy", "rlconnect")


def test_no_checkpoint(tmp_path):
    """A folder without a checkpoint, and none at all, are refused."""
    for path in (tmp_path, tmp_path / "none"):
        with pytest.raises(CheckpointError):
            get_checkpoint_info(path)
