"""Spaces, weights and inputs of a case by rule, so that none of them need be stored."""

import numpy as np


def space(described, gym_spaces):
    """The space a list describes: its kind, then its arguments."""
    kind, *args = described
    if kind == "Box":
        low, high, shape, *dtype = args
        return gym_spaces.Box(low, high, tuple(shape), np.dtype(dtype[0] if dtype else "float32"))
    if kind == "Tuple":
        return gym_spaces.Tuple([space(part, gym_spaces) for part in args[0]])
    if kind == "Dict":
        return gym_spaces.Dict({key: space(part, gym_spaces) for key, part in args[0].items()})
    if kind == "MultiDiscrete":
        return gym_spaces.MultiDiscrete(np.array(args[0]))
    return getattr(gym_spaces, kind)(*args)


def weight(name, shape):
    """The value of one weight: only its name and shape decide."""
    seed = sum((i + 1) * ord(letter) for i, letter in enumerate(name)) % 2**31
    return (np.random.RandomState(seed).standard_normal(shape) * 0.4).astype(np.float32)


def weights(state):
    """Values for a module's state; the clipping constants stay as they are."""
    return {k: v if "const" in k else weight(k, v.shape) for k, v in state.items()}


def inputs(obs_shape, act_shape, n_actions, state, stateful, rows=3):
    """Columns of one batch; `state` is the module's initial state as arrays."""
    random = np.random.RandomState(1)
    lead = (rows, 2) if stateful else (rows,)
    columns = {
        "obs": random.standard_normal(lead + obs_shape).astype(np.float32),
        "new_obs": random.standard_normal(lead + obs_shape).astype(np.float32),
    }
    if n_actions:
        columns["actions"] = random.randint(0, n_actions, lead).astype(np.int64)
    else:
        columns["actions"] = random.uniform(-1, 1, lead + act_shape).astype(np.float32)
    if stateful:
        columns["state_in"] = stacked(state, rows, 0.3)
        columns["next_state_in"] = stacked(state, rows, -0.2)
    return columns


def stacked(state, rows, step):
    """One copy of a nested state per row, each a little different."""
    if isinstance(state, dict):
        return {key: stacked(part, rows, step) for key, part in state.items()}
    return np.stack([np.asarray(state) + np.float32(step) * i for i in range(rows)])
