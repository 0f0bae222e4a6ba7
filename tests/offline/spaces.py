"""Spaces as the recordings name them: texts, nested in dicts and lists."""

import re

import gymnasium as gym
import numpy as np


def from_text(told):
    """The space a text names."""
    if isinstance(told, dict):
        return gym.spaces.Dict({key: from_text(part) for key, part in told.items()})
    if isinstance(told, list):
        return gym.spaces.Tuple([from_text(part) for part in told])
    kind, body = re.fullmatch(r"(\w+)\((.*)\)", told).groups()
    if kind == "Discrete":
        return gym.spaces.Discrete(int(body))
    low, high, shape, dtype = re.fullmatch(r"(\S+), (\S+), \(([\d, ]*)\), (\w+)", body).groups()
    sizes = tuple(map(int, re.findall(r"\d+", shape)))
    return gym.spaces.Box(float(low), float(high), sizes, np.dtype(dtype))
