"""Policies of rarely used algorithms and settings act as the Ray that saved them did."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
import rlconnect
import torch
from gymnasium.spaces import Box, MultiDiscrete
from rlconnect.core.errors import ConfigError, MissingPartError, UnknownNameError
from rlconnect.core.vault import WeightTable
from rlconnect.core.vault.decode.standins import GlobalRef, Opaque
from rlconnect.legacy import FullyConnectedNetwork, Policy, TorchModelV2, local_policy_inference
from rlconnect.legacy.policy.build import build_policy
from rlconnect.legacy.policy.record_parts import spaces_of
from torch import nn

RARE = Path(__file__).parents[1] / "golden" / "rare"


class MaskedActions(TorchModelV2, nn.Module):
    """The masking network of RLlib's examples; its own settings reach it under no interface."""

    def __init__(self, obs_space, action_space, num_outputs, model_config, name, **settings):
        TorchModelV2.__init__(self, obs_space, action_space, num_outputs, model_config, name)
        nn.Module.__init__(self)
        seen = obs_space.original_space["observations"]
        self.internal_model = FullyConnectedNetwork(
            seen, action_space, num_outputs, model_config, f"{name}_internal"
        )
        self.is_blind = settings.get("no_masking", False)

    def forward(self, input_dict, state, seq_lens):
        obs = input_dict["obs"]
        logits, _ = self.internal_model({"obs": obs["observations"]})
        mask = torch.clamp(torch.log(obs["action_mask"]), min=-3.4e38)
        return (logits if self.is_blind else logits + mask), state

    def value_function(self):
        return self.internal_model.value_function()


ES_SETTINGS = {
    "observation_space": Box(-1, 1, (3,)),
    "action_space": Box(-2, 2, (2,)),
    "model": {"fcnet_hiddens": [8], "fcnet_activation": "relu"},
}
OPTIONS = {
    "2.7.2-dqn_custom_model": {"custom_models": {"mask": MaskedActions}},
    "2.2.0-es": {"config": ES_SETTINGS},
    "2.0.1-es": {"config": ES_SETTINGS},
}


def loaded(name):
    """The policies of a recording by id."""
    found = Policy.from_checkpoint(RARE / name, **OPTIONS.get(name, {}))
    return found if isinstance(found, dict) else {"default_policy": found}


def arrays(obs):
    """An observation as the environment gave it."""
    if isinstance(obs, dict):
        return {key: arrays(part) for key, part in obs.items()}
    array = np.array(obs)
    return array.astype(np.float32) if array.dtype.kind == "f" else array


@pytest.mark.parametrize("name", sorted(path.name for path in RARE.iterdir() if path.is_dir()))
def test_acts_as_ray_did(name):
    """Actions and fetches of several steps are those Ray gave."""
    recorded = json.loads((RARE / name / "answers.json").read_text(encoding="utf-8"))["answers"]
    policies = loaded(name)

    assert set(policies) == set(recorded)
    for policy_id, steps in recorded.items():
        for step in steps:
            ((action, _, fetches),) = local_policy_inference(
                policies[policy_id], "env", "agent", arrays(step["obs"]), explore=False
            )
            np.testing.assert_allclose(action, step["action"], atol=1e-5)
            assert "q_values" not in {*fetches} - {*step["fetches"]}
            if not name.endswith("bandit_ts"):  # Ray draws the scores that it tells of
                for key, value in step["fetches"].items():
                    np.testing.assert_allclose(fetches[key], value, atol=1e-5, err_msg=key)


def test_vectors_of_es_need_spaces():
    """ES saves neither spaces nor config: the error says what to give."""
    with pytest.raises(ConfigError, match=r"lost its spaces(?s:.*)observation_space=\.\.\."):
        Policy.from_checkpoint(RARE / "2.2.0-es")


def test_vectors_of_es_become_named_weights():
    """Loaded, they are as other weights: named, and free to be set again."""
    policy = loaded("2.2.0-es")["default_policy"]

    weights = policy.get_weights()
    policy.set_weights({name: value * 0 for name, value in weights.items()})
    action, _, _ = policy.compute_single_action(np.ones(3, np.float32), explore=False)

    assert weights["_logits._model.0.weight"].shape == (2, 8)
    np.testing.assert_array_equal(action, [0, 0])


def test_vectors_of_tensorflow_are_refused():
    """Its variables stand in another order, transposed: to cut them up would mislead."""
    with pytest.raises(ConfigError, match="one vector in TensorFlow's order"):
        Policy.from_checkpoint(RARE / "2.2.0-es", config={**ES_SETTINGS, "framework": "tf"})


def test_networks_of_curiosity_stay_with_the_record():
    """They lie among the weights in the file, and are none of the policy's."""
    saved = rlconnect.open_checkpoint(RARE / "2.7.2-ppo_curiosity").policies["default_policy"]

    own = loaded("2.7.2-ppo_curiosity")["default_policy"].get_weights()

    assert any(name.startswith("_curiosity_") for name in saved.weights)
    assert set(own) == {name for name in saved.weights if not name.startswith("_curiosity_")}


def test_thompson_sampling_draws_what_each_arm_is_worth():
    """Arms are drawn as often as they are best among Gaussian draws of their worth."""
    policy = loaded("2.2.0-bandit_ts")["default_policy"]
    x = np.array([0.6, -0.2, 0.4], np.float32)
    weights = policy.get_weights()
    theta, covariance = (
        np.stack([weights[f"arms.{arm}.{part}"] for arm in range(3)])
        for part in ("theta", "covariance")
    )
    rng = np.random.default_rng(0)
    spread = np.sqrt(np.einsum("i,aij,j->a", x, covariance, x))
    best = (theta @ x + spread * rng.standard_normal((40_000, 3))).argmax(axis=1)

    policy.seed(1)
    drawn, _, fetches = policy.compute_actions(np.tile(x, (20_000, 1)), explore=True)

    np.testing.assert_allclose(
        np.bincount(drawn, minlength=3) / 20_000, np.bincount(best) / 40_000, atol=0.02
    )
    np.testing.assert_allclose(fetches["action_dist_inputs"][0], [*(theta @ x), *spread], atol=1e-5)


def test_bandits_need_arms():
    """Actions that are not one of n are refused."""
    with pytest.raises(ValueError, match="BanditLinUCB cannot act in this action space"):
        Policy(Box(-1, 1, (3,)), Box(-1, 1, (2,)), algorithm="BanditLinUCB")


def test_an_algorithm_that_is_not_served_is_named():
    """Its weights are told of: they can be read."""
    record = rlconnect.open_checkpoint(RARE / "2.2.0-bandit_ts").policies["default_policy"]
    strange = dataclasses.replace(record, algorithm="QMIX", policy_class="QMixTorchPolicy")

    with pytest.raises(UnknownNameError, match=r"one of QMIX \(QMixTorchPolicy(?s:.*)0\.theta"):
        build_policy(Policy, strange)


def test_a_policy_without_weights_is_named_with_the_way_around_it():
    """One that acts by rules has none; the others of its checkpoint can be asked for."""
    record = rlconnect.open_checkpoint(RARE / "2.2.0-bandit_ts").policies["default_policy"]
    bare = dataclasses.replace(record, weights=WeightTable(), policy_class="my.rules.AlwaysLeft")

    with pytest.raises(
        MissingPartError, match=r"a my\.rules\.AlwaysLeft(?s:.*)policy_ids=\['other'\]"
    ):
        build_policy(Policy, bare, others=["other"])


def test_matrices_of_choices_of_old_releases_are_refused():
    """Up to Ray 2.0 they were encoded in another way, which lost which choice was meant."""
    record = rlconnect.open_checkpoint(RARE / "2.2.0-bandit_ts").policies["default_policy"]
    space = MultiDiscrete([[2, 3], [4, 2]])

    with pytest.raises(ConfigError, match=r"as Ray 2\.0\.1 encoded"):
        spaces_of(dataclasses.replace(record, observation_space=space, ray_version="2.0.1"))
    assert spaces_of(dataclasses.replace(record, observation_space=space))[0] == space


@pytest.mark.parametrize(
    ("kind", "acts"),
    [
        (GlobalRef("ray.rllib.utils.exploration.curiosity", "Curiosity"), True),
        (Opaque(GlobalRef("cloudpickle", "_make_skeleton_class"), (type, "Wild")), False),
    ],
)
def test_explorations_given_as_classes_stay_data(kind, acts):
    """The class of an exploration is its name; one of the author's own acts unless it explores."""
    recorded = rlconnect.open_checkpoint(RARE / "2.7.2-ppo_curiosity")
    ((_, record),) = recorded.policies.items()
    settings = {**record.config["exploration_config"], "type": kind}
    record = dataclasses.replace(record, config={**record.config, "exploration_config": settings})

    policy = build_policy(Policy, record)
    obs = np.zeros((1, *policy.observation_space.shape), np.float32)

    assert len(policy.compute_actions(obs, explore=False)[0]) == 1
    if acts:
        policy.compute_actions(obs, explore=True)
    else:
        with pytest.raises(UnknownNameError, match="Wild"):
            policy.compute_actions(obs, explore=True)


def test_a_module_of_its_authors_is_named():
    """An old policy around somebody's RLModule says whose class is missing, and takes one given."""
    recorded = rlconnect.open_checkpoint(RARE / "2.7.2-ppo_module_custom_dist")
    ((_, record),) = recorded.policies.items()
    spec = Opaque(GlobalRef("ray.rllib.core.rl_module.rl_module", "SingleAgentRLModuleSpec"))
    spec.state = {"module_class": GlobalRef("theirs.nets", "TheirModule")}
    weights = WeightTable({"net.weight": np.ones((4, 3), np.float32)})
    config = {**record.config, "rl_module_spec": spec}
    record = dataclasses.replace(record, config=config, weights=weights)

    with pytest.raises(ConfigError, match=r"theirs\.nets\.TheirModule.*code is not") as caught:
        build_policy(Policy, record)
    assert "FullyConnected" not in str(caught.value)

    class TheirModule(nn.Module):
        def __init__(self, *given, **settings):
            super().__init__()
            self.net = nn.Linear(3, 4, bias=False)

        def forward(self, obs):
            return self.net(obs)

    policy = build_policy(Policy, record, custom_models={"TheirModule": TheirModule})
    obs = np.float32([[1.0, 2.0, 3.0]])

    np.testing.assert_allclose(
        policy.compute_actions(obs, explore=False)[2]["action_dist_inputs"], [[6.0] * 4]
    )
