"""Episodes whose numbers tell where they are from."""

import numpy as np
from rlconnect.v2 import SingleAgentEpisode


def episode(id_, steps, start=0, *, is_done=True, is_numpy=True, **settings):
    """One whose observation at step t is [t, t], whose reward there is t and whose action t % 3."""
    places = range(start, start + steps + 1)
    made = SingleAgentEpisode(
        id_,
        observations=[np.full(2, place, np.float32) for place in places],
        actions=[place % 3 for place in places[:-1]],
        rewards=[float(place) for place in places[:-1]],
        terminated=is_done,
        t_started=start,
        len_lookback_buffer=0,
        **settings,
    )
    return made.to_numpy() if is_numpy else made


def filled(kind, episodes=40, **settings):
    """A buffer of episodes of 7 steps, several at a time that come bit by bit."""
    buffer = kind(**{"capacity": 200, "seed": 3, **settings})
    for group in range(episodes // 4):
        for start in (0, 2, 4):
            steps = 3 if start == 4 else 2
            ids = [f"{group} {each}" for each in range(4)]
            buffer.add([episode(id_, steps, start, is_done=start == 4) for id_ in ids])
    return buffer


def check_steps(drawn, gamma, end=7):
    """Hold drawn steps to what the numbers of their episodes say."""
    columns = drawn.columns
    begin, after = columns["obs"][:, 0], columns["new_obs"][:, 0]
    count = columns["n_step"]
    np.testing.assert_array_equal(after - begin, count)
    np.testing.assert_array_equal(columns["actions"], begin % 3)
    np.testing.assert_array_equal(columns["terminateds"], after == end)
    sums = [
        sum((first + k) * gamma**k for k in range(n)) for first, n in zip(begin, count, strict=True)
    ]
    np.testing.assert_allclose(columns["rewards"], sums, rtol=1e-6)
