"""Spaces, weights and inputs by rule, so that recordings hold outputs only (no Ray, no torch)."""

import zlib

import numpy as np
from gymnasium import spaces

_NAMES = {name: getattr(spaces, name) for name in ("Box", "Dict", "Discrete", "MultiBinary", "MultiDiscrete", "Tuple")}
# A list of pairs keeps its order in every gymnasium; 1.0 sorts an OrderedDict.
_NAMES |= {"OrderedDict": list, "u1": np.uint8, "f4": np.float32, "f8": np.float64, "i4": np.int32, "inf": np.inf}


def space(text):
    """Evaluate the text of a space from cases.json."""
    return eval(text, {"__builtins__": {}}, _NAMES)


def wave(name, n):
    """n numbers in -1..1 that depend on a name."""
    k = zlib.crc32(name.encode()) % 9973
    return np.sin(np.arange(1, n + 1) * (0.7 + k / 9973) + k)


def weight(name, shape):
    """The weight of that name and shape; both names of one tensor get the same numbers."""
    for group in ("cnns", "one_hot", "flatten"):
        if name.startswith(group + "."):
            name = name.replace(group + ".", group.rstrip("s") + "_", 1)
    n = int(np.prod(shape, dtype=int))
    fan_in = int(np.prod(shape[1:], dtype=int)) if len(shape) > 1 else 4
    return (wave(name, n) * (1.2 / np.sqrt(fan_in) + 0.05)).reshape(shape).astype(np.float32)


def draw(sp, rows, name):
    """A batch of values of a space."""
    if isinstance(sp, spaces.Dict):
        return {k: draw(s, rows, f"{name}.{k}") for k, s in sp.spaces.items()}
    if isinstance(sp, spaces.Tuple):
        return tuple(draw(s, rows, f"{name}.{i}") for i, s in enumerate(sp.spaces))
    shape = (rows, *sp.shape)
    x = wave(name, int(np.prod(shape, dtype=int))).reshape(shape)
    if isinstance(sp, spaces.Discrete):
        return np.minimum(np.abs(x) * sp.n, sp.n - 1).astype(np.int64)
    if isinstance(sp, spaces.MultiDiscrete):
        return np.minimum(np.abs(x) * sp.nvec, sp.nvec - 1).astype(np.int64)
    if isinstance(sp, spaces.MultiBinary):
        return (x > 0).astype(np.int8)
    return (np.abs(x) * 255).astype(np.uint8) if sp.dtype == np.uint8 else (x * 3).astype(sp.dtype)


def flatten(sp, value, rows):
    """What the old preprocessors make of a batch."""
    if isinstance(sp, spaces.Dict):
        return np.concatenate([flatten(s, value[k], rows) for k, s in sp.spaces.items()], 1)
    if isinstance(sp, spaces.Tuple):
        return np.concatenate([flatten(s, v, rows) for s, v in zip(sp.spaces, value)], 1)
    if isinstance(sp, spaces.Discrete):
        return np.eye(sp.n, dtype=np.float32)[value]
    if isinstance(sp, spaces.MultiDiscrete):
        parts = [np.eye(n, dtype=np.float32)[value.reshape(rows, -1)[:, i]] for i, n in enumerate(sp.nvec.ravel())]
        return np.concatenate(parts, 1)
    return value.reshape(rows, -1).astype(np.float32)


def policy_space(case):
    """What the policy of a case sees."""
    sp = space(case["obs"])
    if not case.get("prep") or isinstance(sp, (spaces.Box, spaces.MultiBinary)):
        return sp
    seen = spaces.Box(-1.0, 1.0, flatten(sp, draw(sp, 1, "obs"), 1).shape[1:], np.float32)
    seen.original_space = sp
    return seen


def with_steps(value, steps):
    """(B * steps, ...) -> (B, steps, ...) in every leaf."""
    if isinstance(value, dict):
        return {k: with_steps(v, steps) for k, v in value.items()}
    if isinstance(value, tuple):
        return tuple(with_steps(v, steps) for v in value)
    return value.reshape(-1, steps, *value.shape[1:])


ROWS = 6


def runs(case):
    """The calls of a case: (columns, state, seq_lens) each."""
    config, sp = case["config"], space(case["obs"])
    value = draw(sp, ROWS, "obs")
    prep = case.get("prep") and not isinstance(sp, (spaces.Box, spaces.MultiBinary))
    columns = {"obs": flatten(sp, value, ROWS) if prep else value}
    steps = config.get("attention_use_n_prev_actions", 0)
    action = space(case["action"])
    if steps:
        columns["prev_actions"] = with_steps(draw(action, ROWS * steps, "act"), steps)
    elif config.get("lstm_use_prev_action"):
        columns["prev_actions"] = draw(action, ROWS, "act")
    rewards = config.get("attention_use_n_prev_rewards", 0)
    if rewards or config.get("lstm_use_prev_reward"):
        shape = (ROWS, rewards) if rewards else (ROWS,)
        columns["prev_rewards"] = wave("reward", ROWS * max(rewards, 1)).reshape(shape).astype(np.float32)
    if config.get("use_lstm"):
        shapes = [(config["lstm_cell_size"],)] * 2
    elif config.get("use_attention"):
        shapes = [(config["attention_memory_inference"], config["attention_dim"])] * config.get("attention_num_transformer_units", 1)
    else:
        return [(columns, [], None)]
    state = [wave(f"state{i}", ROWS * int(np.prod(s))).reshape(ROWS, *s).astype(np.float32) * 0.5 for i, s in enumerate(shapes)]
    return [(columns, state, [1] * ROWS), (columns, [s[:2] for s in state], [3, 2])]


def unpacked(stem, names_and_shapes):
    """The arrays of <stem>.npz, one after another in one vector, by name."""
    import os

    flat = np.load(os.path.join(os.path.dirname(os.path.abspath(__file__)), stem + ".npz"))["flat"]
    out, start = {}, 0
    for name, shape in names_and_shapes:
        size = int(np.prod(shape, dtype=int))
        out[name] = flat[start : start + size].reshape(shape)
        start += size
    assert start == flat.size
    return out


def nested(flat):
    """{'a.#0': v} -> {'a': (v,)}; {'': v} -> v."""
    if set(flat) == {""}:
        return flat[""]
    groups = {}
    for path, value in flat.items():
        head, _, rest = path.partition(".")
        groups.setdefault(head, {})[rest] = value
    out = {key: nested(group) for key, group in groups.items()}
    if all(key.startswith("#") for key in out):
        return tuple(out[f"#{i}"] for i in range(len(out)))
    return out
