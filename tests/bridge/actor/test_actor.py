"""One object acts for any checkpoint as its Ray did, alone, in batches and for many agents."""

import copy
import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor

import gymnasium as gym
import numpy as np
import pytest
import rlconnect
import torch
from gymnasium import spaces
from rlconnect.bridge import Actor, SlowPieceWarning, adapt
from rlconnect.bridge.rollout import rollout
from rlconnect.core.adapters import DropFeatures, ExtendAction, StackFrames
from rlconnect.core.errors import PieceError, SpaceError, UnknownNameError
from rlconnect.core.formulas.actions import unsquash_action
from rlconnect.core.formulas.preprocessors import preprocessor_for
from rlconnect.core.step.part import Contribution, Part
from rlconnect.legacy import (
    AgentConnector,
    AgentConnectorDataType,
    Policy,
    batch_policy_inference,
    create_connectors_for_policy,
)

from tests.legacy.replay import GOLDEN, Recording, folders, gap, leaves
from tests.legacy.test_recordings import MODELS

CASES = folders(GOLDEN / "legacy")
LSTM = GOLDEN / "legacy" / "2.7.2" / "ppo_lstm_prev" / "algo_checkpoint"
PENDULUM = GOLDEN / "legacy" / "2.7.2" / "ppo_pendulum_norm_meanstd" / "algo_checkpoint"
MANY = GOLDEN / "legacy" / "2.7.2" / "ppo_multiagent" / "algo_checkpoint"


def quiet(make, *args, **options):
    """An actor whose connectors may lack a batched form."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SlowPieceWarning)
        return make(*args, **options)


def made(observation_space, action_space, **config):
    """A fresh policy with its default connectors."""
    policy = Policy(observation_space, action_space, {"seed": 3, **config})
    create_connectors_for_policy(policy, policy.config)
    return policy


@pytest.mark.parametrize("folder", CASES, ids=[f"{f.parent.name}/{f.name}" for f in CASES])
def test_an_actor_acts_as_recorded(folder):
    """Step by step the actions are those real Ray handed to its environment."""
    recording = Recording(folder)
    for policy_id in recording.policy_ids:
        actor = quiet(Actor.from_policy, recording.load(policy_id, custom_models=MODELS))
        wanted = recording.rows(policy_id, "out")
        compared = 0

        for step, env_id, starts, obs, keywords in recording.steps(policy_id):
            if starts:
                actor.reset(env_id)
            reward = keywords.get("reward")
            action = actor.act(obs, env_ids=env_id, agent_ids="0", reward=reward)
            for path, value in leaves({"actions": action}):
                if step in wanted[path]:
                    is_early = recording.release < (2, 1)
                    why = gap(wanted[path][step], value, is_batched=is_early)
                    assert not why, (recording.name, step, path, why)
                    compared += 1

        assert compared >= recording.meta["policies"][policy_id]["num_steps"] // 2


@pytest.mark.parametrize("folder", CASES, ids=[f"{f.parent.name}/{f.name}" for f in CASES])
def test_an_actor_fetches_as_recorded(folder):
    """What the network gave beside the actions is what real Ray fetched."""
    recording = Recording(folder)
    for policy_id in recording.policy_ids:
        actor = quiet(Actor.from_policy, recording.load(policy_id, custom_models=MODELS))
        plain = quiet(Actor.from_policy, recording.load(policy_id, custom_models=MODELS))
        wanted = recording.rows(policy_id, "out")
        compared = 0

        for step, env_id, starts, obs, keywords in recording.steps(policy_id):
            if starts:
                actor.reset(env_id)
                plain.reset(env_id)
            asked = {"env_ids": env_id, "agent_ids": "0", "reward": keywords.get("reward")}
            action, fetches = actor.act_and_fetch(obs, **asked)
            same = plain.act(obs, **asked)
            for path, value in leaves({"fetches": fetches}):
                if step in wanted[path]:
                    is_early = recording.release < (2, 1)
                    why = gap(wanted[path][step], value, is_batched=is_early)
                    assert not why, (recording.name, step, path, why)
                    compared += 1
            for (path, mine), (_, its) in zip(leaves(action), leaves(same), strict=True):
                assert not gap(mine, its), (recording.name, step, path)

        assert {f"fetches.{name}" for name in fetches} == {
            path for path in wanted if path.startswith("fetches.")
        }
        assert compared >= recording.meta["policies"][policy_id]["num_steps"] // 2


@pytest.mark.parametrize("size", [1, 7, 1500])
@pytest.mark.parametrize("path", [PENDULUM, LSTM], ids=["pendulum", "lstm"])
def test_a_batch_gets_what_each_row_gets_alone(path, size, rng):
    """Rows do not touch each other, be the network numpy's or torch's."""
    actor = Actor.from_checkpoint(path)
    alone = Actor.from_checkpoint(path)
    obs = rng.normal(size=(3, size, *actor.observation_space.shape)).astype(np.float32)
    reward = rng.normal(size=(3, size))
    looked_at = range(0, size, max(1, size // 7))

    for step in range(3):
        told = None if step == 0 else reward[step]
        actions = actor.act(obs[step], reward=told)
        for row in looked_at:
            earned = None if told is None else told[row]
            single = alone.act(obs[step, row], env_ids=row, reward=earned)
            assert np.allclose(actions[row], single, atol=1e-5)


def test_actions_are_those_of_the_pipelines(rng):
    """A random course through the connectors and through the actor is one and the same."""
    policy = Policy.from_checkpoint(LSTM)["default_policy"]
    actor = Actor.from_policy(policy)
    ids = [f"env-{n}" for n in range(6)]
    for step in range(5):
        obs = rng.normal(size=(6, *actor.observation_space.shape)).astype(np.float32)
        reward = None if step == 0 else rng.normal(size=6)

        actions = actor.act(obs, env_ids=ids, reward=reward)

        wanted = batch_policy_inference(policy, ids, ["agent"] * 6, obs, reward, explore=False)
        assert np.array_equal(actions, [action for action, _, _ in wanted])


@pytest.mark.parametrize("autoreset", ["next_step", "same_step"])
def test_ended_slots_begin_anew(autoreset, rng):
    """A slot whose episode ended acts as a new one does: at once, or after its last observation."""
    actor, fresh = (Actor.from_checkpoint(LSTM) for _ in range(2))
    actor.autoreset = autoreset
    shape = actor.observation_space.shape
    obs = rng.normal(size=(4, 2, *shape)).astype(np.float32)
    zeros, end = np.zeros(2), np.array([False, True])
    for step in range(3):
        actor.act(obs[step], reward=zeros)

    if autoreset == "next_step":
        actor.act(obs[3], reward=zeros, terminated=end)
        actor.act(obs[0], reward=zeros)
    else:
        actor.act(obs[0], reward=zeros, truncated=end)
    fresh.act(obs[0], reward=zeros)

    states = [each.state_dict()["default_policy"]["memory"] for each in (actor, fresh)]
    for mine, its in zip(*states, strict=True):
        assert np.allclose(mine[1], its[1], atol=1e-6)
    assert not all(np.allclose(mine[0], its[0]) for mine, its in zip(*states, strict=True))


def test_a_state_goes_on_elsewhere(rng):
    """state_dict() holds all that matters: another actor goes on with it as this one does."""
    actor, other = (Actor.from_checkpoint(LSTM) for _ in range(2))
    obs = rng.normal(size=(3, 4, *actor.observation_space.shape)).astype(np.float32)
    actor.act(obs[0])
    actor.act(obs[1], reward=np.ones(4))

    other.load_state_dict(actor.state_dict())

    mine, its = (each.act(obs[2], reward=np.ones(4)) for each in (actor, other))
    assert np.array_equal(mine, its)
    with pytest.raises(PieceError, match="another policy"):
        other.load_state_dict({"default_policy": {"slots": [], "first": [], "memory": []}})


@pytest.mark.parametrize("path", [PENDULUM, LSTM], ids=["pendulum", "lstm"])
def test_an_actor_travels_and_is_saved(path, tmp_path, rng):
    """A pickle goes on with its episodes; a saved one begins anew with the same policy."""
    actor = Actor.from_checkpoint(path)
    obs = rng.normal(size=(2, 5, *actor.observation_space.shape)).astype(np.float32)
    first = actor.act(obs[0])

    twin = pickle.loads(pickle.dumps(actor))
    actor.save(tmp_path / "saved")
    loaded = Actor.from_checkpoint(tmp_path / "saved")

    assert np.array_equal(loaded.act(obs[0]), first)
    reward = np.ones(5)
    assert np.array_equal(twin.act(obs[1], reward=reward), actor.act(obs[1], reward=reward))


def test_threads_share_an_actor(rng):
    """Each thread's slot has its own history; the answers are those of one thread."""
    actor, alone = (Actor.from_checkpoint(LSTM) for _ in range(2))
    obs = rng.normal(size=(8, 12, *actor.observation_space.shape)).astype(np.float32)

    def played(by, slot):
        return [
            int(by.act(seen, env_ids=slot, reward=None if step == 0 else 0.5))
            for step, seen in enumerate(obs[slot])
        ]

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda slot: played(actor, slot), range(8)))

    assert found == [played(alone, slot) for slot in range(8)]


def test_several_policies_play_their_agents(rng, tmp_path):
    """A dict from agents to observations gets one action each, from the policy meant for it."""
    policies = Policy.from_checkpoint(MANY)
    names = sorted(policies)
    mapping = {"left": names[0], "right": names[1]}
    actor = Actor.from_checkpoint(MANY, policy_mapping_fn=lambda agent, *_, **__: mapping[agent])
    shapes = {agent: policies[name].observation_space.shape for agent, name in mapping.items()}
    obs = {agent: rng.normal(size=shape).astype(np.float32) for agent, shape in shapes.items()}

    actions = actor.act(obs)

    for agent, name in mapping.items():
        wanted = Actor.from_policy(policies[name]).act(obs[agent])
        assert np.array_equal(actions[agent], wanted)
    rows = actor.act([obs["right"], obs["left"]], agent_ids=["right", "left"])
    assert np.array_equal(rows[0], actions["right"])
    assert np.array_equal(rows[1], actions["left"])
    actor.save(tmp_path / "both")
    again = Actor.from_checkpoint(tmp_path / "both").act(obs)
    assert all(np.array_equal(again[agent], actions[agent]) for agent in mapping)
    by_name = Actor.from_policy(policies)
    assert np.array_equal(by_name.act({names[0]: obs["left"]})[names[0]], actions["left"])
    with pytest.raises(UnknownNameError, match="no policy plays agent 'left'"):
        by_name.act(obs)
    with pytest.raises(PieceError, match="the agent of this observation is unknown"):
        actor.act(obs["left"])


def test_an_adapted_policy_acts_in_the_changed_environment(rng):
    """The adapter is part of the step, in batches as alone, with its memory a row a slot."""
    policy = made(spaces.Box(-1, 1, (4,)), spaces.Box(-2, 2, (1,)))
    wide = spaces.Box(-1, 1, (3,), np.float32)
    adapted = adapt(
        policy,
        observation_space=wide,
        action_space=spaces.Box(-2, 2, (2,), np.float32),
        obs=[DropFeatures([2]), StackFrames(2)],
        action=ExtendAction([0.0]),
    )
    actor, alone = Actor.from_policy(adapted), Actor.from_policy(adapted)
    obs = rng.uniform(-1, 1, size=(4, 6, 3)).astype(np.float32)

    assert not actor.missing
    for step in range(4):
        actions = actor.act(obs[step])
        assert actions.shape == (6, 2)
        for row in range(6):
            assert np.allclose(actions[row], alone.act(obs[step, row], env_ids=row), atol=1e-6)


def test_a_piece_without_a_batched_form_is_named():
    """An actor never gets slower in silence."""
    policy = Recording(GOLDEN / "legacy" / "2.7.2" / "ppo_lambda_connectors").load("default_policy")

    with pytest.warns(SlowPieceWarning, match="HalveObs"):
        actor = Actor.from_policy(policy)

    assert actor.missing == {"default_policy": ("HalveObs", "ShiftAction")}


def test_odd_requests_are_refused(rng):
    """What cannot be meant is said at once, in the words of the caller."""
    actor = Actor.from_checkpoint(LSTM)
    shape = actor.observation_space.shape
    obs = np.zeros((3, *shape), np.float32)
    actor.act(obs)

    with pytest.raises(SpaceError, match="not of the actor's space"):
        actor.act(np.zeros((3, 2, *shape), np.float32))
    with pytest.raises(SpaceError, match="not of the actor's space"):
        actor.act(["a", "b"])
    with pytest.raises(PieceError, match="sees rewards"):
        actor.act(obs)
    with pytest.raises(PieceError, match="stands twice"):
        actor.act(obs, env_ids=[1, 1, 2])
    with pytest.raises(PieceError, match="do not name each row"):
        actor.act(obs, env_ids=[1, 2])


@pytest.mark.parametrize("is_one_core", [True, False])
def test_large_batches_are_as_small_ones(is_one_core, monkeypatch, rng):
    """Whichever of numpy and torch computes them."""
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1 if is_one_core else 2)
    seen, acted = spaces.Box(-1, 1, (5,), np.float32), spaces.Box(-2, 2, (3,), np.float32)
    actor = Actor.from_policy(made(seen, acted))
    obs = rng.uniform(-1, 1, (2500, 5)).astype(np.float32)

    found = actor.act(obs)

    wanted = np.concatenate([actor.act(obs[at : at + 500]) for at in range(0, 2500, 500)])
    np.testing.assert_allclose(found, wanted, atol=1e-5)


ARM = spaces.Box(-2, 2, (3,), np.float32)
HEADS = {
    "categorical": ("PPO", spaces.Discrete(5), {}),
    "dueling": ("DQN", spaces.Discrete(5), {}),
    "dueling without layers": ("DQN", spaces.Discrete(5), {"hiddens": []}),
    "dueling, too wide for one product": ("DQN", spaces.Discrete(5), {"hiddens": [200, 200]}),
    "plain": ("DQN", spaces.Discrete(5), {"dueling": False}),
    "distributional": ("DQN", spaces.Discrete(5), {"num_atoms": 7, "noisy": True}),
    "by temperature": ("DQN", spaces.Discrete(5), {"categorical_distribution_temperature": 0.1}),
    "simple": ("SimpleQ", spaces.Discrete(5), {}),
    "squashed": ("DDPG", ARM, {}),
    "gaussian": ("SAC", ARM, {}),
}


@pytest.mark.parametrize("width", [5, 100])
@pytest.mark.parametrize("head", HEADS)
def test_every_head_is_computed_as_its_policy_does(head, width, rng):
    """From observations straight to actions, by columns where they are narrow, or by torch."""
    algorithm, acted, config = HEADS[head]
    seen = spaces.Box(-1, 1, (width,), np.float32)
    policy = Policy(seen, acted, {"seed": 3, **config}, algorithm=algorithm)
    fresh = policy.get_weights()  # whose answers hardly differ
    policy.set_weights(
        {
            n: w if w.ndim < 2 else rng.normal(size=w.shape, scale=2 / w.shape[-1] ** 0.5)
            for n, w in fresh.items()
        }
    )
    create_connectors_for_policy(policy, policy.config)
    actor = Actor.from_policy(policy)
    assert actor.only.plan.brain.quick(1) is not None

    for rows in (1, 60, 300, 1500):
        obs = rng.uniform(-1, 1, (rows, width)).astype(np.float32)
        wanted = policy.compute_actions(obs, explore=False)[0]
        if acted is ARM:
            wanted = unsquash_action(wanted, acted)
        np.testing.assert_allclose(actor.act(obs), wanted, atol=1e-5, rtol=1e-4)


def test_explored_steps_are_kept(tmp_path):
    """By a state, a pickle and a saved actor: the policy's epsilon goes on where it was."""
    explores = {"type": "EpsilonGreedy", "initial_epsilon": 1.0, "final_epsilon": 0.0}
    config = {"seed": 0, "exploration_config": {**explores, "epsilon_timesteps": 100}}
    policy = Policy(spaces.Box(-1, 1, (4,)), spaces.Discrete(5), config, algorithm="DQN")
    create_connectors_for_policy(policy, policy.config)
    actor, told = Actor.from_policy(policy), Actor.from_policy(policy)
    obs = np.zeros((100, 4), np.float32)
    assert len(set(actor.act(obs, explore=True).tolist())) > 1

    actor.save(tmp_path / "saved")
    told.load_state_dict(actor.state_dict())

    saved = Actor.from_checkpoint(tmp_path / "saved")
    for each in (told, saved, pickle.loads(pickle.dumps(actor))):
        assert each.only.timestep == 100
        assert np.array_equal(each.act(obs, explore=True), each.act(obs))


def test_exploring_follows_the_seed():
    """The same seed explores alike, another one does not; sampled actions vary."""
    actor = Actor.from_policy(made(spaces.Box(-1, 1, (4,)), spaces.Discrete(5)))
    obs = np.zeros((64, 4), np.float32)

    first, again, other = (actor.act(obs, explore=True, seed=seed) for seed in (1, 1, 2))

    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert len(set(first.tolist())) > 1


class Counting(gym.Env):
    """Ten steps, each worth one; what is seen is the number of the step."""

    observation_space = spaces.Box(-1, 20, (4,), np.float32)
    action_space = spaces.Discrete(2)

    def __init__(self, length=10):
        self.length = length

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at = 0
        return np.zeros(4, np.float32), {}

    def step(self, action):
        assert action in (0, 1)
        self.at += 1
        return np.full(4, self.at, np.float32), 1.0, self.at == self.length, False, {}


class Parallel:
    """Two agents in PettingZoo's parallel form; one leaves earlier."""

    possible_agents = ("a", "b")

    def observation_space(self, agent):
        return Counting.observation_space

    def action_space(self, agent):
        return Counting.action_space

    def reset(self, seed=None, options=None):
        self.agents, self.at = list(self.possible_agents), 0
        return {agent: np.zeros(4, np.float32) for agent in self.agents}, {"a": {}, "b": {}}

    def step(self, actions):
        assert set(actions) == set(self.agents)
        self.at += 1
        seen = {agent: np.full(4, self.at, np.float32) for agent in self.agents}
        ends = {agent: self.at == {"a": 3, "b": 5}[agent] for agent in self.agents}
        rewards = dict.fromkeys(self.agents, 1.0)
        cut = dict.fromkeys(self.agents, False)
        infos = {agent: {} for agent in self.agents}
        self.agents = [agent for agent in self.agents if not ends[agent]]
        return seen, rewards, ends, cut, infos


@pytest.mark.parametrize("lstm", [False, True])
def test_whole_episodes_are_played(lstm):
    """One environment, a vector of them and PettingZoo's: each episode counts once, whole."""
    model = {"use_lstm": lstm, "lstm_use_prev_reward": lstm}
    policy = made(Counting.observation_space, Counting.action_space, model=model)
    actor = Actor.from_policy(policy)
    lengths = (4, 10, 7)
    vector = gym.vector.SyncVectorEnv([lambda n=n: Counting(n) for n in lengths])

    alone = actor.rollout(Counting(), episodes=3)
    together = actor.rollout(vector, episodes=7)
    agents = actor.rollout(Parallel(), episodes=2)

    assert (alone.returns, alone.lengths) == ((10.0,) * 3, (10,) * 3)
    assert together.lengths == (4, 4, 4, 10, 10, 7, 7)
    assert together.returns == tuple(map(float, together.lengths))
    assert (agents.returns, agents.lengths) == ((8.0,) * 2, (5,) * 2)
    assert rollout(policy, Counting(), episodes=1).returns == (10.0,)


def test_nested_observations_come_as_they_are(rng):
    """A Dict observation is one observation, not one an agent; a batch has rows in its leaves."""
    space = spaces.Dict({"speed": spaces.Box(-1, 1, (3,)), "gear": spaces.Discrete(4)})
    policy = made(preprocessor_for(space).output_space, spaces.Discrete(3))
    actor = Actor.from_policy(policy)
    batch = {"speed": rng.uniform(-1, 1, (5, 3)).astype(np.float32), "gear": np.arange(5) % 4}

    actions = actor.act(batch)

    rows = [{name: part[row] for name, part in batch.items()} for row in range(5)]
    assert [actor.act(row) for row in rows] == actions.tolist()
    assert actor.act(rows).tolist() == actions.tolist()


def test_nested_observations_may_be_plain_lists():
    """What JSON gives acts like the arrays it stands for."""
    path = GOLDEN / "legacy" / "2.7.2" / "ppo_dict_obs_complex" / "algo_checkpoint"
    policy = rlconnect.load(path).only
    obs = policy.observation_space.sample()

    def plain(value):
        if isinstance(value, dict):
            return {key: plain(part) for key, part in value.items()}
        return [*map(plain, value)] if isinstance(value, tuple) else value.tolist()

    np.testing.assert_array_equal(policy.act(plain(obs)), policy.act(obs))


class Doubled(AgentConnector):
    """A user's connector that says what it does."""

    def transform(self, ac_data):
        doubled = {**ac_data.data, "new_obs": ac_data.data["new_obs"] * 2}
        return AgentConnectorDataType(ac_data.env_id, ac_data.agent_id, doubled)

    def part(self):
        return Contribution(obs=(Part("Doubled", lambda obs: obs * 2),))


class Tripled(Doubled):
    """One that does something else, and says nothing of it."""

    def transform(self, ac_data):
        tripled = {**ac_data.data, "new_obs": ac_data.data["new_obs"] * 3}
        return AgentConnectorDataType(ac_data.env_id, ac_data.agent_id, tripled)


def test_a_connector_of_ones_own_says_what_it_does(rng):
    """Its `part()` acts for it in a plan; one that is inherited counts for nothing."""
    policy = made(spaces.Box(-1, 1, (4,)), spaces.Discrete(3))
    obs = rng.uniform(-0.3, 0.3, size=(6, 4)).astype(np.float32)
    policy.agent_connectors.prepend(Doubled())
    planned = Actor.from_policy(policy)
    tripled = copy.deepcopy(policy)
    tripled.agent_connectors.connectors[0] = Tripled()

    with pytest.warns(SlowPieceWarning, match="Tripled"):
        slow = Actor.from_policy(tripled)

    assert (planned.missing, slow.missing) == ({}, {"default_policy": ("Tripled",)})
    expected = batch_policy_inference(policy, range(6), "aaaaaa", obs, explore=False)
    assert planned.act(obs).tolist() == [int(action) for action, *_ in expected]
    expected = batch_policy_inference(tripled, range(6), "aaaaaa", obs, explore=False)
    assert slow.act(obs).tolist() == [int(action) for action, *_ in expected]
