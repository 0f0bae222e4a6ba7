"""Several legacy policies act for several agents in the new stack."""

import numpy as np
import pytest
from gymnasium import spaces
from rlconnect.bridge import policy_to_v2, use_policy
from rlconnect.legacy import (
    Policy,
    create_connectors_for_policy,
    local_policy_inference,
)
from rlconnect.v2 import MultiAgentEnv, MultiAgentEnvRunner, MultiAgentEpisode, PPOConfig

BOX = spaces.Box(-1, 1, (3,), np.float32)
LSTM = {"use_lstm": True, "lstm_cell_size": 4, "lstm_use_prev_action": True, "max_seq_len": 4}
AGENTS = ("one", "two", "three")
OBSERVED = spaces.Dict({"one": BOX, "two": spaces.Discrete(5), "three": spaces.Discrete(5)})
ACTED = spaces.Dict(dict.fromkeys(AGENTS, spaces.Discrete(2)))


def made(space, **model):
    spec = (space, spaces.Discrete(2), {"seed": 5, "model": {"fcnet_hiddens": [6], **model}})
    raw = Policy(*spec) if isinstance(space, spaces.Box) else None
    if raw is None:
        flat = spaces.Box(0, 1, (5,), np.float32)
        flat.original_space = space
        spec = (flat, *spec[1:])
        raw = Policy(*spec)
    policy = Policy(*spec, weights=raw.get_weights())
    create_connectors_for_policy(policy, policy.config)
    return policy


def mapped(agent_id, episode=None, **kwargs):
    return "wide" if agent_id == "one" else "small"


@pytest.fixture
def policies():
    return {"wide": made(BOX, **LSTM), "small": made(spaces.Discrete(5))}


class Crowd(MultiAgentEnv):
    """Three agents; the third one rests in every other step."""

    def __init__(self, config=None):
        super().__init__()
        self.agents = self.possible_agents = list(AGENTS)
        self.observation_spaces = dict(OBSERVED.spaces)
        self.action_spaces = dict(ACTED.spaces)
        self.draws = np.random.default_rng(0)

    def _seen(self):
        who = AGENTS if self.t % 2 == 0 else AGENTS[:2]
        return {
            agent: self.draws.uniform(-1, 1, 3).astype(np.float32)
            if agent == "one"
            else int(self.draws.integers(5))
            for agent in who
        }

    def reset(self, *, seed=None, options=None):
        self.t = 0
        return self._seen(), {}

    def step(self, actions):
        self.t += 1
        seen = self._seen()
        over = self.t == 9
        rewards = {agent: float(self.t) for agent in seen}
        return seen, rewards, {"__all__": over}, {"__all__": False}, {}


def test_by_hand(policies):
    """Each agent gets what its own policy answers, state and earlier actions included."""
    env_to_module, module, module_to_env = policy_to_v2(
        policies,
        agent_to_module_mapping_fn=mapped,
        observation_space=OBSERVED,
        action_space=ACTED,
    )
    env = Crowd()
    episode = MultiAgentEpisode(
        observation_space=OBSERVED, action_space=ACTED, agent_to_module_mapping_fn=mapped
    )
    seen, _ = env.reset()
    episode.add_env_reset(observations=seen)
    rewards, shared = {}, {}

    for _ in range(8):
        wanted = {
            agent: local_policy_inference(
                policies[mapped(agent)], "e", agent, own, rewards.get(agent), explore=False
            )[0]
            for agent, own in seen.items()
        }
        told = {"rl_module": module, "episodes": [episode], "explore": False}
        batch = env_to_module(batch={}, shared_data=shared, **told)
        answers = module_to_env(batch=module.forward_inference(batch), shared_data=shared, **told)
        actions = answers.pop("actions")[0]
        for_env = answers.pop("actions_for_env")[0]
        for agent, (action, _, fetches) in wanted.items():
            assert int(for_env[agent]) == int(action)
            np.testing.assert_allclose(
                answers["action_dist_inputs"][0][agent],
                fetches["action_dist_inputs"],
                rtol=1e-5,
                atol=1e-6,
            )
        outputs = {
            agent: {
                name: column[0][agent] for name, column in answers.items() if agent in column[0]
            }
            for agent in actions
        }
        seen, rewards, *_ = env.step(for_env)
        episode.add_env_step(seen, actions, rewards, extra_model_outputs=outputs)

    assert module.is_stateful()
    assert env_to_module.connectors[1].observation_space["two"].shape == (5,)


def test_in_a_runner_and_a_learner(policies):
    """A runner of several agents acts with them, and a learner changes both networks."""
    config = (
        PPOConfig()
        .environment(Crowd)
        .multi_agent(policies={"wide", "small"}, policy_mapping_fn=mapped)
        .training(train_batch_size=32, minibatch_size=16, num_epochs=1, lr=0.01)
        .debugging(seed=0)
    )
    config = use_policy(config, policies)
    runner = MultiAgentEnvRunner(config=config)

    episodes = runner.sample(num_episodes=2)
    learner = config.build_learner(env=runner.env, spaces=runner.get_spaces())
    before = learner.module.get_state()
    learner.update(episodes=episodes)

    after = learner.module.get_state()
    for name in policies:
        changed = [
            weight
            for weight in before[name]
            if not np.array_equal(before[name][weight], after[name][weight])
        ]
        assert changed, name
    assert {len(episode) for episode in episodes} == {9}
