"""What the environment of a triple gives and takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def triple_spaces(triple: Sequence[Any]) -> tuple[Any, Any]:
    """The spaces at both ends of `(env_to_module, module, module_to_env)`.

    Pipelines that were never told spaces have those of their module.
    """
    env_to_module, module, module_to_env = triple
    sees, takes = env_to_module.input_observation_space, module_to_env.action_space
    return (
        module.observation_space if sees is None else sees,
        module.action_space if takes is None else takes,
    )
