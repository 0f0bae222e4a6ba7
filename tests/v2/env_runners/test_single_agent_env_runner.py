"""SingleAgentEnvRunner: what sampling returns, counts, tells, saves and survives."""

import gymnasium as gym
import numpy as np
import pytest
import torch
from rlconnect.core.errors import ConfigError
from rlconnect.v2 import (
    ConnectorV2,
    DefaultModelConfig,
    EnvStepError,
    MeanStdFilter,
    NonFiniteError,
    PPOConfig,
    RLlibCallback,
    SingleAgentEnvRunner,
)

from .counting import POLL, Count, patience_until


def settings(env=Count, envs=1, seed=None, **kwargs):
    """A config for an env runner in this process, with a small network."""
    config = PPOConfig().environment(env, env_config=kwargs.pop("env_config", {}))
    config.env_runners(num_env_runners=0, num_envs_per_env_runner=envs, **kwargs)
    config.rl_module(model_config=DefaultModelConfig(fcnet_hiddens=[4]))
    return config.debugging(seed=seed)


def runner(*args, **kwargs):
    """An env runner of such a config."""
    return SingleAgentEnvRunner(config=settings(*args, **kwargs))


def shapes(episodes):
    """Lengths, starts and ends."""
    return [(len(each), each.t_started, each.is_terminated) for each in episodes]


def counted(metrics, *names):
    """The values under some keys."""
    return [metrics[name].peek() for name in names]


class Watching(RLlibCallback):
    """Writes down which hook is called for which environment, and how long the episode is."""

    told = []  # noqa: RUF012  # emptied by each test

    def _tell(self, hook, env_index, episode):
        self.told.append((hook, env_index, len(episode)))

    def on_environment_created(self, *, env, env_context, **kwargs):
        self.told.append(("environment", env.num_envs, env_context.worker_index))

    def on_episode_created(self, *, env_index, episode, **kwargs):
        assert not episode.is_reset
        self._tell("created", env_index, episode)

    def on_episode_start(self, *, env_index, episode, **kwargs):
        assert episode.is_reset
        self._tell("start", env_index, episode)

    def on_episode_step(self, *, env_index, episode, **kwargs):
        self._tell("step", env_index, episode)

    def on_episode_end(self, *, env_index, episode, prev_episode_chunks, **kwargs):
        assert episode.is_done
        self._tell(f"end after {[len(each) for each in prev_episode_chunks]}", env_index, episode)

    def on_sample_end(self, *, samples, **kwargs):
        self.told.append(("sample", len(samples), sum(map(len, samples))))


# Sampling


def test_episodes_go_on_from_call_to_call():
    """Chunks of one episode share its id, count time on and look back one step."""
    made = runner(envs=2)
    calls = [made.sample(num_timesteps=count) for count in (4, 3, 5)]
    assert [shapes(call) for call in calls] == [
        [(2, 0, False)] * 2,
        [(1, 2, True)] * 2 + [(1, 0, False)] * 2,
        [(3, 1, True)] * 2,
    ]
    first, second = calls[0][0], calls[1][0]
    assert first.id_ == second.id_
    seen = second.get_observations(slice(-1, None), neg_index_as_lookback=True)
    assert np.array_equal(seen, [[0, 1], [0, 2], [0, 3]])


def test_whole_episodes_begin_with_a_reset():
    """So does the call after them; exactly as many are returned as were asked for."""
    made = runner(envs=2)
    assert shapes(made.sample(num_episodes=3)) == [(3, 0, True)] * 2 + [(4, 0, True)]
    (third, _) = made.sample(num_timesteps=2)
    assert np.array_equal(third.get_observations(), [[2, 0], [2, 1]])


def test_a_config_says_how_much_is_sampled():
    """A fragment for each environment, or an episode for each."""
    assert sum(map(len, runner(rollout_fragment_length=5).sample())) == 5
    assert shapes(runner(envs=2, batch_mode="complete_episodes").sample()) == [(3, 0, True)] * 2


def test_both_numbers_are_refused():
    """The error is an AssertionError, as RLlib's."""
    with pytest.raises(AssertionError, match="num_timesteps or num_episodes"):
        runner().sample(num_timesteps=1, num_episodes=1)


def test_columns_hold_what_the_module_gave():
    """Explored actions come with log-probabilities; the weights' number is with every step."""
    (episode,) = runner().sample(num_timesteps=2)
    assert episode.is_numpy
    assert sorted(episode.extra_model_outputs) == [
        "action_dist_inputs",
        "action_logp",
        "weights_seq_no",
    ]
    logits = torch.as_tensor(episode.get_extra_model_outputs("action_dist_inputs"))
    chosen = logits.log_softmax(-1)[range(2), episode.get_actions()]
    assert np.allclose(chosen, episode.get_extra_model_outputs("action_logp"), atol=1e-6)
    (episode,) = runner(episodes_to_numpy=False).sample(num_timesteps=2)
    assert not episode.is_numpy


def test_random_actions_need_no_module_and_begin_new_episodes():
    """Going over to the module's actions begins anew: their columns are others."""
    made = runner(seed=1)
    (drawn,) = made.sample(num_timesteps=2, random_actions=True)
    (acted,) = made.sample(num_timesteps=2)
    assert sorted(drawn.extra_model_outputs) == ["weights_seq_no"]
    assert set(drawn.get_actions()) <= {0, 1, 2}
    assert acted.id_ != drawn.id_
    assert "action_logp" in acted.extra_model_outputs


def test_the_same_seed_gives_the_same_samples():
    """Weights, actions and environments follow it; another worker's are others."""

    def sampled(worker_index):
        config = settings("CartPole-v1", envs=3, seed=4)
        made = SingleAgentEnvRunner(config=config, worker_index=worker_index)
        made.sample(num_timesteps=20, random_actions=True)
        return [each.get_observations() for each in made.sample(num_timesteps=60)]

    first, again, other = sampled(1), sampled(1), sampled(2)
    assert all(map(np.array_equal, first, again))
    assert not np.array_equal(first[0], other[0])


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_environments_are_told_their_place_and_seed(mode):
    """Worker index, index in the vector, and a seed that counts on."""
    config = settings(envs=2, seed=10, gym_env_vectorize_mode=mode, env_config={"a": 1})
    made = SingleAgentEnvRunner(config=config, worker_index=3, num_workers=5)
    made.sample(num_timesteps=1)
    contexts = made.env.get_attr("context")
    assert [(each["a"], each.worker_index, each.vector_index) for each in contexts] == [
        (1, 3, 0),
        (1, 3, 1),
    ]
    assert contexts[0].num_workers == 5
    assert made.env.get_attr("seeds") == ([13], [14])
    made.stop()


def test_both_ways_of_running_give_the_same_samples():
    """Processes change nothing but where environments run."""
    made = [runner("CartPole-v1", envs=2, seed=3, gym_env_vectorize_mode=mode)
            for mode in ("sync", "async")]  # fmt: skip
    samples = []
    for each in made:
        torch.manual_seed(0)
        samples.append(each.sample(num_timesteps=50))
        each.stop()
    assert shapes(samples[0]) == shapes(samples[1])
    for one, two in zip(*samples, strict=True):
        assert np.array_equal(one.get_observations(), two.get_observations())


@pytest.mark.skipif(gym.__version__ < "1.0", reason="its CartPole loses last observations")
def test_a_vector_environment_of_its_own_is_taken():
    """CartPole brings one that resets in the next step."""
    made = runner("CartPole-v1", envs=3, seed=0, gym_env_vectorize_mode="vector_entry_point")
    episodes = made.sample(num_timesteps=300)
    assert 300 <= sum(map(len, episodes)) < 303
    assert all(len(each) == 0 or np.isfinite(each.get_observations()).all() for each in episodes)
    assert any(each.is_terminated for each in episodes)


@pytest.mark.skipif(not hasattr(gym.vector, "AutoresetMode"), reason="gymnasium before 1.1")
def test_a_reset_in_the_same_step_loses_no_observation(monkeypatch):
    """The last observation belongs to the episode that ended, and pieces see it."""
    gym.register("Counting-v0", entry_point=Count, vector_entry_point=SameStep)
    try:
        made = runner(
            "Counting-v0",
            envs=2,
            gym_env_vectorize_mode="vector_entry_point",
            env_to_module_connector=lambda env, spaces, device: Negate(),
        )
        episodes = made.sample(num_timesteps=14)
    finally:
        del gym.registry["Counting-v0"]
    assert shapes(episodes) == [(3, 0, True)] * 2 + [(4, 0, True)] * 2
    assert np.array_equal(episodes[0].get_observations()[-1], [0, -3])
    assert np.array_equal(episodes[2].get_observations()[0], [-1, 0])
    assert np.array_equal(made.sample(num_timesteps=2)[0].get_observations(0), [-2, 0])


class SameStep(gym.vector.SyncVectorEnv):
    """Counting environments that are reset in the step that ends an episode."""

    def __init__(self, num_envs):
        super().__init__([Count] * num_envs, autoreset_mode=gym.vector.AutoresetMode.SAME_STEP)


class Negate(ConnectorV2):
    """Writes negated observations back to the episodes."""

    def __call__(self, *, episodes, batch, **kwargs):
        for episode in episodes:
            episode.set_observations(new_data=-episode.get_observations(-1), at_indices=-1)
        return batch


# Pieces and callbacks


def test_pieces_see_each_observation_once_and_last_ones_too():
    """A filter counts every observation of every episode."""
    made = runner(env_to_module_connector=lambda env, spaces, device: MeanStdFilter())
    made.sample(num_timesteps=7)
    state = made.get_state("env_to_module_connector")["env_to_module_connector"]
    stats = state["MeanStdFilter"][None]["running_stats"]
    assert stats[0]["num_pushes"] == 9


def test_watched_episodes_are_the_same():
    """Steps added one by one, because somebody looks, are those added column by column."""
    made = [
        runner("CartPole-v1", envs=3, seed=5),
        SingleAgentEnvRunner(
            config=settings("CartPole-v1", envs=3, seed=5).callbacks(
                on_episode_step=lambda **kwargs: None
            )
        ),
    ]
    found = []
    for each in made:
        torch.manual_seed(1)
        found.append([each.sample(num_timesteps=count) for count in (50, 31)])
        torch.manual_seed(1)
        found[-1].append(each.sample(num_episodes=4))
    for one, two in zip(*found, strict=True):
        assert shapes(one) == shapes(two)
        for a, b in zip(one, two, strict=True):
            plain, watched = a.get_data_dict(), b.get_data_dict()
            assert plain.keys() == watched.keys()
            for key in plain.keys() - {"eps_id", "infos"}:
                assert np.array_equal(plain[key], watched[key]), key


def test_hooks_are_called_in_order():
    """Created before the reset, start after it, step, end with its earlier chunks, created."""
    Watching.told.clear()
    made = SingleAgentEnvRunner(config=settings().callbacks(Watching), worker_index=2)
    made.sample(num_timesteps=2)
    made.sample(num_timesteps=2)
    assert Watching.told == [
        ("environment", 1, 2),
        ("created", 0, 0),
        ("start", 0, 0),
        ("step", 0, 1),
        ("step", 0, 2),
        ("sample", 1, 2),
        ("step", 0, 1),
        ("end after [2]", 0, 1),
        ("created", 0, 0),
        ("start", 0, 0),
        ("step", 0, 1),
        ("sample", 2, 2),
    ]


# Metrics


def test_metrics_have_rllibs_keys():
    """An episode counts once, with the length and return it had over all calls."""
    made = runner()
    for _ in range(4):
        made.sample(num_timesteps=2)
    metrics = made.get_metrics()
    assert counted(metrics, "num_env_steps_sampled", "num_episodes") == [8, 2]
    assert counted(metrics, "episode_len_min", "episode_len_max") == [3, 4]
    assert counted(metrics, "episode_return_mean", "episode_return_max") == [8.0, 10.0]
    assert metrics["agent_episode_return_mean"]["default_agent"].peek() == 8.0
    assert metrics["module_episode_return_mean"]["default_policy"].peek() == 8.0
    assert metrics["agent_episode_returns_mean"]["default_agent"].peek() == 8.0
    assert metrics["module_episode_returns_mean"]["default_policy"].peek() == 8.0
    assert metrics["num_module_steps_sampled"]["default_policy"].peek() == 8
    assert {
        "sample",
        "time_between_sampling",
        "env_step_timer",
        "env_reset_timer",
        "rlmodule_inference_timer",
        "episode_duration_sec_mean",
        "weights_seq_no",
    } <= set(metrics)
    for pipeline in ("env_to_module_connector", "module_to_env_connector"):
        assert {"connector_pipeline_timer", "timers"} <= set(metrics[pipeline])
    made.sample(num_timesteps=1)
    metrics = made.get_metrics()
    assert counted(metrics, "num_env_steps_sampled", "num_episodes") == [1, 0]
    assert made.num_env_steps_sampled_lifetime == 9


# Failures


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_a_failed_environment_closes_its_episode(mode):
    """It is truncated where it was, counted once, and a new one goes on; metrics say so."""
    config = settings(gym_env_vectorize_mode=mode, env_config={"raise_at": (1, 3)})
    config.fault_tolerance(restart_failed_sub_environments=True)
    made = SingleAgentEnvRunner(config=config)
    episodes = [*made.sample(num_timesteps=4), *made.sample(num_timesteps=3)]
    ends = [(len(each), each.is_terminated, each.is_truncated) for each in episodes]
    assert ends == [
        (3, True, False),
        (1, False, False),
        (1, False, True),
        (2, False, False),
    ]
    metrics = made.get_metrics()
    assert counted(metrics, "num_env_steps_sampled", "num_episodes", "num_env_restarts") == [
        7,
        2,
        1,
    ]
    assert counted(metrics, "episode_len_min") == [2]
    made.stop()


def test_a_failed_environment_is_an_error_by_default():
    """It names the environment and the setting that lets sampling go on."""
    made = runner(env_config={"raise_at": (0, 2)})
    with pytest.raises(EnvStepError, match="restart_failed_sub_environments"):
        made.sample(num_timesteps=4)
    (episode,) = made.sample(num_timesteps=2)
    assert np.array_equal(episode.get_observations(), [[1, 0], [1, 1], [1, 2]])


def test_an_environment_that_always_fails_ends_sampling():
    """There are not endlessly many attempts."""
    config = settings(env_config={"raise_at": (0, 1)})
    config.fault_tolerance(
        restart_failed_sub_environments=True, num_consecutive_env_runner_failures_tolerance=3
    )
    with pytest.raises(EnvStepError, match="4 failures in a row"):
        SingleAgentEnvRunner(config=config).sample(num_timesteps=4)


def test_numbers_that_are_not_finite_are_told():
    """Where the module still answers, after sampling; checks can be turned off."""
    made = runner(env_config={"nan_at": (0, 3)})
    with pytest.raises(NonFiniteError, match=r"episode .* is not finite"):
        made.sample(num_episodes=1)
    config = settings(env_config={"nan_at": (0, 3)})
    config.environment(disable_env_checking=True)
    assert shapes(SingleAgentEnvRunner(config=config).sample(num_episodes=1)) == [(3, 0, True)]


def test_a_module_that_cannot_act_on_such_numbers_is_not_blamed():
    """The observation is told of in place of what broke on it."""
    made = runner(env_config={"nan_at": (0, 1)})
    with pytest.raises(NonFiniteError, match="not finite"):
        made.sample(num_timesteps=3)


def test_first_observations_outside_of_their_space_warn():
    """The value and its bound are told."""

    class Outside(Count):
        def __init__(self, config=None):
            super().__init__(config)
            self.observation_space = gym.spaces.Box(-1.0, -0.5, (2,), np.float32)

    with pytest.warns(UserWarning, match="outside of its space"):
        runner(Outside).sample(num_timesteps=1)


def test_what_is_missing_is_told():
    """No environment in the config, an unknown way of vectorising, a runner that was stopped."""
    with pytest.raises(ValueError, match="names no environment"):
        runner(None)
    made = runner()
    made.assert_healthy()
    assert made.ping() == "pong"
    made.stop()
    with pytest.raises(ConfigError, match="no environment"):
        made.sample(num_timesteps=1)
    with pytest.raises(ConfigError, match="no env"):
        made.assert_healthy()


# State


def test_weights_that_are_older_are_left_out():
    """0 is always taken; a newer number replaces weights and number."""
    made, other = runner(seed=1), runner(seed=2)
    weights, theirs = made.get_weights(), other.get_weights()
    name = next(iter(weights))
    made.set_state({"rl_module": theirs, "weights_seq_no": 5})
    assert np.array_equal(made.get_weights()[name], theirs[name])
    made.set_state({"rl_module": weights, "weights_seq_no": 4})
    assert np.array_equal(made.get_weights()[name], theirs[name])
    made.set_weights({"default_policy": weights}, 6)
    assert np.array_equal(made.get_weights()[name], weights[name])
    assert made.get_state("rl_module")["weights_seq_no"] == 6
    (episode,) = made.sample(num_timesteps=1)
    assert episode.get_extra_model_outputs("weights_seq_no").tolist() == [6]


def test_a_runner_comes_back_from_its_folder(tmp_path):
    """Module and pipelines lie in folders of their own."""
    connectors = {"env_to_module_connector": lambda env, spaces, device: MeanStdFilter()}
    made = runner(seed=1, **connectors)
    made.sample(num_timesteps=5)
    made.save_to_path(tmp_path)
    again = runner(seed=2, **connectors)
    again.restore_from_path(tmp_path)
    one, two = made.get_state(), again.get_state()
    assert one.keys() == two.keys()
    assert two["num_env_steps_sampled_lifetime"] == 5
    pushed = [
        each["env_to_module_connector"]["MeanStdFilter"][None]["running_stats"][0]["num_pushes"]
        for each in (one, two)
    ]
    assert pushed[0] == pushed[1] >= 6
    assert all(map(np.array_equal, one["rl_module"].values(), two["rl_module"].values()))
    assert {path.name for path in tmp_path.iterdir() if path.is_dir()} == {
        "rl_module",
        "env_to_module_connector",
        "module_to_env_connector",
    }


def test_a_hanging_environment_is_made_anew_after_the_configs_patience(tmp_path, monkeypatch):
    """`env_step_timeout_s` gives environments processes of their own and ends those that hang."""
    note = tmp_path / "note"
    monkeypatch.setattr(gym.vector.AsyncVectorEnv, POLL, patience_until(note))
    config = (
        PPOConfig()
        .environment(Count, env_config={"hang_at": (0, 2), "hang_note": str(note)})
        .fault_tolerance(restart_failed_sub_environments=True, env_step_timeout_s=0.5)
    )
    runner = SingleAgentEnvRunner(config=config)

    episodes = runner.sample(num_timesteps=2)

    assert [len(episode) for episode in episodes] == [1, 1]
    assert episodes[0].is_truncated
    runner.stop()


@pytest.mark.parametrize("gives_config", [False, True])
def test_a_runner_comes_back_from_its_checkpoint(tmp_path, gives_config):
    """Weights, the steps so far and settings are those that were saved, or settings are given."""
    config = PPOConfig().environment(Count).debugging(seed=3)
    runner = SingleAgentEnvRunner(config=config)
    runner.sample(num_timesteps=4)
    runner.save_to_path(tmp_path / "runner")

    again = SingleAgentEnvRunner.from_checkpoint(
        tmp_path / "runner", trust={"PPOConfig": config} if gives_config else [Count]
    )

    assert again.config.seed == 3
    assert again.num_env_steps_sampled_lifetime == 4
    saved, restored = runner.get_weights(), again.get_weights()
    assert saved.keys() == restored.keys()
    assert all(np.array_equal(saved[name], restored[name]) for name in saved)
    assert sum(map(len, again.sample(num_timesteps=3))) == 3


def test_a_subclass_may_make_its_own_vector_of_environments():
    """What `make_env` puts into `env` is stepped, as a simulator's many games in one are."""

    class Own(SingleAgentEnvRunner):
        def make_env(self):
            self.env = gym.make_vec("CartPole-v1", num_envs=3, vectorization_mode="sync")

    runner = Own(config=PPOConfig().environment("CartPole-v1"))

    episodes = runner.sample(num_timesteps=60)

    assert runner.num_envs == 3
    assert 60 <= sum(len(episode) for episode in episodes) < 63
