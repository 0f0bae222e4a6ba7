"""Callbacks.

Every hook is called with keyword arguments; a subclass names those it needs and accepts the others
as `**kwargs`. Hooks that are not overridden are never called: see `overridden_hooks`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final


class RLlibCallback:
    """Base of a user's callbacks; its hooks do nothing.

    Example:
        >>> class CountEpisodes(RLlibCallback):
        ...     def on_episode_end(self, *, episode, metrics_logger, **kwargs):
        ...         metrics_logger.log_value("ended", 1, reduce="lifetime_sum")
        >>> sorted(overridden_hooks([CountEpisodes()]))
        ['on_episode_end']
    """

    # The algorithm

    def on_algorithm_init(
        self, *, algorithm: Any, metrics_logger: Any = None, **kwargs: Any
    ) -> None:
        """Called once an algorithm is built, before anything is sampled."""

    def on_train_result(
        self, *, algorithm: Any, metrics_logger: Any = None, result: dict[str, Any], **kwargs: Any
    ) -> None:
        """Called at the end of each `train()`, with the result, which may be changed."""

    def on_checkpoint_loaded(self, *, algorithm: Any, **kwargs: Any) -> None:
        """Called when an algorithm has taken a checkpoint's state."""

    def on_evaluate_start(
        self, *, algorithm: Any, metrics_logger: Any = None, **kwargs: Any
    ) -> None:
        """Called before an evaluation."""

    def on_evaluate_end(
        self,
        *,
        algorithm: Any,
        metrics_logger: Any = None,
        evaluation_metrics: dict[str, Any],
        **kwargs: Any,
    ) -> None:
        """Called after an evaluation, with its result, which may be changed."""

    def on_evaluate_offline_start(
        self, *, algorithm: Any, metrics_logger: Any = None, **kwargs: Any
    ) -> None:
        """Called before an evaluation on recorded data."""

    def on_evaluate_offline_end(
        self,
        *,
        algorithm: Any,
        metrics_logger: Any = None,
        evaluation_metrics: dict[str, Any],
        **kwargs: Any,
    ) -> None:
        """Called after an evaluation on recorded data."""

    # Workers

    def on_env_runners_recreated(
        self,
        *,
        algorithm: Any,
        env_runner_group: Any,
        env_runner_indices: list[int],
        is_evaluation: bool,
        **kwargs: Any,
    ) -> None:
        """Called when lost env runners have been replaced."""

    def on_offline_eval_runners_recreated(
        self,
        *,
        algorithm: Any,
        offline_eval_runner_group: Any,
        offline_eval_runner_indices: list[int],
        **kwargs: Any,
    ) -> None:
        """Called when lost runners of evaluations on recorded data have been replaced."""

    def on_environment_created(
        self,
        *,
        env_runner: Any,
        metrics_logger: Any = None,
        env: Any,
        env_context: Any,
        **kwargs: Any,
    ) -> None:
        """Called when an env runner has made its vector environment."""

    # Episodes

    def on_episode_created(
        self,
        *,
        episode: Any,
        env_runner: Any = None,
        metrics_logger: Any = None,
        env: Any = None,
        env_index: int,
        rl_module: Any = None,
        **kwargs: Any,
    ) -> None:
        """Called with a new episode, before its environment is reset."""

    def on_episode_start(
        self,
        *,
        episode: Any,
        env_runner: Any = None,
        metrics_logger: Any = None,
        env: Any = None,
        env_index: int,
        rl_module: Any = None,
        **kwargs: Any,
    ) -> None:
        """Called when an episode has its first observation."""

    def on_episode_step(
        self,
        *,
        episode: Any,
        env_runner: Any = None,
        metrics_logger: Any = None,
        env: Any = None,
        env_index: int,
        rl_module: Any = None,
        **kwargs: Any,
    ) -> None:
        """Called after each step of an episode."""

    def on_episode_end(
        self,
        *,
        episode: Any,
        prev_episode_chunks: list[Any] | None = None,
        env_runner: Any = None,
        metrics_logger: Any = None,
        env: Any = None,
        env_index: int,
        rl_module: Any = None,
        **kwargs: Any,
    ) -> None:
        """Called when an episode is done; earlier parts of it may have been returned before."""

    def on_sample_end(
        self,
        *,
        env_runner: Any = None,
        metrics_logger: Any = None,
        samples: Any,
        **kwargs: Any,
    ) -> None:
        """Called at the end of `sample()`, with the episodes."""


DefaultCallbacks = RLlibCallback
"""The name before Ray 2.40."""

HOOKS: Final[tuple[str, ...]] = tuple(name for name in vars(RLlibCallback) if name[:3] == "on_")
"""Names of all hooks."""


def make_callback(
    callback_name: str,
    callbacks_objects: Any = None,
    callbacks_functions: Any = None,
    *,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
) -> None:
    """Call one hook on objects, then functions.

    Args:
        callback_name: The hook.
        callbacks_objects: One object or several; what does not have the hook is passed over.
        callbacks_functions: One function or several.
        args: Positional arguments.
        kwargs: Keyword arguments.
    """
    named = dict(kwargs or {})
    for listener in _several(callbacks_objects):
        hook = getattr(listener, callback_name, None)
        if hook is not None:
            hook(*args, **named)
    for function in _several(callbacks_functions):
        function(*args, **named)


def overridden_hooks(
    callbacks_objects: Iterable[Any], config: Any = None
) -> dict[str, list[Callable[..., Any]]]:
    """Return the functions to call for each overridden hook.

    Functions of the config (`callbacks_on_...`) come after the hooks of objects.
    """
    hooks_of: dict[str, list[Callable[..., Any]]] = {}
    objects = list(callbacks_objects)
    for name in HOOKS:
        empty = getattr(RLlibCallback, name)
        hooks = [
            getattr(each, name) for each in objects if getattr(type(each), name, empty) is not empty
        ]
        hooks += _several(getattr(config, f"callbacks_{name}", None))
        if hooks:
            hooks_of[name] = hooks
    return hooks_of


def _several(given: Any) -> list[Any]:
    if given is None:
        return []
    return list(given) if isinstance(given, (list, tuple)) else [given]
