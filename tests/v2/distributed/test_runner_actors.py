"""Env runners as Ray actors. Skips itself without Ray; RLlib is never needed."""

import os
import signal

import gymnasium
import numpy as np
import pytest
from rlconnect.v2 import Algorithm, MeanStdFilter, PPOConfig, RLlibCallback, register_env

from tests.v2.algorithms.algorithm_cases import curve

ray = pytest.importorskip("ray")

from rlconnect.v2.distributed.runner_actors import (  # noqa: E402
    FailedRunnerWarning,
    LostRunnersError,
)
from rlconnect.v2.envs.failures import EnvStepError  # noqa: E402


def config(**env_runners):
    """PPO on CartPole, 100 steps a runner and sample."""
    return (
        PPOConfig()
        .environment("CartPole-v1")
        .env_runners(
            **{
                "num_env_runners": 2,
                "num_envs_per_env_runner": 2,
                "rollout_fragment_length": 50,
                "sample_timeout_s": 600.0,  # A busy machine is not what is tested.
                "env_to_module_connector": lambda env, spaces, device: MeanStdFilter(),
                **env_runners,
            }
        )
        .training(train_batch_size=200, minibatch_size=100, num_epochs=1)
        .rl_module(model_config={"fcnet_hiddens": [8]})
        .debugging(seed=3)
    )


def filter_state(runner):
    """The statistics of a runner's filter."""
    return runner._env_to_module.get_state()["MeanStdFilter"][None]["running_stats"][0]


class Keeping(RLlibCallback):
    """Keeps what was learnt from, and what was replaced."""

    replaced = ()

    def on_env_runners_recreated(self, *, env_runner_indices, is_evaluation, **kwargs):
        Keeping.replaced = (*Keeping.replaced, *env_runner_indices)


def kill(runner):
    """End the process of a runner the hard way."""
    os.kill(os.getpid(), signal.SIGKILL)


class Deadly(RLlibCallback):
    """Kills runner 1 in the middle of its second sample, once."""

    def on_episode_step(self, *, env_runner, **kwargs):
        flag = env_runner.config.env_config["flag"]
        is_second = env_runner.num_env_steps_sampled_lifetime > 0
        if env_runner.worker_index == 1 and is_second and not os.path.exists(flag):
            open(flag, "w", encoding="utf-8").close()
            kill(env_runner)


def test_same_episodes_for_a_seed_and_merged_filters():
    """Two runs see the same episodes; afterwards all filters have counted all of them, once."""
    runs = []
    for _ in range(2):
        algo = config().build_algo()
        seen = []
        update = algo.learner_group.update

        def watching(update=update, seen=seen, **given):
            for episode in given["episodes"]:
                seen.append((len(episode), float(np.sum(episode.get_observations()))))
            return update(**given)

        algo.learner_group.update = watching
        algo.train()
        result = algo.train()
        runs.append(sorted(seen))
        states = algo.env_runner_group.foreach_env_runner(filter_state)
        counts = {state["num_pushes"] for state in states}
        assert len(states) == 3
        assert len({state["mean_array"] for state in states}) == 1
        steps = result["num_env_steps_sampled_lifetime"]
        resets = result["env_runners"]["num_episodes_lifetime"] + 4
        assert len(counts) == 1
        assert steps < counts.pop() <= steps + resets
        algo.stop()
    assert runs[0] == runs[1]


def test_a_runner_killed_in_a_sample_is_replaced(tmp_path):
    """Training goes on with as many runners; all that counts was learnt from, each step once."""
    Keeping.replaced = ()
    flag = {"flag": str(tmp_path / "killed")}
    algo = (
        config()
        .environment(lambda context: gymnasium.make("CartPole-v1"), env_config=flag)
        .callbacks([Keeping, Deadly])
        .build_algo()
    )
    learnt = []
    learner = algo.learner_group.counting_learner
    update = learner.update

    def watching(**given):
        learnt.append(sum(map(len, given["episodes"])))
        return update(**given)

    learner.update = watching
    results = [algo.train() for _ in range(3)]
    assert (tmp_path / "killed").exists()
    assert Keeping.replaced == (1,)
    assert results[-1]["fault_tolerance"]["num_remote_worker_restarts"] == 1
    assert results[-1]["fault_tolerance"]["num_healthy_workers"] == 2
    for so_far, result in enumerate(results, 1):
        assert result["num_env_steps_sampled_lifetime"] == sum(learnt[:so_far])
    weights = algo.env_runner_group.foreach_env_runner("get_weights")
    for other in weights[1:]:
        for name, value in weights[0].items():
            np.testing.assert_array_equal(value, other[name])
    algo.stop()


@pytest.mark.parametrize("ignored", [False, True])
def test_without_restarts(ignored):
    """Lost runners end the run, or are done without, as the settings say."""
    algo = (
        config()
        .fault_tolerance(restart_failed_env_runners=False, ignore_env_runner_failures=ignored)
        .build_algo()
    )
    group = algo.env_runner_group
    first = group._actors._actors[1]
    first.call.remote(kill, {})
    if not ignored:
        with pytest.raises(LostRunnersError, match=r"\[1\]"):
            algo.train()
    else:
        steps = [algo.train()["num_env_steps_sampled_lifetime"] for _ in range(2)]
        assert steps[1] > steps[0] > 0
        assert group.num_remote_env_runners() == 1
    algo.stop()


def test_no_local_runner_and_remote_evaluation(tmp_path):
    """All runners beside: spaces come from them, evaluations run on their own, a save holds all."""
    algo = (
        config(create_local_env_runner=False)
        .evaluation(evaluation_num_env_runners=1, evaluation_duration=2)
        .resources(num_cpus_for_main_process=1)
        .env_runners(num_cpus_per_env_runner=0)
        .build_algo()
    )
    algo.train()
    assert algo.env_runner is None
    assert algo.evaluate()["env_runners"]["num_episodes"] >= 2
    path = algo.save_to_path(tmp_path / "a")
    expected = algo.get_weights()["default_policy"]
    algo.stop()
    other = config().build_algo()
    other.restore_from_path(path)
    for name, value in other.get_weights()["default_policy"].items():
        np.testing.assert_array_equal(value, expected[name])
    other.stop()


def test_a_run_with_runners_beside_goes_on_exactly(tmp_path):
    """Their environments and episodes are saved with them, filters and random numbers as well."""
    settings = config()
    algo = settings.build_algo()
    algo.train()
    path = algo.save_to_path(tmp_path / "a")
    expected = [curve(algo.train()) for _ in range(2)]
    algo.stop()

    resumed = Algorithm.from_checkpoint(path, config=settings)

    assert [curve(resumed.train()) for _ in range(2)] == expected
    resumed.stop()


HOOKS = ("start", "end", "result")


class Noting(RLlibCallback):
    """Keeps the order of hooks, and how far training was at each."""

    order = ()

    def note(self, name, algorithm):
        Noting.order = (*Noting.order, (name, algorithm._sampled()))

    def on_evaluate_start(self, *, algorithm, **kwargs):
        self.note("start", algorithm)

    def on_evaluate_end(self, *, algorithm, evaluation_metrics, **kwargs):
        assert evaluation_metrics["env_runners"]["num_env_steps_sampled"] > 0
        self.note("end", algorithm)

    def on_train_result(self, *, algorithm, **kwargs):
        self.note("result", algorithm)


def in_turn_or_beside(duration, *, is_beside):
    """Three iterations with evaluations of filters and weights on a runner of their own."""
    Noting.order = ()
    algo = (
        config(num_env_runners=0)
        .evaluation(
            evaluation_interval=1,
            evaluation_num_env_runners=1,
            evaluation_duration=duration,
            evaluation_parallel_to_training=is_beside,
            evaluation_auto_duration_min_env_steps_per_sample=20,
            evaluation_auto_duration_max_env_steps_per_sample=60,
        )
        .callbacks(Noting)
        .build_algo()
    )
    results = [algo.train() for _ in range(3)]
    algo.stop()
    return results


def test_an_evaluation_beside_training_is_of_what_was_there_before():
    """Training learns the same; what is evaluated is one update older than in turn."""
    turns = in_turn_or_beside(5, is_beside=False)

    results = in_turn_or_beside(5, is_beside=True)

    assert [curve(each) for each in results] == [curve(each) for each in turns]
    evaluated = [each["evaluation"]["env_runners"] for each in results]
    before = [each["evaluation"]["env_runners"] for each in turns]
    assert [each["num_episodes"] for each in evaluated] == [5, 5, 5]
    assert [e["weights_seq_no"] for e in evaluated] == [b["weights_seq_no"] - 1 for b in before]
    names = [name for name, _ in Noting.order]
    assert names == [*HOOKS] * 3
    begun, _, trained = ([steps for name, steps in Noting.order if name == each] for each in HOOKS)
    assert begun == [0, *trained[:-1]]
    assert results[-1]["timers"]["evaluation_iteration"] > 0


def test_an_evaluation_takes_as_long_as_training():
    """With "auto" it samples, in steps, until training is over, within the bounds of a sample."""
    results = in_turn_or_beside("auto", is_beside=True)

    for result in results:
        steps = result["evaluation"]["env_runners"]["num_env_steps_sampled"]
        assert steps >= 20
    trained, evaluated = (
        results[-1]["timers"][name] for name in ("training_iteration", "evaluation_iteration")
    )
    assert evaluated > 0.5 * trained


def test_a_registered_function_reaches_remote_runners():
    """Also if no file has it."""
    register_env("local_cartpole", lambda context: gymnasium.make("CartPole-v1"))

    algo = config(num_env_runners=1).environment("local_cartpole").build_algo()

    assert algo.train()["num_env_steps_sampled_lifetime"] >= 200
    algo.stop()


def test_failures_of_remote_runners_are_counted():
    """Each is a warning and a count in the results; without restarts the error comes at once."""

    def failing(context):
        raise ValueError("no such map")

    class Failing(gymnasium.make("CartPole-v1").unwrapped.__class__):
        def __init__(self, context):
            super().__init__()

        def step(self, action):
            return 1 / 0

    settings = config(num_env_runners=1).environment(Failing)
    algo = settings.build_algo()
    with pytest.warns(FailedRunnerWarning, match="division by zero"):
        result = algo.train()
    algo.stop()
    algo = settings.copy(copy_frozen=False).fault_tolerance(restart_failed_env_runners=False)
    algo = algo.build_algo()
    with pytest.raises(EnvStepError, match="division by zero") as raised:
        algo.train()
    algo.stop()

    assert result["fault_tolerance"]["num_env_runner_failures_lifetime"] == 1
    assert isinstance(raised.value.__cause__, ZeroDivisionError)
    with pytest.raises(ValueError, match="no such map"):
        config(num_env_runners=1, create_local_env_runner=False).environment(failing).build_algo()
