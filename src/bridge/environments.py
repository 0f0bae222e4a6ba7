"""Live environments from what people call one: an id, a class, a function, or the thing itself."""

from __future__ import annotations

from typing import Any

import gymnasium as gym


def live_env(env: Any) -> tuple[Any, bool]:
    """A live environment, and whether it was made here and is ours to close.

    Args:
        env: An id of gymnasium's, a class or function that makes one, or a live one.

    Example:
        >>> made, is_ours = live_env("CartPole-v1")
        >>> made.close()
        >>> is_ours
        True
    """
    if isinstance(env, str):
        return gym.make(env), True
    if isinstance(env, type) or not hasattr(env, "observation_space"):
        return env(), True
    return env, False
