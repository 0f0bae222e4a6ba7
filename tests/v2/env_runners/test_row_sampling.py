"""Sampling in rows gives the episodes, states and metrics that sampling step by step gives."""

import gymnasium as gym
import numpy as np
import pytest
import torch
from rlconnect.core import nest
from rlconnect.core.arrays.compare import differences
from rlconnect.core.errors import EpisodeError, SpaceError
from rlconnect.v2 import (
    ConnectorV2,
    DefaultCallbacks,
    DefaultModelConfig,
    PPOConfig,
    RLModuleSpec,
    SingleAgentEnvRunner,
    TorchRLModule,
)
from rlconnect.v2.env_runners.step_block import StepBlock

from .counting import Count


class Spread(gym.Env):
    """Box actions, observations drawn by the environment, episodes of random length."""

    observation_space = gym.spaces.Box(-1, 1, (3,), np.float32)
    action_space = gym.spaces.Box(-2, 2, (2,), np.float32)

    def __init__(self, config=None):
        super().__init__()

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.np_random.uniform(-1, 1, 3).astype("f4"), {"first": True}

    def step(self, action):
        seen = self.np_random.uniform(-1, 1, 3).astype("f4")
        end = self.np_random.random()
        return seen, float(np.sum(action)), end < 0.2, 0.2 <= end < 0.3, {"end": end}


class Numbered(Count):
    """Observations that are numbers."""

    def __init__(self, config=None):
        super().__init__(config)
        self.observation_space = gym.spaces.Discrete(50)

    def reset(self, **kwargs):
        return 0, super().reset(**kwargs)[1]

    def step(self, action):
        return int(self.time), *super().step(action)[1:]


class Table(TorchRLModule):
    """One row of inputs for each number."""

    def setup(self):
        self.rows = torch.nn.Embedding(50, 3)

    def _forward(self, batch, **kwargs):
        return {"action_dist_inputs": self.rows(batch["obs"])}


class Parts(Spread):
    """Observations in parts."""

    observation_space = gym.spaces.Dict(
        {"near": Spread.observation_space, "at": gym.spaces.Discrete(9)}
    )

    def seen(self, near):
        return {"near": near, "at": int(self.np_random.integers(9))}

    def reset(self, **kwargs):
        near, info = super().reset(**kwargs)
        return self.seen(near), info

    def step(self, action):
        near, *others = super().step(action)
        return self.seen(near), *others


class OfParts(TorchRLModule):
    """Acts on both parts."""

    def setup(self):
        self.layer = torch.nn.Linear(4, 4)

    def _forward(self, batch, **kwargs):
        parts = batch["obs"]
        joined = torch.cat([parts["near"], parts["at"][:, None].float()], -1)
        return {"action_dist_inputs": self.layer(joined)}


class Looking(DefaultCallbacks):
    """Somebody who looks at running episodes: no step may wait."""

    def on_episode_step(self, *, episode, **kwargs):
        episode.get_observations(-1)


class Moody(TorchRLModule):
    """Gives one output more now and then."""

    def setup(self):
        self.calls = 0
        self.layer = torch.nn.Linear(2, 3)

    def _forward(self, batch, **kwargs):
        self.calls += 1
        inputs = self.layer(batch["obs"])
        if self.calls % 5:
            return {"action_dist_inputs": inputs}
        return {"action_dist_inputs": inputs, "more": inputs.sum(-1)}


def sampled(env, calls, *, looks, envs=3, model=None, kind=None, random=False, **settings):
    config = (
        PPOConfig()
        .environment(env, env_config=settings.pop("env_config", {}))
        .env_runners(num_envs_per_env_runner=envs, **settings)
        .debugging(seed=7)
        .rl_module(
            rl_module_spec=RLModuleSpec(
                module_class=kind, model_config=model or DefaultModelConfig(fcnet_hiddens=[8])
            )
        )
        .fault_tolerance(restart_failed_sub_environments=True)
    )
    if looks:
        config = config.callbacks(Looking)
    runner = SingleAgentEnvRunner(config=config)
    made = [runner.sample(random_actions=random, **call) for call in calls]
    runner.stop()
    return runner, made


def facts(episode):
    return {
        "obs": episode.observations.data,
        "actions": episode.actions.data,
        "rewards": episode.rewards.data,
        "infos": list(episode.infos.data),
        "outputs": {key: own.data for key, own in episode.extra_model_outputs.items()},
        "lookback": [episode.observations.lookback, episode.actions.lookback],
        "times": [episode.t_started, episode.t, len(episode)],
        "ends": [episode.is_terminated, episode.is_truncated],
        "is_numpy": [episode.is_numpy, episode.actions.finalized, episode.rewards.finalized],
    }


def dtypes(episode):
    columns = (episode.observations, episode.actions, episode.rewards)
    return [leaf.dtype for column in columns for leaf in nest.flatten(column.data)]


RETURNS = ("episode_return_mean", "episode_return_min", "episode_len_max")
CALLS = [{"num_timesteps": 20}, {"num_timesteps": 31}, {"num_timesteps": 1}, {"num_timesteps": 50}]
CASES = {
    "dense": (Spread, CALLS, {}),
    "best_actions": (Spread, [{**call, "explore": False} for call in CALLS], {}),
    "recurrent": (Spread, CALLS, {"model": DefaultModelConfig(use_lstm=True, lstm_cell_size=4)}),
    "one": (Spread, CALLS, {"envs": 1}),
    "random": (Spread, CALLS, {"random": True}),
    "parts": (Parts, CALLS, {"kind": OfParts}),
    "parts_at_random": (Parts, CALLS, {"kind": OfParts, "random": True}),
    "numbers": (Numbered, CALLS, {"kind": Table}),
    "whole_episodes": (Count, [{"num_episodes": 4}, {"num_episodes": 5}], {}),
    "cut_off": (Count, CALLS, {"env_config": {"truncate": True}}),
    "lists": (Spread, CALLS, {"episodes_to_numpy": False}),
    "lookback": (Spread, CALLS, {"episode_lookback_horizon": 4}),
    "own_vector": ("CartPole-v1", CALLS, {"gym_env_vectorize_mode": "vector_entry_point"}),
    "own_vector_at_random": (
        "CartPole-v1",
        CALLS,
        {"gym_env_vectorize_mode": "vector_entry_point", "random": True},
    ),
    "processes": ("CartPole-v1", CALLS, {"gym_env_vectorize_mode": "async", "envs": 2}),
    "failing": (Count, CALLS, {"env_config": {"raise_at": (2, 2)}}),
    "failing_at_random": (Count, CALLS, {"env_config": {"raise_at": (2, 2)}, "random": True}),
}


@pytest.mark.parametrize("name", CASES)
def test_rows_and_steps_give_the_same(name):
    """Episodes, their columns and dtypes, what is drawn, and what is counted do not differ."""
    if name.startswith("own_vector") and gym.__version__.startswith("0."):
        pytest.skip("gymnasium 0.29's own vector of CartPoles keeps no last observation")
    env, calls, settings = CASES[name]
    in_rows, fast = sampled(env, calls, looks=False, **settings)
    by_step, slow = sampled(env, calls, looks=True, **settings)

    for mine, theirs in zip(fast, slow, strict=True):
        assert len(mine) == len(theirs)
        for one, other in zip(mine, theirs, strict=True):
            assert differences(facts(one), facts(other), rtol=1e-6, atol=1e-6) == []
            if name != "lists":
                assert dtypes(one) == dtypes(other)
    counted = [runner.get_metrics() for runner in (in_rows, by_step)]
    for key in ("num_env_steps_sampled_lifetime", "num_episodes", *RETURNS):
        mine, theirs = (each[key].peek() for each in counted)
        assert mine == pytest.approx(theirs)


@pytest.mark.parametrize(("looks", "is_in_rows"), [(False, True), (True, False)])
@pytest.mark.parametrize(("env", "kind"), [(Spread, None), (Parts, OfParts)])
def test_rows_are_for_episodes_nobody_looks_at(env, kind, looks, is_in_rows, monkeypatch):
    """Steps go in rows without hooks, and one by one where a hook sees each."""
    added = []
    add = StepBlock.add
    monkeypatch.setattr(StepBlock, "add", lambda *args: added.append(1) or add(*args))

    sampled(env, CALLS, looks=looks, kind=kind)

    assert bool(added) == is_in_rows


def test_a_users_piece_sees_each_step():
    """With a piece of the user's in a pipeline nothing waits: it sees each observation."""
    seen = []

    class Watch(ConnectorV2):
        def __call__(self, *, episodes, batch, **kwargs):
            seen.append([len(episode) for episode in episodes])
            return batch

    config = (
        PPOConfig()
        .environment(Count)
        .env_runners(env_to_module_connector=lambda env, spaces, device: Watch())
    )
    SingleAgentEnvRunner(config=config).sample(num_timesteps=3)

    assert seen[:4] == [[0], [1], [2], [3]]


def test_what_rows_do_not_take_goes_step_by_step():
    """A module with other outputs now and then fails in the same way as step by step."""
    config = (
        PPOConfig().environment(Count).rl_module(rl_module_spec=RLModuleSpec(module_class=Moody))
    )

    def error(looks):
        own = config.copy(copy_frozen=False)
        own = own.callbacks(Looking) if looks else own
        with pytest.raises(EpisodeError, match="same extra model outputs") as found:
            SingleAgentEnvRunner(config=own).sample(num_timesteps=20)
        return found.value.found

    assert error(looks=False) == error(looks=True)


def test_a_bad_observation_is_told_when_the_module_cannot_act():
    """The episodes have their steps when an error is explained."""
    config = PPOConfig().environment(Count, env_config={"nan_at": (1, 2)})
    runner = SingleAgentEnvRunner(config=config)
    with pytest.raises(SpaceError, match="not finite"):
        runner.sample(num_timesteps=20)
