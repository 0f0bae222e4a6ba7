"""What is called while trials run."""

from __future__ import annotations

from typing import Any


class Callback:
    """Hooks of a run, by Ray Tune's names; all do nothing until a subclass says what.

    Example:
        >>> class Tell(Callback):
        ...     def on_trial_complete(self, iteration, trials, trial, **info):
        ...         print(trial, trial.last_result["training_iteration"])
    """

    def setup(self, stop: Any = None, num_samples: int | None = None, **info: Any) -> None:
        """A run begins."""

    def on_trial_start(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        """A trial begins."""

    def on_trial_result(
        self, iteration: int, trials: list[Any], trial: Any, result: dict[str, Any], **info: Any
    ) -> None:
        """A trial has a result."""

    def on_checkpoint(
        self, iteration: int, trials: list[Any], trial: Any, checkpoint: Any, **info: Any
    ) -> None:
        """A trial was saved."""

    def on_trial_complete(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        """A trial has ended as it should."""

    def on_trial_error(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        """A trial has failed."""

    def on_experiment_end(self, trials: list[Any], **info: Any) -> None:
        """All trials are over."""
