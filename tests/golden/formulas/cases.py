"""Spaces and inputs of the recorded formulas; read by record.py and by the tests (runpy)."""

from collections import OrderedDict

import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Tuple

F32, F64 = np.float32, np.float64

ACTION_SPACES = {
    "float32": Box(np.array([-2, 0], F32), np.array([2, 10], F32)),
    "uneven": Box(np.array([-0.7, 0.1], F32), np.array([1.3, 3.3], F32)),
    "float64": Box(np.array([-2.0, 0.0]), np.array([2.0, 10.0]), dtype=F64),
    "float16": Box(-2, 2, (2,), dtype=np.float16),
    "int32": Box(-3, 5, (2,), dtype=np.int32),
    "int8": Box(3, 9, (2,), dtype=np.int8),
    "uint8": Box(0, 255, (2,), dtype=np.uint8),
    "half_bounded": Box(np.array([-2, -np.inf], F32), np.array([2, 10], F32)),
    "discrete": Discrete(4, start=-2),
    "multi_discrete": MultiDiscrete([2, 3]),
    "multi_binary": MultiBinary(2),
}
ACTIONS = {
    "f32": np.array([0.5, -3], F32),
    "f64": np.array([0.3, 0.7]),
    "i64": np.array([1, 2]),
    "i32": np.array([1, 2], np.int32),
    "batch": np.array([[0.5, -3], [0.1, 0.9], [np.inf, -1]], F32),
}

_BOX = Box(-1, 1, (2,), F32)
_VALUES = np.array([0.25, -0.5], F32)
_OTHER = np.array([0.75, 0.125], F32)

# name -> (space, observation), through the old stack's preprocessors.
OBSERVATIONS = {
    "discrete": (Discrete(4), 3),
    "discrete_start": (Discrete(4, start=-2), 1),
    "multi_discrete": (MultiDiscrete([2, 3]), np.array([1, 2])),
    "multi_discrete_start": (MultiDiscrete([2, 3], start=[1, 1]), np.array([1, 3])),
    "multi_discrete_2d": (MultiDiscrete([[2, 3], [4, 2]]), np.array([[1, 2], [3, 1]])),
    "ram": (Box(0, 255, (128,), np.uint8), np.arange(128, dtype=np.uint8) * 2),
    "ram_floats": (Box(-1, 1, (128,), F32), np.linspace(-1, 1, 128).astype(F32)),
    "ram_binary": (MultiBinary(128), np.ones(128, np.int8)),
    "box": (Box(-1, 1, (3, 2), F32), np.linspace(-1, 1, 6).reshape(3, 2)),
    "box_uint8": (Box(0, 255, (2,), np.uint8), np.array([3, 200], np.uint8)),
    "tuple": (
        Tuple((Discrete(3), Box(-1, 1, (2, 2), F32), MultiDiscrete([2, 2]), MultiBinary(2))),
        (1, np.linspace(-1, 1, 4).reshape(2, 2), np.array([0, 1]), np.array([1, 0], np.int8)),
    ),
    "dict": (Dict({"z": Discrete(3), "a": _BOX}), {"z": 1, "a": _VALUES}),
    "dict_space_order": (
        Dict([("z", Discrete(3)), ("a", _BOX)]),
        OrderedDict([("z", 1), ("a", _VALUES)]),
    ),
    "dict_by_position": (Dict([("z", _BOX), ("a", _BOX)]), {"z": _VALUES, "a": _OTHER}),
    "dict_ordered": (
        Dict([("z", _BOX), ("a", _BOX)]),
        OrderedDict([("z", _VALUES), ("a", _OTHER)]),
    ),
    "nested": (
        Dict(
            {
                "p": Tuple((Discrete(2), Dict({"y": Box(-1, 1, (1,), F32), "x": Discrete(2)}))),
                "ram": Box(0, 255, (128,), np.uint8),
                "k": Box(-1, 1, (), F32),
            }
        ),
        {
            "p": (1, {"y": np.array([0.5], F32), "x": 0}),
            "ram": np.arange(128, dtype=np.uint8),
            "k": np.array(-0.25, F32),
        },
    ),
}

# name -> (child, longest list, value), where the child is a space or another such triple.
REPEATED = {
    "box": (_BOX, 3, [_VALUES, _OTHER]),
    "full": (_BOX, 2, [_VALUES, _OTHER]),
    "empty": (_BOX, 2, []),
    "dict": (Dict({"k": Discrete(3), "v": _BOX}), 2, [{"k": 1, "v": _VALUES}]),
}

# name -> (space, observation, keys to remove), through the new stack's FlattenObservations.
FLATTENED = {
    "discrete": (Discrete(3), 1, ()),
    "discrete_negative": (Discrete(4, start=-2), -1, ()),
    "multi_discrete": (MultiDiscrete([2, 3]), np.array([1, 2]), ()),
    "multi_binary": (MultiBinary(3), np.array([1, 0, 1], np.int8), ()),
    "box": (Box(-1, 1, (2, 2), F32), np.arange(4.0).reshape(2, 2), ()),
    "box_uint8": (Box(0, 255, (2,), np.uint8), np.array([3, 200], np.uint8), ()),
    "dict": (
        Dict([("z", Discrete(3)), ("a", _BOX), ("k", Tuple((_BOX, Discrete(2))))]),
        {"z": 1, "a": _VALUES, "k": (_OTHER, 1)},
        (),
    ),
    "removed": (
        Dict([("z", Discrete(3)), ("a", _BOX), ("k", Tuple((_BOX, Discrete(2))))]),
        {"z": 1, "a": _VALUES, "k": (_OTHER, 1)},
        ("a",),
    ),
}
