"""Which of numpy and torch computes, and that nobody can tell from the numbers."""

import os
import subprocess
import sys

import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete
from rlconnect.core.nets.numpy_layers import MAX_NUMPY_ROWS
from rlconnect.legacy import Policy
from rlconnect.legacy.heads.array_head import ArrayHead
from rlconnect.legacy.policy.networks import TorchNetwork, rows_of

from tests.legacy.replay import GOLDEN, Recording, batch_outputs, folders, gap, named
from tests.legacy.test_recordings import MODELS, names

CASES = folders(GOLDEN / "legacy")
IN_NUMPY = {"2.60.0/ppo_cartpole", "2.7.2/ppo_lstm_prev", "2.7.2/sac_cont", "2.7.2/td3"}
IN_TORCH = {"2.7.2/ppo_attention", "2.7.2/ppo_image_vision", "2.7.2/ppo_framestack_view"}


@pytest.mark.torch
@pytest.mark.parametrize("name", sorted(IN_NUMPY | IN_TORCH))
def test_dense_and_lstm_networks_act_in_numpy(name):
    """The rule: on a CPU numpy where there is a twin, up to so many rows; torch for the rest."""
    policy = Recording(GOLDEN / "legacy" / name).load("default_policy", custom_models=MODELS)

    small, large = (policy.networks.for_rows(rows) for rows in (1, MAX_NUMPY_ROWS + 1))

    assert isinstance(small, ArrayHead if name in IN_NUMPY else TorchNetwork)
    assert isinstance(large, TorchNetwork)


@pytest.mark.parametrize("case", CASES, ids=names(CASES))
def test_numpy_and_torch_give_the_same_answers(case):
    """Where numpy acts, torch with the same weights gives the same to 1e-6 of the magnitude."""
    recording = Recording(case)
    policy_id = recording.policy_ids[0]
    policy = recording.load(policy_id, custom_models=MODELS)
    before = batch_outputs(policy, recording, policy_id)
    if before is None or policy.networks.numpy is None:
        assert policy.networks.numpy is None or "rlmodule" in str(case) or "adapt" in str(case)
        return

    policy.networks.numpy = None
    after = named(batch_outputs(policy, recording, policy_id))

    for path, value in named(before).items():
        assert not gap(after[path], value), path
        scale = max(1.0, np.abs(after[path]).max(initial=0))
        assert np.abs(after[path] - value).max(initial=0) <= 2e-6 * scale, path


def test_acting_with_a_dense_policy_loads_no_torch():
    """From the checkpoint to the action, process wide, torch is never imported."""
    path = GOLDEN / "legacy" / "2.7.2" / "ppo_lstm_prev" / "algo_checkpoint"
    code = (
        "import sys, numpy as np\n"
        "from rlconnect.legacy import Policy, local_policy_inference, batch_policy_inference\n"
        f"policy = Policy.from_checkpoint({str(path)!r})['default_policy']\n"
        "obs = np.zeros(5, np.float32)\n"
        "for explore in (False, True):\n"
        "    policy.reset_connectors('e')\n"
        "    local_policy_inference(policy, 'e', 'a', obs, explore=explore)\n"
        "batch_policy_inference(policy, [1, 2], 'ab', [obs, obs])\n"
        "print('torch' in sys.modules)\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ},
        encoding="utf-8",
    )

    assert done.stdout.strip() == "False", done.stderr


@pytest.mark.parametrize(
    ("obs", "rows"),
    [
        (np.zeros((3, 2)), 3),
        ({"a": np.zeros((4, 1)), "b": np.zeros(4)}, 4),
        (({"x": np.zeros(5)}, np.zeros((5, 2))), 5),
    ],
)
def test_rows_are_counted_in_any_nest(obs, rows):
    """A batch has as many rows as its first leaf."""
    assert rows_of(obs) == rows


def test_a_device_other_than_the_cpu_is_torchs():
    """Numpy acts on the CPU only; `meta` stands for any other device."""
    made = Policy(Box(-1, 1, (2,)), Discrete(2))
    weights = made.get_weights()

    assert Policy(Box(-1, 1, (2,)), Discrete(2), weights=weights).networks.numpy is not None
    assert (
        Policy(Box(-1, 1, (2,)), Discrete(2), weights=weights, device="meta").networks.numpy is None
    )


def test_set_weights_reaches_both_networks():
    """Weights set after torch was built are those it computes with, as numpy does."""
    policy = Recording(GOLDEN / "legacy" / "2.60.0" / "ppo_cartpole").load("default_policy")
    obs = np.ones((2, 4), np.float32)
    assert policy.model is policy.networks.torch().head.model

    policy.set_weights({name: part * 0.5 for name, part in policy.get_weights().items()})

    mine = policy.networks.numpy.run({"obs": obs}, [], None).dist_inputs
    its = policy.networks.torch().run({"obs": obs}, [], None).dist_inputs
    np.testing.assert_allclose(mine, its, atol=1e-6)


@pytest.mark.gpu
@pytest.mark.parametrize("case", CASES, ids=names(CASES))
def test_a_gpu_gives_the_recorded_answers(case):
    """On a GPU, the recorded batch gets the recorded answers."""
    recording = Recording(case)
    policy_id = recording.policy_ids[0]
    policy = recording.load(policy_id, custom_models=MODELS, device="cuda")
    output = batch_outputs(policy, recording, policy_id)

    if output is not None:
        found = named(output)
        for path, want in recording.batch(policy_id, "batch_out").items():
            assert not gap(want, found[path.split("@")[0]]), path


def test_nested_spaces_are_torchs():
    """A nested space without preprocessing has no numpy twin, and acts."""
    space = Dict({"a": Box(-1, 1, (2,)), "b": Discrete(3)})
    policy = Policy(space, Discrete(2), {"_disable_preprocessor_api": True})

    actions, _, _ = policy.compute_actions({"a": np.zeros((2, 2)), "b": np.zeros(2, int)})

    assert policy.networks.numpy is None
    assert actions.shape == (2,)
