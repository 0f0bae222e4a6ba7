"""Class names of any release lead to the algorithm they belong to."""

import pytest
from rlconnect.core.vault.names import algorithm_name, policy_algorithm


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("ray.rllib.algorithms.ppo.ppo.PPO", "PPO"),
        ("ray.rllib.algorithms.ppo.ppo.PPOConfig", "PPO"),
        ("PPOTorchPolicy", "PPO"),
        ("PPOTF1Policy", "PPO"),
        ("PPOTF2Policy_eager_traced", "PPO"),
        ("ray.rllib.agents.ppo.ppo_tf_policy.PPOTFPolicy", "PPO"),
        ("ray.rllib.agents.trainer_template.DDPPOTrainer", "PPO"),
        ("ray.rllib.algorithms.impala.impala_torch_policy.ImpalaTorchPolicy", "IMPALA"),
        ("VTraceTorchPolicy", "IMPALA"),
        ("ray.rllib.algorithms.appo.appo_torch_policy.APPOTorchPolicy", "APPO"),
        ("ray.rllib.policy.policy_template.SACTorchPolicy", "SAC"),
        ("ray.rllib.algorithms.simple_q.simple_q.SimpleQ", "SimpleQ"),
        (
            "ray.rllib.algorithms.dqn.torch.default_dqn_torch_rl_module.DefaultDQNTorchRLModule",
            "DQN",
        ),
        ("ray.rllib.algorithms.dqn.dqn_catalog.DQNCatalog", "DQN"),
        ("ray.rllib.algorithms.apex_dqn.apex_dqn.ApexDQN", "APEX"),
        ("ray.rllib.algorithms.ddpg.ddpg_torch_policy.build_policy", "DDPG"),
        ("my_project.trainers.BetterConfig", "Better"),
        ("my_project.trainers.Policy", ""),
        ("", ""),
        ("...", ""),
    ],
)
def test_a_class_name_tells_its_algorithm(path, name):
    """Suffixes of frameworks and roles are peeled off; the folder tells where the name does not."""
    assert algorithm_name(path) == name


def test_the_first_name_that_tells_decides():
    """Empty and untelling names are passed over."""
    assert algorithm_name("", "x.Policy", "SACTorchPolicy", "PPOTorchPolicy") == "SAC"


@pytest.mark.parametrize(
    ("policy_class", "algorithm", "name"),
    [
        ("A3CTorchPolicy", "A2C", "A2C"),
        ("MARWILTorchPolicy", "BC", "BC"),
        ("DDPGTorchPolicy", "TD3", "TD3"),
        ("DQNTorchPolicy", "APEX", "APEX"),
        ("DQNTorchPolicy", "PPO", "DQN"),
        ("PPOTorchPolicy", "", "PPO"),
        ("my.OwnPolicy", "SAC", "SAC"),
        ("", "", ""),
    ],
)
def test_a_policy_belongs_to_its_class_unless_it_was_borrowed(policy_class, algorithm, name):
    """Two trainers may share an environment, and an algorithm may borrow another's policy."""
    assert policy_algorithm(policy_class, algorithm) == name
