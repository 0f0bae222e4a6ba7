"""A user's script over the whole front: `mypy --strict` passes it without a cast."""

from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np
import rlconnect
from rlconnect import LoadedPolicy, adapters
from rlconnect.legacy import ClipRewardAgentConnector, ConnectorContext, Policy, SampleBatch
from rlconnect.legacy import local_policy_inference as infer
from rlconnect.v2 import (
    Algorithm,
    ConnectorV2,
    EnvToModulePipeline,
    FlattenObservations,
    PPOConfig,
    RLlibCallback,
    SingleAgentEpisode,
)
from rlconnect.v2 import tuning as tune


class Halve(ConnectorV2):
    def __call__(
        self, *, batch: dict[str, Any], episodes: list[SingleAgentEpisode], **more: Any
    ) -> dict[str, Any]:
        for episode in self.single_agent_episode_iterator(episodes):
            halved = np.asarray(episode.get_observations(-1)) / 2
            episode.set_observations(new_data=halved, at_indices=-1)
        return batch


class Report(RLlibCallback):
    def on_episode_end(self, *, episode: SingleAgentEpisode, **more: Any) -> None:
        print(len(episode), episode.get_return())


def walk(path: str, new: str) -> LoadedPolicy:
    env = gym.make("CartPole-v1")
    observation, _ = env.reset(seed=0)
    policies = rlconnect.load(path)
    policy = policies.only
    print(list(policies), policy.act(observation), policy.action_space, policy.stages(observation))
    adapted = rlconnect.adapt(policy, env=env, obs=adapters.SelectFeatures([0, 1, 2, 3]))
    adapted.save(new)
    plan = rlconnect.migrate(path, out=new)
    verdict = rlconnect.verify(path, new, samples=4)
    print(plan, verdict.is_equal, rlconnect.rollout(policy, env, episodes=2).returns)
    print(rlconnect.export(policy, "policy.onnx")["name"], rlconnect.convert(path, new))
    print(rlconnect.suggest_adapter(path, env).questions, rlconnect.Actor.from_checkpoint(path))
    old = rlconnect.load(path, "default_policy").native
    return adapted if isinstance(old, Policy) else policies["default_policy"]


def train() -> Algorithm:
    config = (
        PPOConfig()
        .environment("CartPole-v1", env_config={"length": 2})
        .env_runners(num_env_runners=0, env_to_module_connector=lambda env, spaces, device: Halve())
        .training(lr=[[0, 1e-3], [1e5, 1e-4]], gamma=0.9, clip_param=0.2, minibatch_size=None)
        .rl_module(model_config={"fcnet_hiddens": [16]})
        .callbacks(Report)
        .debugging(seed=1)
    )
    algorithm = config.copy().training(lr=tune.loguniform(1e-4, 1e-2)).build_algo()
    print(algorithm.train()["env_runners"]["episode_return_mean"], algorithm.get_module())
    return algorithm


def step(policy: Policy, weights: Mapping[str, np.ndarray[Any, Any]]) -> int:
    policy.set_weights(weights)
    clip = ClipRewardAgentConnector(ConnectorContext.from_policy(policy), limit=1.0)
    ((action, state, fetches),) = infer(policy, "env", "agent", [0.0] * 4, explore=False)
    print(clip, state, fetches["vf_preds"], SampleBatch({"obs": [[0.0] * 4]}).count)
    return int(action)


pipeline = EnvToModulePipeline(connectors=[FlattenObservations()])
pipeline.prepend(Halve())
episode = SingleAgentEpisode(observations=[np.zeros(4)] * 2, actions=[0], rewards=[1.0])
print(pipeline(episodes=[episode], batch={}, rl_module=None), episode.get_return())
