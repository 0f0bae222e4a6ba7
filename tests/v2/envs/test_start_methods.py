"""Environments in processes, however processes begin: newer Pythons no longer fork by default."""

import multiprocessing
import subprocess
import sys

import numpy as np
import pytest
from rlconnect.v2 import PPOConfig
from rlconnect.v2.envs.vectorising import make_vector_env

from ..env_runners.counting import Count

METHODS = [each for each in multiprocessing.get_all_start_methods() if each != "fork"]


@pytest.fixture(params=METHODS)
def method(request):
    """Processes begin by one of the methods that import everything anew."""
    before = multiprocessing.get_start_method(allow_none=True)
    multiprocessing.set_start_method(request.param, force=True)
    yield request.param
    multiprocessing.set_start_method(before, force=True)


def test_processes_step_as_this_one_does(method):
    """A class that no module has travels there; so do errors and attributes on their way back."""

    class Own(Count):
        """Only this function has it."""

    config = PPOConfig().environment(Own).env_runners(num_envs_per_env_runner=2)
    both = [
        make_vector_env(config.env_runners(gym_env_vectorize_mode=kind)).stepper
        for kind in ("sync", "async")
    ]

    (mine, _), (theirs, _) = (envs.reset_all(seed=3) for envs in both)
    ours, others = ([envs.advance(np.array([0, 0])) for _ in range(4)] for envs in both)

    assert np.array_equal(mine, theirs)
    assert [each.rewards for each in ours] == [each.rewards for each in others]
    assert both[1].vector_env.get_attr("time") == both[0].vector_env.get_attr("time")
    for envs in both:
        envs.vector_env.close()


def test_a_script_that_begins_itself_anew_is_told_of_the_guard(tmp_path):
    """It worked where processes were forked; the error has the line that is missing."""
    script = tmp_path / "train.py"
    script.write_text(
        "import multiprocessing\n"
        "from rlconnect.v2 import PPOConfig\n"
        "from rlconnect.v2.envs.vectorising import make_vector_env\n"
        "multiprocessing.set_start_method('spawn', force=True)\n"
        "config = PPOConfig().environment('CartPole-v1')\n"
        "make_vector_env(config.env_runners(gym_env_vectorize_mode='async'))\n",
        encoding="utf-8",
    )

    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, encoding="utf-8"
    )

    assert done.returncode != 0
    assert "EnvProcessError: the process of an environment has ended" in done.stderr
    assert 'put what it runs below `if __name__ == "__main__":`' in done.stderr
