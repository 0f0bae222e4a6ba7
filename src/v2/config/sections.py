"""The settings of every algorithm, their defaults and rules: one table per method of a config.

A setting without a meaning is accepted for RLlib's sake and changes nothing here; one that says
`instead` takes no other value than its default, because ignoring it would change results.
"""

from __future__ import annotations

from typing import Final

from . import acting_sections as acting
from . import learning_sections as learning
from . import running_sections as running

ALL: Final = (
    running.PYTHON_ENVIRONMENT,
    running.RESOURCES,
    running.FRAMEWORK,
    running.API_STACK,
    acting.ENVIRONMENT,
    acting.ENV_RUNNERS,
    learning.LEARNERS,
    learning.TRAINING,
    running.CALLBACKS,
    acting.EVALUATION,
    learning.OFFLINE_DATA,
    acting.MULTI_AGENT,
    running.REPORTING,
    running.CHECKPOINTING,
    running.DEBUGGING,
    running.FAULT_TOLERANCE,
    acting.RL_MODULE,
    running.EXPERIMENTAL,
)
"""Every section of every algorithm."""
