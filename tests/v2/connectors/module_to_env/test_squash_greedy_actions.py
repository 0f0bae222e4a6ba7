"""Best actions of a squashed distribution."""

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box
from rlconnect.v2 import DefaultSACTorchRLModule, SingleAgentEpisode, SquashGreedyActions
from rlconnect.v2.connectors.module_to_env.module_to_env_pipeline import module_to_env_pipeline

ARM = Box(-2.0, 4.0, (2,), np.float32)


@pytest.mark.parametrize("explore", [False, True, None])
def test_only_actions_that_nobody_drew_are_squashed(explore):
    """Drawn ones are within bounds already; explore=None is no exploring."""
    batch = {"actions": {("e0",): [np.float32([0.5, 3.0])]}}

    SquashGreedyActions()(rl_module=None, batch=batch, episodes=[], explore=explore)

    (found,) = batch["actions"][("e0",)]
    wanted = [0.5, 3.0] if explore else np.tanh([0.5, 3.0])
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_the_environment_gets_squashed_and_stretched_actions():
    """In a pipeline it stands before the bounds, so actions end within them."""
    module = DefaultSACTorchRLModule(
        observation_space=Box(-1, 1, (3,), np.float32), action_space=ARM, model_config={}
    )
    pipeline = module_to_env_pipeline(None, ARM, custom=[SquashGreedyActions()])
    episode = SingleAgentEpisode(id_="e0")
    episode.add_env_reset(np.zeros(3, np.float32))
    batch = {"action_dist_inputs": torch.tensor([[10.0, 0.0, 0.0, 0.0]])}

    made = pipeline(
        rl_module=module,
        batch=batch,
        episodes=[episode],
        explore=False,
        shared_data={"memorized_map_structure": ["e0"]},
    )

    np.testing.assert_allclose(made["actions_for_env"], [[4.0, 1.0]], atol=1e-5)
