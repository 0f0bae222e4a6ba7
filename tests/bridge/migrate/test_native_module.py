"""Old networks as native modules."""

import numpy as np
import pytest
import torch
from rlconnect.bridge import Refusal, native_module
from rlconnect.legacy import FullyConnectedNetwork, Policy

from tests.bridge.migrate.networks import ARM, DENSE, POLICIES, REFUSED, VECTOR, asked, policy_of


@pytest.mark.parametrize("name", POLICIES)
def test_outputs_values_and_states_are_those_of_the_old_network(name):
    """A native module computes what the old network computes, within 1e-5."""
    policy = policy_of(POLICIES[name])

    module = native_module(policy)

    assert not isinstance(module, Refusal), module
    for stage, (old, new) in asked(policy, module).items():
        np.testing.assert_allclose(new, old, rtol=1e-5, atol=1e-5, err_msg=stage)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("attention", "attention"),
        ("earlier actions", "earlier actions or rewards"),
        ("noisy", "noisy"),
        ("ddpg", "deterministic"),
        ("sac without squashing", "squashed"),
        ("soft q", "SoftQ"),
        ("nested", "ComplexInputNetwork"),
    ],
)
def test_what_v2_has_nothing_for_is_refused_with_the_reason(name, reason):
    """A network without a native twin is refused in words that name what is missing."""
    refusal = native_module(policy_of(REFUSED[name]))

    assert isinstance(refusal, Refusal)
    assert reason in refusal.reason


def test_an_authors_own_network_is_refused_even_if_it_derives_from_ours():
    """A subclass of a built-in network may compute anything, so its weights do not move."""

    class Doubled(FullyConnectedNetwork):
        def forward(self, input_dict, state, seq_lens):
            outputs, state = super().forward(input_dict, state, seq_lens)
            return outputs * 2, state

    policy = Policy(
        VECTOR,
        ARM,
        {"seed": 0, "model": {**DENSE, "custom_model": "doubled"}},
        custom_models={"doubled": Doubled},
    )

    refusal = native_module(policy)

    assert isinstance(refusal, Refusal)
    assert "Doubled" in refusal.reason


def test_deviations_are_not_bounded_as_in_v2s_default():
    """V2 bounds log-deviations at 20; the old stack does not, and neither does the module."""
    policy = policy_of(("PPO", VECTOR, ARM, {}, DENSE))
    weights = policy.get_weights()
    weights["_logits._model.0.bias"][2:] = 35.0
    policy.set_weights(weights)

    pairs = asked(policy, native_module(policy))

    old, new = pairs["outputs"]
    assert old.max() > 30
    np.testing.assert_allclose(new, old, rtol=1e-5)


def test_the_source_does_not_share_weights_with_the_module():
    """Training the module later leaves the source as it was."""
    policy = policy_of(POLICIES["own value net"])
    before = policy.get_weights()
    module = native_module(policy)

    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(1.0)

    for name, part in policy.get_weights().items():
        np.testing.assert_array_equal(part, before[name])


def test_q_networks_of_sac_move_where_they_are_alike():
    """SAC's action values are the old ones, and left out where V2 cannot build them."""
    policy = policy_of(POLICIES["sac"])
    module = native_module(policy)
    obs = torch.randn(4, 5)
    actions = torch.rand(4, 2)

    with torch.no_grad():
        q_old = policy.model.get_q_values(obs, actions)[0].squeeze(-1)
        twin_old = policy.model.get_twin_q_values(obs, actions)[0].squeeze(-1)
        q_new = module.compute_q_values({"obs": obs, "actions": actions})

    torch.testing.assert_close(q_new, torch.minimum(q_old, twin_old), rtol=1e-5, atol=1e-5)
    assert native_module(policy_of(POLICIES["sac, small q"])).inference_only


def test_epsilon_goes_on_as_scheduled():
    """DQN's random actions follow the old schedule."""
    explores = {"type": "EpsilonGreedy", "initial_epsilon": 0.8, "epsilon_timesteps": 50}
    policy = policy_of(
        ("DQN", VECTOR, POLICIES["dueling"][2], {"exploration_config": explores}, DENSE)
    )

    schedule = native_module(policy).epsilon_schedule

    values = [float(schedule.update(step)) for step in (0, 25, 50, 1000)]
    np.testing.assert_allclose(values, [0.8, 0.425, 0.05, 0.05], rtol=1e-6)
