"""Record what Ray writes for each space of the shared table; run by a Python that has Ray.

    python tests/golden/spaces/record.py > tests/golden/spaces/ray_2.60.json
"""

import json
import sys
from pathlib import Path

import gymnasium as gym
import numpy as np
import ray
from ray.rllib.utils.serialization import gym_space_from_dict, space_to_dict
from ray.rllib.utils.spaces.flexdict import FlexDict
from ray.rllib.utils.spaces.repeated import Repeated
from ray.rllib.utils.spaces.simplex import Simplex

HOW = (
    "ray.rllib.utils.serialization.space_to_dict of each space of tests/spaces_table.py with Ray's "
    "own Simplex, Repeated and FlexDict; read_back is str() of what gym_space_from_dict made of "
    "it. Tuples, sets, arrays and maps with other than text keys are tagged. Made by record.py."
)


def tagged(value):
    if isinstance(value, dict):
        if all(isinstance(key, str) for key in value):
            return {key: tagged(item) for key, item in value.items()}
        return {"__map__": [[tagged(key), tagged(item)] for key, item in value.items()]}
    if isinstance(value, tuple):
        return {"__tuple__": [tagged(item) for item in value]}
    if isinstance(value, (set, frozenset)):
        return {"__set__": sorted(value)}
    if isinstance(value, list):
        return [tagged(item) for item in value]
    if isinstance(value, np.ndarray):
        return {"__array__": value.tolist(), "dtype": str(value.dtype)}
    return value.item() if isinstance(value, np.generic) else value


# The table without our stand-ins for Ray's own spaces.
source = (Path(__file__).parents[2] / "spaces_table.py").read_text("utf-8")
table = {"Simplex": Simplex, "Repeated": Repeated, "FlexDict": FlexDict, "__name__": "table"}
exec("\n".join(line for line in source.splitlines() if "rlconnect" not in line), table)

spaces = {}
for name, make in table["SPACES"].items():
    try:
        layout = space_to_dict(make())
    except ValueError as error:
        print(name, error, file=sys.stderr)
        continue
    read_back = str(gym_space_from_dict(layout["space"]))
    spaces[name] = {"layout": tagged(layout), "read_back": read_back}

versions = {"ray": ray.__version__, "gymnasium": gym.__version__, "numpy": np.__version__}
json.dump({**versions, "how": HOW, "spaces": spaces}, sys.stdout, indent=1)
