"""The methods by which a user gives settings."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

from typing_extensions import Self, Unpack

from . import acting_sections as acting
from . import learning_sections as learning
from . import running_sections as running
from .section import NotProvided, Section, UnknownSettingError, takes
from .store import SettingsStore

if TYPE_CHECKING:
    from . import keywords

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
"""All sections of all algorithms.

A setting without a description is accepted for compatibility with RLlib and has no effect. A
setting with `instead` only accepts its default, because ignoring it would change results.
"""

# Methods that others have taken the place of
_GONE: Final = {"exploration": "env_runners(explore=...)", "rollouts": "env_runners(...)"}


class SettingMethods(SettingsStore):
    """Takes settings by methods that can be chained, one per section."""

    SECTIONS: ClassVar[Mapping[str, Section]] = {each.method: each for each in ALL}

    @takes(acting.ENVIRONMENT)
    def environment(
        self,
        env: str | Callable[..., Any] | keywords.Open | None = NotProvided,
        **settings: Unpack[keywords.Environment],
    ) -> Self:
        """Say what is acted in."""
        return self.apply("environment", {"env": env, **settings})

    @takes(acting.ENV_RUNNERS)
    def env_runners(self, **settings: Unpack[keywords.EnvRunners]) -> Self:
        """Say how episodes are sampled, and with which connectors."""
        return self.apply("env_runners", settings)

    @takes(learning.LEARNERS)
    def learners(self, **settings: Unpack[keywords.Learners]) -> Self:
        """Say where learning happens, and with which connectors."""
        return self.apply("learners", settings)

    @takes(learning.TRAINING)
    def training(self, **settings: Unpack[keywords.Training]) -> Self:
        """Say how an algorithm learns."""
        return self.apply("training", self._for_training(settings))

    @takes(acting.RL_MODULE)
    def rl_module(self, **settings: Unpack[keywords.RlModule]) -> Self:
        """Say what acts and learns."""
        return self.apply("rl_module", settings)

    @takes(acting.MULTI_AGENT)
    def multi_agent(self, **settings: Unpack[keywords.MultiAgent]) -> Self:
        """Say which modules there are, and which agent has which."""
        return self.apply("multi_agent", settings)

    @takes(running.CALLBACKS)
    def callbacks(
        self,
        callbacks_class: Callable[..., Any] | Sequence[Callable[..., Any]] = NotProvided,
        **settings: Unpack[keywords.Callbacks],
    ) -> Self:
        """Say what is called when."""
        return self.apply("callbacks", {"callbacks_class": callbacks_class, **settings})

    @takes(acting.EVALUATION)
    def evaluation(self, **settings: Unpack[keywords.Evaluation]) -> Self:
        """Say how, and how often, the module is evaluated."""
        return self.apply("evaluation", settings)

    @takes(running.DEBUGGING)
    def debugging(self, **settings: Unpack[keywords.Debugging]) -> Self:
        """Say what makes runs repeatable."""
        return self.apply("debugging", settings)

    @takes(running.REPORTING)
    def reporting(self, **settings: Unpack[keywords.Reporting]) -> Self:
        """Say what results look like."""
        return self.apply("reporting", settings)

    @takes(running.CHECKPOINTING)
    def checkpointing(self, **settings: Unpack[keywords.Checkpointing]) -> Self:
        """Say what checkpoints hold."""
        return self.apply("checkpointing", settings)

    @takes(running.FAULT_TOLERANCE)
    def fault_tolerance(self, **settings: Unpack[keywords.FaultTolerance]) -> Self:
        """Say what happens when something fails."""
        return self.apply("fault_tolerance", settings)

    @takes(running.RESOURCES)
    def resources(self, **settings: Unpack[keywords.Resources]) -> Self:
        """Say what the main process needs."""
        return self.apply("resources", settings)

    @takes(running.FRAMEWORK)
    def framework(
        self, framework: str = NotProvided, **settings: Unpack[keywords.Framework]
    ) -> Self:
        """Say what computes: torch."""
        return self.apply("framework", {"framework": framework, **settings})

    @takes(running.API_STACK)
    def api_stack(self, **settings: Unpack[keywords.ApiStack]) -> Self:
        """Say which of RLlib's stacks is meant: this one."""
        return self.apply("api_stack", settings)

    @takes(learning.OFFLINE_DATA)
    def offline_data(self, **settings: Unpack[keywords.OfflineData]) -> Self:
        """Say where recorded episodes come from and go."""
        return self.apply("offline_data", settings)

    @takes(running.EXPERIMENTAL)
    def experimental(self, **settings: Unpack[keywords.Experimental]) -> Self:
        """Set what may change."""
        return self.apply("experimental", settings)

    @takes(running.PYTHON_ENVIRONMENT)
    def python_environment(self, **settings: Unpack[keywords.PythonEnvironment]) -> Self:
        """Take variables for processes, which are left to whoever starts them."""
        return self.apply("python_environment", settings)

    def _for_training(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the settings for `training`; pass those moved in Ray 2.40 on to `learners`."""
        moved = {name: given[name] for name in learning.LEARNERS.settings if name in given}
        for name in moved:
            warnings.warn(
                f"config.training({name}=...) has moved to config.learners().",
                DeprecationWarning,
                stacklevel=3,
            )
        self.learners(**moved)
        return {name: value for name, value in given.items() if name not in moved}

    def __getattr__(self, name: str) -> Any:  # only for what is not there
        if name in _GONE:
            raise UnknownSettingError(
                f"config.{name}() is gone since Ray 2.40", hint=f"use config.{_GONE[name]}."
            )
        return super().__getattr__(name)
