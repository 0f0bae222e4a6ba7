"""Steps of a vector of environments become the steps of episodes, whichever way they are added."""

import gymnasium as gym
import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from rlconnect.v2.env_runners.running_episodes import RunningEpisodes
from rlconnect.v2.envs.vector_stepper import Transitions

ENVS = 3
# For each step and environment: nothing special, an end, a cut, a failure.
EVENTS = st.lists(
    st.lists(st.sampled_from("...etf"), min_size=ENVS, max_size=ENVS), min_size=1, max_size=12
)


def played(events, takes):
    """Run events through the book-keeping as an env runner does; returns all that was taken."""
    space, actions = gym.spaces.Box(-1e6, 1e6, (1,)), gym.spaces.Discrete(100)
    running = RunningEpisodes(space, actions, ENVS)
    for index in range(ENVS):
        running.begin(index, np.array([index], np.float32), {})
    taken, ended, steps = [], [], 0
    for time, row in enumerate(events, 1):
        row = ["." if running.pending[index] else event for index, event in enumerate(row)]
        failed = {index: "boom" for index, event in enumerate(row) if event == "f"}
        made = Transitions(
            [np.array([100 * time + index], np.float32) for index in range(ENVS)],
            [float(time)] * ENVS,
            [event == "e" for event in row],
            [event == "t" for event in row],
            [{"time": time}] * ENVS,
            {},
            failed,
        )
        steps += running.record(made, list(range(ENVS)), ("out",), ([time] * ENVS,))
        for index in failed:
            ended.append(running.end(index)[:2])
            running.begin(index, made.observations[index], {})
        for index in running.ended:
            ended.append(running.end(index)[:2])
        if time in takes:
            taken += running.take(1)
    return taken + running.take(0), ended, steps


@given(EVENTS, st.sets(st.integers(1, 12)))
def test_every_step_is_in_one_chunk(events, takes):
    """Nothing is lost or returned twice, however often chunks are taken."""
    taken, ended, steps = played(events, takes)
    assert sum(map(len, taken)) == steps
    assert sum(length for length, _ in ended) <= steps
    by_id = {}
    for episode in taken:
        assert episode.t_started == by_id.get(episode.id_, 0)
        by_id[episode.id_] = episode.t
