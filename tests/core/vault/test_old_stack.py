"""Old-stack checkpoints that have lost parts: what survives is offered, what is gone is named."""

import pytest
from rlconnect.core.errors import CorruptCheckpointError, MissingPartError
from rlconnect.core.vault import open_checkpoint

from .recorded import (
    MULTI_AGENT,
    PENDULUM,
    copy_of,
    cut,
    policy_state,
    remove,
    rewrite,
    write_policy,
)


def places(checkpoint):
    """Where each problem lies, and of what kind it is."""
    return [(problem.where, problem.kind) for problem in checkpoint.problems]


def test_policies_survive_the_algorithm(tmp_path):
    """Without algorithm_state.pkl the policies know their algorithm, config, spaces and weights."""
    path = copy_of(PENDULUM, tmp_path)
    remove(path, "algorithm_state.pkl")

    checkpoint = open_checkpoint(path)
    policy = checkpoint.policies["default_policy"]

    assert (checkpoint.algorithm, checkpoint.ray_version) == ("PPO", "2.7.2")
    assert places(checkpoint) == [("algorithm_state.pkl", "note")]
    assert len(policy.weights) == 12
    assert policy.config["observation_filter"] == "MeanStdFilter"


@pytest.mark.parametrize(
    "lost", ["policies/pol_1", "policies/pol_1/policy_state.pkl"], ids=["folder", "file"]
)
def test_a_lost_policy_is_named_by_its_file(lost, tmp_path):
    """Whether the folder or only the state file is gone, the file to fetch is named once."""
    path = copy_of(MULTI_AGENT, tmp_path)
    remove(path, lost)

    checkpoint = open_checkpoint(path)

    assert list(checkpoint.policies) == ["pol_0"]
    assert places(checkpoint) == [("policies/pol_1/policy_state.pkl", "missing")]


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
def test_a_cut_policy_leaves_the_others(share, tmp_path):
    """A truncated state beside intact ones costs itself only."""
    path = copy_of(MULTI_AGENT, tmp_path)
    cut(path / "policies/pol_1/policy_state.pkl", share)

    checkpoint = open_checkpoint(path)

    assert list(checkpoint.policies) == ["pol_0"]
    assert places(checkpoint) == [("policies/pol_1/policy_state.pkl", "damaged")]


def test_a_cut_algorithm_state_leaves_the_policies(tmp_path):
    """The algorithm's own state may be damaged: the policies are read, the damage is told."""
    path = copy_of(MULTI_AGENT, tmp_path)
    cut(path / "algorithm_state.pkl")

    checkpoint = open_checkpoint(path)

    assert list(checkpoint.policies) == ["pol_0", "pol_1"]
    assert places(checkpoint) == [("algorithm_state.pkl", "damaged")]


def test_a_lone_cut_policy_is_the_error(tmp_path):
    """Where nothing else is there to offer, the error names the file."""
    path = write_policy(tmp_path / "policy")
    cut(path / "policy_state.pkl")

    with pytest.raises(CorruptCheckpointError, match=r"^policy_state\.pkl: "):
        open_checkpoint(path)


def test_json_alone_says_what_is_missing(tmp_path):
    """A folder that kept only its JSON file names every file it has lost."""
    path = copy_of(MULTI_AGENT, tmp_path)
    remove(path, "policies", "algorithm_state.pkl")

    with pytest.raises(MissingPartError) as caught:
        open_checkpoint(path)

    assert caught.value.missing == [
        "algorithm_state.pkl",
        "policies/pol_0/policy_state.pkl",
        "policies/pol_1/policy_state.pkl",
    ]


def test_a_policy_folder_with_json_alone_says_what_is_missing(tmp_path):
    """The same for a policy saved alone: the name its JSON gives is the name that is missed."""
    folder = tmp_path / "default_policy"
    folder.mkdir()
    (folder / "rllib_checkpoint.json").write_text(
        '{"type": "Policy", "state_file": "D:\\\\x\\\\policy_state.msgpck"}', encoding="utf-8"
    )

    with pytest.raises(MissingPartError, match=r"policy_state\.msgpck is not here"):
        open_checkpoint(folder)


def test_a_renamed_policy_folder_is_seen(tmp_path):
    """A folder renamed by hand is read under its new name, and told to stand for the old one."""
    path = copy_of(MULTI_AGENT, tmp_path)
    (path / "policies/pol_0").rename(path / "policies/my best run")

    checkpoint = open_checkpoint(path)

    assert list(checkpoint.policies) == ["my best run", "pol_1"]
    assert [problem.kind for problem in checkpoint.problems] == ["note"]
    assert "'pol_0'" in checkpoint.problems[0].what


@pytest.mark.parametrize("version", ["9.9", "1.7"])
def test_an_unknown_version_is_read_as_its_files_look(version, tmp_path):
    """A version nobody described costs a note."""
    path = copy_of(PENDULUM, tmp_path)
    rewrite(path / "rllib_checkpoint.json", checkpoint_version=version)

    checkpoint = open_checkpoint(path)

    assert checkpoint.version == version
    assert checkpoint.policies["default_policy"].weights
    assert [version in problem.what for problem in checkpoint.problems] == [True]


def test_an_unknown_algorithm_is_still_described(tmp_path):
    """A policy of an algorithm we never heard of shows its class, spaces and weights."""
    state = policy_state()
    state["policy_spec"]["policy_class"] = "quantum_gardening.policies.GardenPolicy"
    path = write_policy(tmp_path / "garden", state)

    checkpoint = open_checkpoint(path)
    policy = checkpoint.policies["default_policy"]

    assert (checkpoint.algorithm, policy.algorithm) == ("", "")
    assert policy.policy_class == "quantum_gardening.policies.GardenPolicy"
    assert repr(policy.action_space) == "Discrete(4)"
    assert policy.weights


def test_unknown_keys_are_kept(tmp_path):
    """Keys nobody described stay in `extra`; described ones do not."""
    path = write_policy(tmp_path / "policy", policy_state(kl=0.5, later={"new": [1]}))

    (policy,) = open_checkpoint(path).policies.values()

    assert policy.extra == {"kl": 0.5, "later": {"new": [1]}}
    assert policy.global_timestep == 7


def test_weights_survive_a_lost_config(tmp_path):
    """A state without its spec gives its weights and says what it lacks."""
    path = write_policy(tmp_path / "policy", {"weights": policy_state()["weights"]})

    checkpoint = open_checkpoint(path)
    (policy,) = checkpoint.policies.values()

    assert policy.weights["_logits._model.0.weight"].sum() == 16
    assert policy.observation_space is None
    assert "lost its config" in checkpoint.problems[0].what
