"""Ray's own Tuner trains our algorithms. Skips itself if Ray is not installed."""

import os
import signal

import gymnasium
import pytest
from rlconnect.v2 import PPO, PPOConfig, RLlibCallback, register_env, tuning

pytestmark = pytest.mark.ray
ray = pytest.importorskip("ray")
tune = pytest.importorskip("ray.tune")

RETURN = "env_runners/episode_return_mean"


class Deadly(RLlibCallback):
    """Kills the process of one trial in its third iteration, once."""

    def on_train_result(self, *, algorithm, result, **kwargs):
        flag = algorithm.config.env_config["flag"]
        is_time = algorithm.config.lr == 1e-3 and result["training_iteration"] == 3
        if is_time and not os.path.exists(flag):
            open(flag, "w", encoding="utf-8").close()
            os.kill(os.getpid(), signal.SIGKILL)


class MyPPO(PPO):
    """An algorithm of a user's."""


@pytest.fixture(scope="module", autouse=True)
def cluster():
    """Ray, with tests' modules importable in its processes."""
    paths = os.pathsep.join([os.getcwd(), os.environ.get("PYTHONPATH", "")])
    ray.init(num_cpus=2, log_to_driver=False, runtime_env={"env_vars": {"PYTHONPATH": paths}})
    yield
    ray.shutdown()


def small(**training):
    """A config of a run of a few seconds."""
    return (
        PPOConfig()
        .environment("CartPole-v1")
        .env_runners(num_env_runners=0)
        .training(train_batch_size_per_learner=200, minibatch_size=100, num_epochs=1, **training)
    )


def settings(folder, **run):
    return tune.RunConfig(name="run", storage_path=str(folder), verbose=0, **run)


def test_rays_tuner_runs_our_ppo_with_a_search_space_of_rays(tmp_path):
    """A grid and draws in a config; the killed trial resumes from its checkpoint."""
    register_env("mine", lambda context: gymnasium.make("CartPole-v1"))
    config = (
        small(lr=tune.grid_search([1e-3, 1e-4]), gamma=tune.uniform(0.9, 0.99))
        .environment("mine", env_config={"flag": str(tmp_path / "flag")})
        .rl_module(model_config={"fcnet_hiddens": [tune.choice([8])]})
        .callbacks(Deadly)
    )

    grid = tune.Tuner(
        "PPO",
        param_space=config,
        tune_config=tune.TuneConfig(metric=RETURN, mode="max"),
        run_config=settings(
            tmp_path,
            stop={"num_env_steps_sampled_lifetime": 800},
            failure_config=tune.FailureConfig(max_failures=1),
            checkpoint_config=tune.CheckpointConfig(num_to_keep=2, checkpoint_frequency=1),
        ),
    ).fit()

    assert (tmp_path / "flag").exists()
    assert (grid.num_errors, grid.num_terminated) == (0, 2)
    assert {each.config["lr"] for each in grid} == {1e-3, 1e-4}
    assert all(0.9 <= each.config["gamma"] <= 0.99 for each in grid)
    assert [each.metrics["training_iteration"] for each in grid] == [4, 4]
    best = grid.get_best_result()
    algorithm = PPO.from_checkpoint(best.checkpoint, trust=[Deadly])
    assert (algorithm.iteration, algorithm.config.lr) == (4, best.config["lr"])
    assert algorithm.config.model_config["fcnet_hiddens"] == [8]
    algorithm.stop()


@pytest.mark.parametrize("form", ["class", "dict", "run", "as_trainable"])
def test_every_way_to_name_an_algorithm(tmp_path, form):
    """Our Tuner with a class, Ray's with a dict of settings, `run`, and `as_trainable`."""
    config, stop = small(lr=tune.grid_search([1e-3])), {"training_iteration": 1}
    if form == "class":
        tuner = tuning.Tuner(MyPPO, param_space=config, run_config=settings(tmp_path, stop=stop))
        results = [each.metrics for each in tuner.fit()]
    elif form == "dict":
        space = config.to_dict()
        tuner = tune.Tuner("PPO", param_space=space, run_config=settings(tmp_path, stop=stop))
        results = [each.metrics for each in tuner.fit()]
    elif form == "run":
        done = tune.run("PPO", config=config, stop=stop, storage_path=str(tmp_path), verbose=0)
        results = [done.trials[0].last_result]
    else:
        trainable = PPO.as_trainable(small())
        run = settings(tmp_path, stop=stop)
        tuner = tune.Tuner(trainable, param_space={"lr": tune.choice([1e-3])}, run_config=run)
        results = [each.metrics for each in tuner.fit()]

    assert [each["num_env_steps_sampled_lifetime"] for each in results] == [200]


def test_a_scheduler_of_rays_and_a_restored_run(tmp_path):
    """ASHA ends the worse trial early; a finished run is restored with its results."""

    class Lucky(RLlibCallback):
        def on_train_result(self, *, algorithm, result, **kwargs):
            result["score"] = algorithm.config.lr * result["training_iteration"]

    scheduler = tune.schedulers.ASHAScheduler(
        metric="score", mode="max", grace_period=1, reduction_factor=2, max_t=4
    )
    tuner = tuning.Tuner(
        "PPO",
        param_space=small(lr=tune.grid_search([1e-2, 1e-4])).callbacks(Lucky),
        tune_config=tune.TuneConfig(scheduler=scheduler, max_concurrent_trials=1),
        run_config=settings(tmp_path),
    )

    ages = [each.metrics["training_iteration"] for each in tuner.fit()]
    restored = tuning.Tuner.restore(str(tmp_path / "run"), "PPO").get_results()

    assert ages[0] == 4
    assert ages[1] < 4
    assert [each.metrics["training_iteration"] for each in restored] == ages


def test_environments_of_rays_registry_are_found():
    """`ray.tune.register_env` names environments for our configs, too."""
    tune.register_env("of_ray", lambda context: gymnasium.make("CartPole-v1"))

    algorithm = small().environment("of_ray").build_algo()
    result = algorithm.train()
    algorithm.stop()

    assert result["num_env_steps_sampled_lifetime"] == 200
