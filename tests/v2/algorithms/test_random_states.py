"""Random states from files reach no generator before they were looked at."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch
from rlconnect.core.errors import CorruptCheckpointError
from rlconnect.v2 import PPOConfig
from rlconnect.v2.algorithms.random_states import (
    LostPlaceWarning,
    random_state_of,
    set_random_state,
)

from tests import warm

pytestmark = pytest.mark.torch

_WILD = """
import numpy as np
from rlconnect.core.errors import CorruptCheckpointError
from rlconnect.v2.algorithms.random_states import random_state_of, set_random_state
from rlconnect.v2.envs.generator_states import generator_of, generator_state
import torch

process = random_state_of(None)
words = process["torch"].copy()
words[16:24] = np.array([2**31], "<u8").view(np.uint8)
twister = generator_state(np.random.Generator(np.random.MT19937(0)))
philox = generator_state(np.random.Generator(np.random.Philox(0)))
twister["state"]["pos"] = str(2**31 - 1)
philox["buffer_pos"] = str(2**31 - 1)
wild = (
    lambda: set_random_state(None, process | {"numpy": process["numpy"] | {"position": 2**31 - 1}}),
    lambda: set_random_state(None, process | {"torch": words}),
    lambda: generator_of(twister),
    lambda: generator_of(philox),
)
for number, setting in enumerate(wild):
    try:
        made = setting()
    except CorruptCheckpointError:
        print(number)
    else:
        np.random.rand(1000), torch.rand(1000), made and made.integers(2**60, size=1000)
"""


def test_wild_positions_end_in_errors_of_ours():
    """Positions far beyond a generator's table, which end a process by a segmentation fault."""
    done = warm.run(["-c", _WILD])

    assert (done.returncode, done.stdout.split()) == (0, ["0", "1", "2", "3"]), done.stderr


def test_a_state_is_taken_whole_or_not_at_all():
    """Where one generator's state is damaged, the others keep theirs."""
    held = random_state_of(None)
    random.random()
    before = random.getstate()

    with pytest.raises(CorruptCheckpointError, match="torch"):
        set_random_state(None, {**held, "torch": held["torch"][:-1]})

    assert random.getstate() == before


def test_generators_go_on_from_a_state():
    """The next numbers are those that came next when the state was taken."""
    held = random_state_of(None)
    expected = _numbers()

    set_random_state(None, held)

    assert _numbers() == expected


def _numbers():
    return random.random(), np.random.random(), torch.rand(1).item()  # noqa: NPY002


def test_a_lost_place_is_told():
    """A run whose environments are built in another way says that its episodes begin anew."""
    config = PPOConfig().environment("CartPole-v1").env_runners(num_env_runners=0)
    runner, other = config.build_algo().env_runner, config.build_algo().env_runner
    runner.sample(num_timesteps=5)
    state = random_state_of(runner)
    state["paused"]["envs"]["envs"][0]["env"][0]["class"] = "somewhere.TimeLimit"

    with pytest.warns(LostPlaceWarning, match="begin anew"):
        set_random_state(other, state)

    assert other.sample(num_timesteps=5)[0].t_started == 0
