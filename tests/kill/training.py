"""Kill runs at random moments, let them go on, and hold their results to those of unbroken ones.

    python -m tests.kill.training --kills 30                at random moments
    python -m tests.kill.training --kills 30 --algo DQN     of another algorithm

Each run is killed again and again until it has come to its end; then another one begins. Ends with
1 if a result differs, is missing or told twice.
"""

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import warnings
from pathlib import Path

from rlconnect.v2.saving.class_slots import algorithm_named
from rlconnect.v2.tuning import TrainingRun

from tests.kill.kill import EVENTS, in_child
from tests.v2.runs.runs import curves, tensorboard_steps

ITERATIONS = 8


def config_of(algo):
    """The settings of a small run with evaluations."""
    config = algorithm_named(algo).get_default_config()
    config.environment("Pendulum-v1" if algo == "SAC" else "CartPole-v1")
    config.env_runners(num_env_runners=0, num_envs_per_env_runner=2)
    config.debugging(seed=7).evaluation(evaluation_interval=3, evaluation_duration=2)
    config.rl_module(model_config={"fcnet_hiddens": [8]})
    if algo == "PPO":
        config.training(train_batch_size=128, minibatch_size=64, num_epochs=2, lr=1e-3)
    else:
        config.training(store_buffer_in_checkpoints=True, train_batch_size_per_learner=16)
        config.training(num_steps_sampled_before_learning_starts=100)
        config.reporting(min_sample_timesteps_per_iteration=64, min_time_s_per_iteration=0)
    return config


def train(folder, algo):
    """Run it, or let it go on."""
    stop = {"training_iteration": ITERATIONS}
    TrainingRun(config_of(algo), folder, stop=stop, keep=2, save_every=2).go()


def go(folder, algo, die_at=0):
    """Train; die at the given thing that is asked of the system, 0 for never."""
    seen = 0

    def count(name, args):
        nonlocal seen
        if name.startswith(EVENTS):
            seen += 1
            if seen == die_at:
                os.kill(os.getpid(), signal.SIGKILL)

    warnings.simplefilter("ignore")
    if die_at:
        sys.addaudithook(count)
    train(folder, algo)


def is_over(child):
    """Wait for a child; whether it came to its end by itself."""
    _, status = os.waitpid(child, 0)
    if not os.WIFSIGNALED(status) and os.WEXITSTATUS(status):
        raise AssertionError(f"a run ended with {os.WEXITSTATUS(status)}")
    return not os.WIFSIGNALED(status)


def differences(folder, whole):
    """What of a run is not as it is in an unbroken one."""
    found = []
    if curves(folder) != curves(whole):
        found.append("results")
    steps = tensorboard_steps(folder)
    if steps != tensorboard_steps(whole):
        found.append("TensorBoard's events")
    lines = (folder / "progress.csv").read_text(encoding="utf-8").splitlines()
    if len(lines) != ITERATIONS + 1:
        found.append("lines of progress.csv")
    kept = [sorted(each.name for each in at.glob("*checkpoint_*")) for at in (folder, whole)]
    if kept[0] != kept[1]:
        found.append(f"checkpoints {kept}")
    return found


def kill_at_random(kills, algo, rng, folder):
    """Kill runs; gives how many kills, runs and differences there were."""
    import torch  # Here, so that no kill falls into its import.

    torch.set_num_threads(1)
    whole = folder / "whole"
    began = time.perf_counter()
    is_over(in_child(lambda: go(whole, algo)))
    duration = time.perf_counter() - began
    done, runs, different = 0, 0, []
    while done < kills:
        place = folder / f"run-{runs}"
        while True:
            child = in_child(lambda place=place: go(place, algo))
            if done < kills:
                time.sleep(rng.uniform(0.2, 1.3) * duration)
                os.kill(child, signal.SIGKILL)
            if is_over(child):
                break
            done += 1
        runs += 1
        different += [f"{place.name}: {each}" for each in differences(place, whole)]
    return done, runs, different


def main(arguments=None):
    """Run what was asked for, and print a line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--algo", default="PPO")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    folder = Path(tempfile.mkdtemp(prefix="kill-training-"))
    try:
        rng = random.Random(given.seed)
        done, runs, different = kill_at_random(given.kills, given.algo, rng, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    for each in different:
        print(each)
    print(f"{given.algo}: {done} kills in {runs} runs, {len(different)} differences")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
