"""MultiAgentEnvRunner: what sampling returns, calls, counts, saves and survives."""

import json
import pathlib
import types

import numpy as np
import pytest
import rlconnect.v2 as v2
from gymnasium import spaces
from rlconnect.core.errors import ConfigError, RlconnectError

from .together import CASES, COUNTS, plain, play, worlds

GOLDEN = pathlib.Path(__file__).parents[2] / "golden" / "v2_multi_agent_runner"
RECORDED = json.loads((GOLDEN / "recorded.json").read_text(encoding="utf-8"))
API = types.SimpleNamespace(
    PPOConfig=v2.PPOConfig,
    RLlibCallback=v2.RLlibCallback,
    ConnectorV2=v2.ConnectorV2,
    DefaultModelConfig=v2.DefaultModelConfig,
    MultiAgentEnv=v2.MultiAgentEnv,
    MultiAgentEnvRunner=v2.MultiAgentEnvRunner,
)
WORLDS = worlds(v2.MultiAgentEnv)


def settings(env, envs=1, seed=None, **kwargs):
    """A config for two modules, each a small network."""
    config = v2.PPOConfig().environment(env)
    config.env_runners(num_env_runners=0, num_envs_per_env_runner=envs, **kwargs)
    config.multi_agent(
        policies={"p_a", "p_b"}, policy_mapping_fn=lambda agent, episode, **_: f"p_{agent}"
    )
    config.rl_module(model_config=v2.DefaultModelConfig(fcnet_hiddens=[4]))
    return config.debugging(seed=seed)


def runner(*args, **kwargs):
    return v2.MultiAgentEnvRunner(config=settings(*args, **kwargs))


@pytest.mark.parametrize("name", CASES)
def test_what_sampling_gives_is_what_ray_gives(name):
    """Episodes, the order of calls and the metrics are those recorded from Ray."""
    found = json.loads(json.dumps(play(API, name)))

    assert found["runs"] == RECORDED[name]["runs"]
    assert found["log"] == RECORDED[name]["log"]
    for key, value in RECORDED[name]["metrics"].items():
        if name == "hollow" and key in ("num_agent_steps_sampled", "num_module_steps_sampled"):
            continue  # Ray leaves out the step that ends without an observation.
        assert found["metrics"][key] == pytest.approx(value), key


def test_returns_add_up_over_calls_by_agent_and_module():
    """An episode's returns count the chunks that earlier calls gave."""
    made = runner(WORLDS["Turns"])
    for steps in (2, 2, 3):
        made.sample(num_timesteps=steps, explore=False)

    metrics = plain(made.get_metrics())

    by_agent = next(value for key, value in metrics.items() if key.startswith("agent_episode_ret"))
    by_module = next(value for key, value in metrics.items() if key.startswith("module_episode_r"))
    assert by_agent == pytest.approx({"a": 2.3, "b": 2.2})
    assert by_module == pytest.approx({"p_a": 2.3, "p_b": 2.2})


def test_metrics_are_counted_per_iteration():
    """What one `get_metrics` gave, the next does not count again."""
    made = runner(WORLDS["Leaving"], envs=2)
    made.sample(num_timesteps=10)
    made.get_metrics()
    made.sample(num_timesteps=4)

    metrics = plain(made.get_metrics())

    assert metrics["num_env_steps_sampled"] == 4
    assert made.num_env_steps_sampled_lifetime == 14
    assert set(metrics) >= set(COUNTS[:4])


def test_a_config_of_one_agent_is_refused():
    """The error names what is missing and how to say it."""
    config = v2.PPOConfig().environment("CartPole-v1")

    with pytest.raises(ValueError, match="multi-agent") as caught:
        v2.MultiAgentEnvRunner(config=config)

    assert "policies" in str(caught.value)


def test_an_environment_of_one_agent_is_refused():
    """What is not a multi-agent environment is told when it is made, not when it is stepped."""
    with pytest.raises(ConfigError, match="made no multi-agent environment"):
        runner("CartPole-v1")


def test_both_sizes_are_refused():
    """Steps and episodes cannot both be asked for."""
    with pytest.raises(AssertionError, match="num_timesteps=1 and num_episodes=1"):
        runner(WORLDS["Cut"]).sample(num_timesteps=1, num_episodes=1)


def test_the_same_seed_gives_the_same_episodes():
    """Networks, exploration and random actions all follow the seed."""

    def actions(is_random):
        made = runner(WORLDS["Cut"], envs=2, seed=3)
        episodes = made.sample(num_timesteps=12, random_actions=is_random)
        return [
            single.get_actions().tolist()
            for episode in episodes
            for single in episode.agent_episodes.values()
        ]

    assert actions(True) == actions(True)
    assert actions(False) == actions(False)
    assert len(set(map(tuple, actions(True)))) > 1


def test_state_travels_between_runners():
    """Weights, their number and the steps so far make the other runner act alike."""
    one, other = runner(WORLDS["Cut"]), runner(WORLDS["Cut"])
    one.sample(num_timesteps=3, explore=False)
    state = one.get_state()
    other.set_state(state)

    def acted(made):
        (episode,) = made.sample(num_episodes=1, explore=False)
        single = episode.agent_episodes["b"]
        return single.get_extra_model_outputs("action_dist_inputs").tolist()

    assert acted(one) == acted(other)
    assert other.num_env_steps_sampled_lifetime == 6
    assert sorted(one.get_weights()) == ["p_a", "p_b"]


def test_a_runner_comes_back_from_its_folder(tmp_path):
    """Saved and restored weights are the same."""
    one, other = runner(WORLDS["Cut"]), runner(WORLDS["Cut"])

    one.save_to_path(tmp_path)
    other.restore_from_path(tmp_path)

    for module_id, weights in one.get_weights().items():
        for name, value in weights.items():
            np.testing.assert_array_equal(other.get_weights()[module_id][name], value)


def test_spaces_are_told_by_environment_and_module():
    """A learner elsewhere learns the modules' spaces from the runner."""
    spaces = runner(WORLDS["Leaving"]).get_spaces()

    assert spaces["__env__"] == (None, None)
    assert list(spaces["__env_single__"][0].spaces) == ["a", "b"]
    assert spaces["p_a"] == (WORLDS["Leaving"]().observation_spaces["a"], spaces["p_a"][1])
    assert spaces["p_b"][1].n == 3


class Failing(WORLDS["Cut"]):
    """The first world breaks down in its second step, those made after it do not."""

    made = 0

    def __init__(self, config=None):
        super().__init__(config)
        Failing.made += 1
        self.is_weak = Failing.made == 1

    def step(self, actions):
        made = super().step(actions)
        if self.is_weak and self.t == 2:
            raise RuntimeError("boom")
        return made


def test_an_environment_that_raises_is_made_anew_and_its_episode_closed():
    """The episode ends truncated with the steps it had, all of its agents too."""
    Failing.made = 0
    config = settings(Failing).fault_tolerance(restart_failed_sub_environments=True)
    made = v2.MultiAgentEnvRunner(config=config)

    lost, whole = made.sample(num_timesteps=4, explore=False)

    assert (len(lost), lost.is_truncated, lost.is_terminated) == (1, True, False)
    assert all(single.is_truncated for single in lost.agent_episodes.values())
    assert (len(whole), whole.is_truncated) == (3, True)
    assert plain(made.get_metrics())["num_env_steps_sampled"] == 4


def test_an_environment_that_raises_is_an_error_where_it_is_not_to_be_made_anew():
    """The error names the environment and the setting that lets sampling go on."""
    Failing.made = 0

    with pytest.raises(v2.EnvStepError, match="environment 0 failed in step") as caught:
        runner(Failing).sample(num_timesteps=4)

    assert "restart_failed_sub_environments=True" in caught.value.hint


def returning(**changes):
    """A world whose step returns something else in some place."""

    class Wrong(WORLDS["Cut"]):
        def step(self, actions):
            names = ("observations", "rewards", "terminateds", "truncateds", "infos")
            made = dict(zip(names, super().step(actions), strict=True))
            return tuple({**made, **changes}.values())

    return Wrong


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"rewards": 1.0}, "environment 0 returned rewards from step"),
        ({"terminateds": False}, "environment 0 returned terminateds from step"),
        ({"rewards": {"a": 1.0}}, "environment 0: Agent b acted and observed, but got no reward"),
        ({"observations": {"x": 0}}, "environment 0: .*no observation space for agent 'x'"),
        ({"more": 1}, "environment 0 returned something else from step"),
    ],
)
def test_wrong_returns_are_told_by_environment_and_agent(changes, match):
    """What an environment returned wrongly is said at once, with its place in the vector."""
    with pytest.raises(v2.MultiAgentEnvError, match=match):
        runner(returning(**changes)).sample(num_timesteps=2)


@pytest.mark.parametrize(
    ("seen", "match"),
    [
        (np.zeros(3, np.float32), r"agent 'b' of environment 0: .*shape \(3,\)"),
        (np.array([0, np.nan], np.float32), "agent 'b' of environment 0: .*not finite"),
    ],
)
def test_an_observation_that_no_network_takes_is_told_by_agent(seen, match):
    """The error names environment and agent instead of a matrix product."""

    class Odd(WORLDS["Cut"]):
        def see(self, agent):
            return seen if agent == "b" and self.t else super().see(agent)

    class Strict(v2.DefaultPPOTorchRLModule):
        def _forward_exploration(self, batch, **kwargs):
            assert batch["obs"].isfinite().all()
            return super()._forward_exploration(batch, **kwargs)

    config = settings(Odd).rl_module(rl_module_spec=v2.RLModuleSpec(module_class=Strict))
    with pytest.raises(ValueError, match=match):
        v2.MultiAgentEnvRunner(config=config).sample(num_timesteps=3)


def test_going_over_to_random_actions_begins_anew():
    """An episode has the same columns in each step."""
    made = runner(WORLDS["Leaving"])
    made.sample(num_timesteps=2)

    (episode,) = made.sample(num_timesteps=2, random_actions=True)

    assert episode.env_t_started == 0


def test_observations_are_copied():
    """An environment may change in place what it returned."""

    class Reusing(WORLDS["Cut"]):
        def see(self, agent):
            self.buffers = getattr(self, "buffers", {})
            buffer = self.buffers.setdefault(agent, np.zeros(2, np.float32))
            buffer[:] = super().see(agent)
            return buffer

    (episode,) = runner(Reusing).sample(num_episodes=1)

    assert episode.agent_episodes["a"].get_observations()[:, 1].tolist() == [0, 1, 2, 3]


def test_an_episode_ends_with_its_last_agent():
    """Environments need not say `__all__`, if each agent is said to be done."""

    class Quiet(WORLDS["Cut"]):
        def after(self):
            seen, earned, _, _, infos = super().after()
            return seen, earned, dict.fromkeys("ab", self.t >= 2), {}, infos

    episodes = runner(Quiet).sample(num_timesteps=4)

    assert [len(episode) for episode in episodes] == [2, 2]
    assert all(episode.is_done for episode in episodes)


@pytest.mark.parametrize(
    ("is_unchecked", "tried", "first"), [(False, [42, "step"], 1.0), (True, [], 0.0)]
)
def test_environments_are_tried_before_they_are_sampled(is_unchecked, tried, first):
    """As recorded from Ray 2.60: one reset with seed 42 and one step, then what counts."""
    calls = []

    class Counted(v2.MultiAgentEnv):
        def __init__(self):
            super().__init__()
            self.agents = self.possible_agents = ["a"]
            self.observation_spaces = {"a": spaces.Box(-9.0, 9.0, (1,), np.float32)}
            self.action_spaces = {"a": spaces.Discrete(2)}
            self.episodes = -1

        def reset(self, *, seed=None, options=None):
            calls.append(seed)
            self.episodes += 1
            return {"a": np.array([self.episodes], np.float32)}, {}

        def step(self, actions):
            calls.append("step")
            seen = {"a": np.zeros(1, np.float32)}
            return seen, {"a": 1.0}, {"__all__": False}, {"__all__": False}, {}

    config = (
        v2.PPOConfig()
        .environment(lambda _: Counted(), disable_env_checking=is_unchecked)
        .multi_agent(policies={"p"}, policy_mapping_fn=lambda agent, episode, **_: "p")
    )
    runner = v2.MultiAgentEnvRunner(config=config)
    seen = calls.copy()

    (episode,) = runner.sample(num_timesteps=1, random_actions=True)

    assert seen == tried
    assert episode.get_observations(0)["a"].item() == first


@pytest.mark.parametrize("method", ["reset", "step"])
def test_an_environment_that_cannot_be_tried_is_told_when_the_runner_is_made(method):
    """The error comes before anything is sampled, and names the method."""

    class Broken(v2.make_multi_agent("CartPole-v1")):
        pass

    def fail(self, *args, **kwargs):
        raise ValueError("out of order")

    setattr(Broken, method, fail)
    config = (
        v2.PPOConfig()
        .environment(lambda _: Broken({"num_agents": 1}))
        .multi_agent(policies={"p"}, policy_mapping_fn=lambda agent, episode, **_: "p")
    )

    with pytest.raises(RlconnectError, match=rf"{method}\(\)(.|\n)*out of order"):
        v2.MultiAgentEnvRunner(config=config)
