"""The settings of every algorithm, their defaults and rules: one table per method of a config.

A setting without a meaning is accepted for RLlib's sake and changes nothing here; one that says
`instead` takes no other value than its default, because ignoring it would change results.
"""

from __future__ import annotations

from typing import Final

from .acting_sections import ENV_RUNNERS, ENVIRONMENT, EVALUATION, MULTI_AGENT, RL_MODULE
from .learning_sections import LEARNERS, OFFLINE_DATA, TRAINING
from .running_sections import (
    API_STACK,
    CALLBACKS,
    CHECKPOINTING,
    DEBUGGING,
    EXPERIMENTAL,
    FAULT_TOLERANCE,
    FRAMEWORK,
    PYTHON_ENVIRONMENT,
    REPORTING,
    RESOURCES,
)

ALL: Final = (
    PYTHON_ENVIRONMENT,
    RESOURCES,
    FRAMEWORK,
    API_STACK,
    ENVIRONMENT,
    ENV_RUNNERS,
    LEARNERS,
    TRAINING,
    CALLBACKS,
    EVALUATION,
    OFFLINE_DATA,
    MULTI_AGENT,
    REPORTING,
    CHECKPOINTING,
    DEBUGGING,
    FAULT_TOLERANCE,
    RL_MODULE,
    EXPERIMENTAL,
)
"""Every section of every algorithm."""

__all__ = [
    "ALL",
    "API_STACK",
    "CALLBACKS",
    "CHECKPOINTING",
    "DEBUGGING",
    "ENVIRONMENT",
    "ENV_RUNNERS",
    "EVALUATION",
    "EXPERIMENTAL",
    "FAULT_TOLERANCE",
    "FRAMEWORK",
    "LEARNERS",
    "MULTI_AGENT",
    "OFFLINE_DATA",
    "PYTHON_ENVIRONMENT",
    "REPORTING",
    "RESOURCES",
    "RL_MODULE",
    "TRAINING",
]
