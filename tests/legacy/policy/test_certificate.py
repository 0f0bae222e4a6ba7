"""A saved policy carries what it made of a few observations, and can be held to it."""

from pathlib import Path

import numpy as np
import pytest
from gymnasium import spaces
from rlconnect.core.errors import WeightsError
from rlconnect.core.vault import open_checkpoint
from rlconnect.legacy import Policy, create_connectors_for_policy
from rlconnect.legacy.policy.certificate import (
    certificate_of,
    check_certificate,
    compare_with_certificate,
)

CHECKPOINTS = Path(__file__).parents[3] / "examples" / "checkpoints"
NESTED = spaces.Dict({"a": spaces.Box(-1, 1, (2,)), "b": spaces.Discrete(3)})


def made(observation_space=NESTED, **model):
    policy = Policy(
        observation_space, spaces.Discrete(3), {"seed": 1, "model": {"fcnet_hiddens": [4], **model}}
    )
    create_connectors_for_policy(policy, policy.config)
    return policy


def preprocessed(space):
    flat = spaces.Box(-1, 1, (5,), np.float32)
    flat.original_space = space
    return flat


@pytest.mark.parametrize(
    "name", ["ppo-cartpole-ray-2.60", "ppo-pendulum-ray-2.7", "sac-pendulum-ray-2.0"]
)
def test_an_exported_policy_passes_its_own_check(name, tmp_path):
    """Old checkpoints, exported and loaded again with check=True, act to the bit as certified."""
    loaded = Policy.from_checkpoint(CHECKPOINTS / name)
    policy = next(iter(loaded.values())) if isinstance(loaded, dict) else loaded

    policy.export_checkpoint(tmp_path / "policy")
    again = Policy.from_checkpoint(tmp_path / "policy", check=True)

    stages = compare_with_certificate(
        again, again.record.extra["certificate"], absolute=0.0, relative=0.0
    )
    assert {"observation", "action"} <= {stage.name for stage in stages}
    assert all(stage.is_equal for stage in stages)


@pytest.mark.parametrize("name", ["policy.json", "policy"])
@pytest.mark.parametrize(
    "policy",
    [made(preprocessed(NESTED)), made(spaces.Box(-1, 1, (3,)), use_lstm=True, lstm_cell_size=4)],
    ids=["nested", "lstm"],
)
def test_nested_observations_and_states_are_certified(policy, name, tmp_path):
    """Dicts and recurrent states go through file and folder and are compared."""
    policy.export_checkpoint(tmp_path / name, arrays="inline" if "." in name else "file")

    again = Policy.from_checkpoint(tmp_path / name, check=True)

    assert len(again.record.extra["certificate"]["steps"]) == 3


def test_other_weights_do_not_pass(tmp_path):
    """A policy that acts differently is told by stage, with the difference."""
    policy = made(spaces.Box(-1, 1, (3,)))
    policy.export_checkpoint(tmp_path / "policy")
    again = Policy.from_checkpoint(tmp_path / "policy")
    weights = again.get_weights()
    again.set_weights({name: weight + 0.25 for name, weight in weights.items()})

    with pytest.raises(WeightsError, match="does not act") as error:
        check_certificate(again)

    assert error.value.stage == "outputs"


def test_certifying_leaves_the_policy_alone():
    """Episodes that run in its connectors go on; its switches stay; equal calls give equal data."""
    policy = made(spaces.Box(-1, 1, (3,)))
    policy.agent_connectors.in_training()
    before = policy.agent_connectors.to_state()

    first, second = certificate_of(policy), certificate_of(policy)

    assert policy.agent_connectors.to_state() == before
    assert policy.agent_connectors._is_training
    for one, other in zip(first["steps"], second["steps"], strict=True):
        np.testing.assert_array_equal(one["outputs"], other["outputs"])


def test_a_policy_that_cannot_act_says_so(tmp_path):
    """Without connectors there is a reason instead of numbers, and a check of it fails."""
    policy = Policy(spaces.Box(-1, 1, (3,)), spaces.Discrete(2), {"model": {"fcnet_hiddens": [4]}})
    policy.export_checkpoint(tmp_path / "policy")

    record = open_checkpoint(tmp_path / "policy").policies["default_policy"]

    assert "connectors" in record.extra["certificate"]["missing"]
    with pytest.raises(WeightsError, match="no parity certificate"):
        Policy.from_checkpoint(tmp_path / "policy", check=True)


def test_checkpoints_of_others_have_none():
    """What Ray wrote carries no certificate: check=True says what to do instead."""
    with pytest.raises(WeightsError, match="`verify` both"):
        Policy.from_checkpoint(CHECKPOINTS / "ppo-cartpole-ray-2.60", check=True)
