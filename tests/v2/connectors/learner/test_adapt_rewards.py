"""A learner gets adapted rewards, whatever the place of the piece in its pipeline."""

import numpy as np
import pytest
from gymnasium import spaces
from rlconnect.core.adapters import AdapterChain, Clip, Scale
from rlconnect.v2 import (
    AdaptRewards,
    AddColumnsFromEpisodesToTrainBatch,
    PPOConfig,
    SingleAgentEpisode,
)

CHAIN = AdapterChain(reward=[Scale(0.5), Clip(-1.0, 1.0)])


def episode(rewards, name="e"):
    steps = len(rewards)
    return SingleAgentEpisode(
        id_=name,
        observations=[np.zeros(2, np.float32)] * (steps + 1),
        observation_space=spaces.Box(-1, 1, (2,)),
        action_space=spaces.Discrete(2),
        actions=[0] * steps,
        rewards=rewards,
        extra_model_outputs={
            "action_logp": [0.0] * steps,
            "action_dist_inputs": [np.zeros(2, np.float32)] * steps,
        },
        len_lookback_buffer=0,
        terminated=True,
    )


@pytest.mark.parametrize("comes_first", [True, False])
def test_either_side_of_the_columns(comes_first):
    """Before the piece that adds rewards and behind it the batch has the same ones."""
    adapts, adds = AdaptRewards(chain=CHAIN.to_data()), AddColumnsFromEpisodesToTrainBatch()
    episodes = [episode([1.0, -9.0], "a"), episode([4.0], "b")]
    batch = {}

    for piece in [adapts, adds] if comes_first else [adds, adapts]:
        batch = piece(rl_module=None, batch=batch, episodes=episodes)

    found = [np.ravel(items).tolist() for items in batch["rewards"].values()]
    assert found == [[0.5, -1.0], [1.0]]
    assert episodes[1].get_rewards(0) == 4.0


def test_in_a_learner():
    """A PPO learner computes its value targets from adapted rewards; episodes keep theirs."""

    def targets(connector):
        config = PPOConfig().training(gamma=0.0, lambda_=0.0).debugging(seed=0)
        config = config.environment(
            observation_space=spaces.Box(-1, 1, (2,)), action_space=spaces.Discrete(2)
        ).learners(num_learners=0, learner_connector=connector)
        learner = config.build_learner()
        batch = learner._learner_connector(
            rl_module=learner.module,
            batch={},
            episodes=[episode([8.0, 1.0, 0.0])],
            shared_data={},
        )
        return batch["default_policy"]["value_targets"][:3]

    plain = targets(None)
    adapted = targets(lambda obs_space, act_space: AdaptRewards(chain=CHAIN))

    np.testing.assert_allclose(plain, [8, 1, 0], atol=1e-5)
    np.testing.assert_allclose(adapted, [1, 0.5, 0], atol=1e-5)
