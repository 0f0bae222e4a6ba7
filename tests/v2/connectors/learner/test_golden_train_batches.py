"""Train batches of one and of several agents are those of real Ray, to single precision."""

import json
from pathlib import Path

import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete
from rlconnect.v2 import (
    AddOneTsToEpisodesAndTruncate,
    GeneralAdvantageEstimation,
    MultiAgentEpisode,
    MultiRLModule,
    RLModuleSpec,
    SingleAgentEpisode,
    TorchRLModule,
    ValueFunctionAPI,
)
from rlconnect.v2.connectors.common.agent_to_module_mapping import AgentMapping
from rlconnect.v2.connectors.learner.learner_connector_pipeline import learner_pipeline

GOLDEN = Path(__file__).parents[3] / "golden" / "v2_connectors" / "recorded.json"
BOX, ACT = Box(-10.0, 10.0, (2,), np.float32), Discrete(3)


class Tenth(TorchRLModule, ValueFunctionAPI):
    """The value of an observation is a tenth of its sum."""

    def setup(self):
        pass

    def compute_values(self, batch, embeddings=None):
        return batch["obs"].sum(-1) * 0.1


def vec(*numbers):
    return np.array(numbers, np.float32)


def one(name, steps, done):
    made = SingleAgentEpisode(id_=name, observation_space=BOX, action_space=ACT)
    made.add_env_reset(observation=vec(steps, 0))
    for t in range(1, steps + 1):
        made.add_env_step(
            observation=vec(t, 1 - 2 * t),
            action=t % 3,
            reward=0.5 * t - 1,
            terminated=done == "term" and t == steps,
            truncated=done == "trunc" and t == steps,
            extra_model_outputs={"action_logp": -0.1 * t},
        )
    return made.to_numpy()


def two(name, steps):
    made = MultiAgentEpisode(id_=name, agent_to_module_mapping_fn=lambda a, e: f"p_{a}")
    made.add_env_reset(observations={"a": vec(1, 0), "b": vec(0, 1)})
    for t in range(1, steps + 1):
        made.add_env_step(
            observations={"a": vec(t, 1), "b": vec(-t, 2)},
            actions={"a": t % 3, "b": (t + 1) % 3},
            rewards={"a": 0.5 * t, "b": -1.0 * t},
            terminateds={"__all__": t == steps},
            extra_model_outputs={"a": {"action_logp": -0.1 * t}, "b": {"action_logp": -0.2 * t}},
        )
    return made.to_numpy()


def single():
    episodes = [one("x", 3, "term"), one("y", 4, None), one("z", 2, "trunc")]
    return learner_pipeline(BOX, ACT), ["default_policy"], episodes


def several():
    ids = ["p_a", "p_b"]
    spaces = Dict({"a": BOX, "b": BOX}), Dict({"a": ACT, "b": ACT})
    agents = AgentMapping(ids, lambda agent_id, episode: f"p_{agent_id}")
    return learner_pipeline(*spaces, agents=agents), ids, [two("M0", 3)]


@pytest.mark.parametrize("sample", [single, several])
def test_train_batches_are_rays(sample):
    """The same columns with the same rows, advantages and targets among them."""
    pipeline, ids, episodes = sample()
    pipeline.prepend(AddOneTsToEpisodesAndTruncate())
    pipeline.append(GeneralAdvantageEstimation(gamma=0.95, lambda_=0.9))
    spec = RLModuleSpec(
        module_class=Tenth, observation_space=BOX, action_space=ACT, model_config={}
    )
    modules = MultiRLModule(rl_module_specs=dict.fromkeys(ids, spec))
    recorded = json.loads(GOLDEN.read_text(encoding="utf-8"))[sample.__name__]

    batch = pipeline(rl_module=modules, batch={}, episodes=episodes, explore=False)

    assert {key: set(own) for key, own in batch.items()} == {
        key: set(own) for key, own in recorded.items()
    }
    for module_id, columns in recorded.items():
        own = batch[module_id]
        count = len(own["obs"])
        order = np.lexsort(own["obs"].numpy().T) if len(ids) > 1 else np.arange(count)
        for column, rows in columns.items():
            np.testing.assert_allclose(
                own[column].numpy()[order], rows, rtol=1e-5, atol=1e-5, err_msg=column
            )
